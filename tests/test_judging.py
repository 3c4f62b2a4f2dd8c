from __future__ import annotations

from collections.abc import Callable

import pytest

from otel_ctxscore.core.budget import Budget, Limits
from otel_ctxscore.core.model import Evaluation, Judgement, RagRun, Retrieval, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.judges.cascade import CascadeJudge
from otel_ctxscore.judges.sampled import SampledJudge
from otel_ctxscore.judging import Judging
from otel_ctxscore.ports import AnyScorer
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.scorers.context_relevance import ContextRelevance
from otel_ctxscore.testing import ScriptedJudge

SCORERS: list[AnyScorer] = [ContextPrecision(), ContextRelevance()]


def run(number: int, contexts: int = 2, query: str | None = "Which port?") -> RagRun:
    passages = [f"passage {n}" for n in range(contexts)]
    return RagRun(query, [Retrieval(passages)], "7443", trace_id=f"{number * 0x9E3779B97F4A7C15 % 2**128:032x}")  # type: ignore[arg-type]


def local(p: Callable[[RagRun], float] = lambda run: 0.5) -> ScriptedJudge:
    def answer(one: RagRun) -> Judgement:
        return Judgement([Verdict(useful=p(one), relevance="low", used=0.1)] * len(one.judged))

    return ScriptedJudge(answer, tier="local", model="lexical", fills=frozenset({"useful", "used", "relevance"}))


def llm(answer: Callable[[RagRun], Judgement | Reason] | None = None) -> ScriptedJudge:
    def whole(one: RagRun) -> Judgement:
        return Judgement([Verdict(useful=True, relevance="high", used=True)] * len(one.judged), missing=())

    return ScriptedJudge(answer or whole, tier="llm", model="m")


def value(evaluation: Evaluation, name: str = "context_precision") -> float | None:
    return next(score.value for score in evaluation.scores if score.name == name)


async def judged(judging: Judging, runs: int = 400) -> list[Evaluation]:
    return [await judging.evaluate(run(n)) for n in range(1, runs + 1)]


async def test_one_judge_within_no_budget_judges_all() -> None:
    evaluations = await judged(Judging(llm(), SCORERS, Budget(Limits())), 20)
    assert {e.outcome for e in evaluations} == {TraceOutcome.SCORED}
    assert {e.run.probability for e in evaluations} == {1.0}


async def test_a_budget_leaves_out_by_a_known_chance() -> None:
    now = 0.0
    judging = Judging(llm(), SCORERS, Budget(Limits(runs_per_minute=10)), clock=lambda: now)
    evaluations = []
    for n in range(1, 2001):
        now = n * 0.6  # a hundred a minute
        evaluations.append(await judging.evaluate(run(n)))
    later = evaluations[500:]
    scored = [e for e in later if e.outcome is TraceOutcome.SCORED]
    assert {e.outcome for e in later} == {TraceOutcome.SCORED, TraceOutcome.OVER_BUDGET}
    assert 90 <= len(scored) <= 220
    assert sum(e.weight for e in scored) == pytest.approx(len(later), rel=0.25)
    assert not any(e.scores or e.judged_by for e in later if e.outcome is TraceOutcome.OVER_BUDGET)


async def test_sampled_screens_all_and_publishes_the_llm_for_a_share() -> None:
    dear = llm()
    judging = Judging(SampledJudge(local(), dear, rate=0.2), SCORERS, Budget(Limits()))
    evaluations = await judged(judging)
    scored = [e for e in evaluations if e.outcome is TraceOutcome.SCORED]
    assert {e.outcome for e in evaluations} == {TraceOutcome.SCORED, TraceOutcome.SCREENED}
    assert 50 <= len(scored) == len(dear.runs) <= 115
    assert sum(e.weight for e in scored) == pytest.approx(400, rel=0.3)
    for e in evaluations:
        assert e.screening is not None
        assert e.screening.probability == 1.0
        names = {one.name for one in e.screening.scores}
        assert {"context_precision", "context_relevance"} <= names
    versions = {(s.name, s.version) for e in scored for s in e.scores}
    expected = {(c.name, c.version) for e in evaluations if e.screening for c in e.screening.scores}
    assert expected <= versions, "the cheap scores stand beside the series of the dear judge"


async def test_the_same_runs_are_drawn_whenever_they_are_seen() -> None:
    outcomes = []
    for _ in range(2):
        judging = Judging(SampledJudge(local(), llm(), rate=0.2), SCORERS, Budget(Limits()))
        outcomes.append([e.outcome for e in await judged(judging, 100)])
    assert outcomes[0] == outcomes[1]


async def test_a_cascade_sends_open_runs_to_the_llm_and_scores_the_rest_itself() -> None:
    def sure(one: RagRun) -> float:
        return 0.5 if int(one.trace_id or "0", 16) % 2 else 0.01

    judging = Judging(CascadeJudge(local(sure), llm(), rate=0.1), SCORERS, Budget(Limits()))
    evaluations = await judged(judging)
    open_ = [e for e in evaluations if sure(e.run) == 0.5]
    assert all(e.judged_by and e.judged_by.tier == "llm" and e.run.probability == 1 for e in open_)
    rest = [e for e in evaluations if sure(e.run) != 0.5]
    tiers = {e.judged_by.tier for e in rest if e.judged_by}
    assert tiers == {"local", "llm"}
    for e in rest:
        assert e.outcome is TraceOutcome.SCORED
        assert e.judged_by is not None
        assert e.run.probability == (pytest.approx(0.1) if e.judged_by.tier == "llm" else 1.0)


async def test_over_budget_runs_are_screened_and_say_so() -> None:
    budget = Budget(Limits(tokens_per_day=1), fraction=1.0)
    budget.reserve(0.0)
    budget.settle({"tokens": 5})
    judging = Judging(SampledJudge(local(), llm(), rate=1.0), SCORERS, budget, clock=lambda: 1.0)
    evaluations = await judged(judging, 20)
    assert {e.outcome for e in evaluations} == {TraceOutcome.OVER_BUDGET}
    assert all(e.screening for e in evaluations)


async def test_what_no_scorer_can_score_reaches_no_judge_and_costs_no_budget() -> None:
    dear = llm()
    budget = Budget(Limits(runs_per_minute=1))
    judging = Judging(dear, SCORERS, budget)
    for refused in (run(1, contexts=0), run(2, query=None)):
        evaluation = await judging.evaluate(refused)
        assert evaluation.outcome is TraceOutcome.UNSCORED
    assert dear.runs == []
    assert budget.used_ratio("minute") == 0


async def test_a_local_judge_that_fails_is_our_fault_and_loses_no_run() -> None:
    def broken(one: RagRun) -> Judgement:
        raise RuntimeError("broken")

    judging = Judging(SampledJudge(ScriptedJudge(broken, tier="local"), llm()), SCORERS, Budget(Limits()))
    evaluation = await judging.evaluate(run(1))
    assert (evaluation.outcome, evaluation.reason) == (TraceOutcome.UNSCORED, Reason.INTERNAL_ERROR)


async def test_a_judge_that_fails_gives_back_what_was_reserved() -> None:
    budget = Budget(Limits(tokens_per_day=1000))
    judging = Judging(llm(lambda one: Reason.JUDGE_UNAVAILABLE), SCORERS, budget)
    await judged(judging, 5)
    assert budget.used("tokens") == 0
    assert value(await judging.evaluate(run(9))) is None
