"""The evaluation step: who is asked, what becomes of a run, and that nothing is lost on the way."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

import pytest

from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.core.model import Evaluation, JudgedBy, Judgement, RagRun, Score, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.evaluation import evaluate, on, score_runs, trace_outcome
from otel_ctxscore.ports import AnyScorer, JudgeError
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.scorers.context_relevance import ContextRelevance
from otel_ctxscore.scorers.rubric import Rubric
from tests.scorers.rag import listed, run_of

R, T = Reason, TraceOutcome
ALL = frozenset({"useful", "relevance", "used", "missing"})
RUN = run_of(["a", "b"])
CORE: tuple[AnyScorer, ...] = (ContextPrecision(), ContextRelevance())
RELATIVES = ["hit_rate", "reciprocal_rank", "share_useful"]


@dataclass
class ScriptedJudge:
    """Says yes to everything, or what `says` makes of a run; counts."""

    says: Callable[[RagRun], Judgement] = lambda run: Judgement(
        [Verdict(useful=True, relevance="high", used=True)] * len(run.judged), missing=()
    )
    fills: Collection[str] = ALL
    tier: str = "custom"
    model: str = "scripted"
    version: str = "1"
    judged: list[RagRun] = field(default_factory=list)

    async def judge(self, run: RagRun) -> Judgement:
        self.judged.append(run)
        return self.says(run)


@dataclass
class ScriptedAsker(ScriptedJudge):
    """A judge that also answers rubrics, with these replies in turn; one that is an exception is raised."""

    replies: Iterator[str | Exception] = field(default_factory=lambda: itertools.repeat('{"score": 0.5}'))
    asked: list[str] = field(default_factory=list)
    repairs: bool = False

    async def ask(self, *, instructions: str, run: RagRun, schema: dict[str, object]) -> tuple[str, JudgedBy]:
        self.asked.append(instructions)
        reply = next(self.replies)
        if isinstance(reply, Exception):
            raise reply
        return reply, JudgedBy("llm", "asked", "p1", calls=1, prompt_tokens=7, cost_usd=0.5, repaired=self.repairs)


def failing(error: Exception) -> Callable[[RagRun], Judgement]:
    def says(run: RagRun) -> Judgement:
        raise error

    return says


def unscored(evaluation: Evaluation) -> dict[str, Reason | None]:
    return {score.name: score.unscored for score in evaluation.scores}


# ---- one run ----------------------------------------------------------------------------------------------------


async def test_a_run_is_judged_once_for_all_scorers() -> None:
    judge, ticks = ScriptedJudge(), iter([5, 9])
    evaluation = await evaluate(RUN, judge, CORE, clock=lambda: next(ticks))
    assert judge.judged == [RUN]
    assert [score.name for score in evaluation.scores] == ["context_precision", *RELATIVES, "context_relevance"]
    assert [score.value for score in evaluation.scores] == [1.0] * 5
    assert (evaluation.outcome, evaluation.reason) == (T.SCORED, None)
    assert (evaluation.started_ns, evaluation.ended_ns) == (5, 9)
    assert evaluation.judged_by == JudgedBy("custom", "scripted", "1")
    assert evaluation.judgement is not None
    assert evaluation.judgement.judged_by == evaluation.judged_by


async def test_versions_follow_the_judge_that_really_answered() -> None:
    by_hand = Judgement([Verdict(True, "high", True)] * 2, (), JudgedBy("llm", "fallback", "p2"))
    versions = {
        score.version
        for judge in (ScriptedJudge(), ScriptedJudge(says=lambda run: by_hand))
        for score in (await evaluate(RUN, judge, [ContextPrecision()])).scores
        if score.name == "context_precision"
    }
    assert len(versions) == 2


EMPTY, JOINED = listed(), listed("all in one", ranked=False)


@pytest.mark.parametrize(
    ("run", "scorers", "reason"),
    [
        (replace(RUN, query=None), CORE, R.NO_QUERY),
        (replace(RUN, retrievals=[EMPTY]), CORE, R.NO_CONTEXTS),
        (replace(RUN, retrievals=[listed(" ")]), CORE, R.DOCUMENTS_WITHOUT_TEXT),
        (replace(RUN, retrievals=[listed("x", refused=R.REDACTED)]), CORE, R.REDACTED),
        (replace(RUN, retrievals=[JOINED]), CORE[:1], R.UNRANKED),
        (replace(RUN, retrievals=[JOINED], response=None), CORE, R.NO_RESPONSE),
        (replace(RUN, response=None), CORE[1:], R.NO_RESPONSE),
        (RagRun("q", [], incomplete_reason=R.EXTRACTOR_ERROR), CORE, R.EXTRACTOR_ERROR),
    ],
)
async def test_a_run_that_no_scorer_can_score_reaches_no_judge(
    run: RagRun, scorers: tuple[AnyScorer, ...], reason: Reason
) -> None:
    judge = ScriptedJudge()
    evaluation = await evaluate(run, judge, scorers)
    assert not judge.judged
    assert (evaluation.outcome, evaluation.reason) == (T.UNSCORED, reason)
    assert (evaluation.judgement, evaluation.judged_by) == (None, None)
    assert evaluation.scores
    assert all(score.value is None and score.unscored for score in evaluation.scores)


@pytest.mark.parametrize(
    ("run", "outcome", "reasons"),
    [
        (replace(RUN, response=None), T.PARTLY_SCORED, {"context_relevance": R.NO_RESPONSE}),
        (
            replace(RUN, retrievals=[JOINED]),
            T.PARTLY_SCORED,
            dict.fromkeys(["context_precision", *RELATIVES], R.UNRANKED),
        ),
    ],
)
async def test_what_one_scorer_cannot_score_another_can(
    run: RagRun, outcome: TraceOutcome, reasons: dict[str, Reason]
) -> None:
    evaluation = await evaluate(run, ScriptedJudge(), CORE)
    assert (evaluation.outcome, evaluation.reason) == (outcome, next(iter(reasons.values())))
    assert {name: reason for name, reason in unscored(evaluation).items() if reason} == reasons


async def test_relatives_take_no_part_in_the_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> float:
        raise ZeroDivisionError

    monkeypatch.setattr("otel_ctxscore.scorers.relatives.ShareUseful.ratio", breaks)
    evaluation = await evaluate(RUN, ScriptedJudge(), CORE)
    assert unscored(evaluation)["share_useful"] is R.INTERNAL_ERROR
    assert (evaluation.outcome, evaluation.reason) == (T.SCORED, None)


SPENT = JudgedBy("llm", "gpt", "p1", calls=2, prompt_tokens=50)


@pytest.mark.parametrize("reason", [reason for reason in R if reason.startswith("judge_")])
async def test_a_judge_that_fails_gives_its_reason_and_what_it_spent(reason: Reason) -> None:
    evaluation = await evaluate(RUN, ScriptedJudge(failing(JudgeError(reason, "why", SPENT))), CORE)
    assert set(unscored(evaluation).values()) == {reason}
    assert (evaluation.outcome, evaluation.reason) == (T.UNSCORED, reason)
    assert (evaluation.judged_by, evaluation.judgement) == (SPENT, None)
    assert "why" in evaluation.detail


@pytest.mark.parametrize("fault", ["judge", "no judgement", "scorer", "refusal"])
async def test_a_fault_is_an_internal_error_with_a_trace_back(
    fault: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> Judgement:
        raise RuntimeError("it broke")

    judge = ScriptedJudge()
    if fault == "judge":
        judge = ScriptedJudge(breaks)
    elif fault == "no judgement":
        judge = ScriptedJudge(lambda run: None)  # type: ignore[arg-type, return-value]
    else:
        for method in {"scorer": ("score_run", "refuse"), "refusal": ("refusal",)}[fault]:
            monkeypatch.setattr(ContextPrecision, method, breaks)
    evaluation = await evaluate(replace(RUN, trace_id="0f"), judge, [ContextPrecision()])
    assert unscored(evaluation)["context_precision"] is R.INTERNAL_ERROR
    assert (evaluation.outcome, evaluation.reason) == (T.UNSCORED, R.INTERNAL_ERROR)
    [record, *_] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info
    assert vars(record)["trace_id"] == "0f"


async def test_cancelling_is_no_fault() -> None:
    started = asyncio.Event()

    class Slow(ScriptedJudge):
        async def judge(self, run: RagRun) -> Judgement:
            started.set()
            return await asyncio.Future[Judgement]()

    task = asyncio.create_task(evaluate(RUN, Slow(), CORE))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# ---- scorers with a call of their own ---------------------------------------------------------------------------

FAITHFULNESS = Rubric.load("faithfulness")


async def test_a_rubric_is_asked_beside_the_judgement_and_its_cost_is_counted() -> None:
    judge = ScriptedAsker(
        lambda run: Judgement([Verdict(True)] * 2, None, JudgedBy("llm", "gpt", "p1", 1, 10, 5, 0.25))
    )
    evaluation = await evaluate(RUN, judge, [ContextPrecision(), FAITHFULNESS])
    assert evaluation.scores[-1].value == 0.5
    assert evaluation.judged_by == JudgedBy("llm", "gpt", "p1", 2, 17, 5, 0.75)
    unpriced = replace(judge, says=lambda run: Judgement([Verdict(True)] * 2, None, JudgedBy("llm", "gpt", "p1", 1)))
    spent = (await evaluate(RUN, unpriced, [ContextPrecision(), FAITHFULNESS])).judged_by
    assert spent is not None
    assert (spent.calls, spent.cost_usd) == (2, None)


@pytest.mark.parametrize(
    ("replies", "value", "reason", "calls"),
    [
        (['{"score": 1}'], 1.0, None, 1),
        (["hm", '{"score": 1}'], 1.0, None, 2),
        (["hm", "hm"], None, R.JUDGE_UNREADABLE, 2),
        (["hm", JudgeError(R.JUDGE_UNAVAILABLE)], None, R.JUDGE_UNAVAILABLE, 1),
        ([JudgeError(R.JUDGE_REFUSED, "no", SPENT)], None, R.JUDGE_REFUSED, 2),
        ([RuntimeError("it broke")], None, R.INTERNAL_ERROR, 0),
    ],
)
async def test_a_reply_that_cannot_be_read_is_asked_for_once_more(
    replies: list[str | Exception], value: float | None, reason: Reason | None, calls: int
) -> None:
    judge = ScriptedAsker(replies=iter(replies))
    evaluation = await evaluate(RUN, judge, [FAITHFULNESS])
    [score] = evaluation.scores
    assert (score.value, score.unscored) == (value, reason)
    assert (evaluation.judged_by.calls if evaluation.judged_by else 0) == calls
    assert len(judge.asked) == len(replies)
    assert all("could not be read: score must be a number" in again for again in judge.asked[1:])
    assert judge.judged == []


async def test_an_asker_that_repaired_the_reply_is_not_asked_again() -> None:
    judge = ScriptedAsker(replies=iter(["hm"]), repairs=True)
    evaluation = await evaluate(RUN, judge, [FAITHFULNESS])
    assert evaluation.reason is R.JUDGE_UNREADABLE
    assert len(judge.asked) == 1


async def test_the_asker_may_be_another_than_the_judge() -> None:
    asker = ScriptedAsker()
    evaluation = await evaluate(RUN, ScriptedJudge(), [*CORE, FAITHFULNESS], asker=asker)
    assert evaluation.outcome is T.SCORED
    assert (len(asker.asked), asker.judged) == (1, [])


# ---- which scorers are on ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judge", "names"),
    [
        (ScriptedJudge(), ["context_precision", "context_relevance"]),
        (ScriptedAsker(), ["context_precision", "context_relevance", "faithfulness"]),
        (ScriptedJudge(fills=frozenset({"useful", "used"})), ["context_precision"]),
        (ScriptedJudge(fills=frozenset({"relevance", "used"})), []),
        (ScriptedJudge(fills=["used", "useful"]), ["context_precision"]),
    ],
)
def test_a_scorer_is_on_where_the_judge_fills_its_needs(judge: ScriptedJudge, names: list[str]) -> None:
    kept, off = on([*CORE, FAITHFULNESS], judge)
    assert [scorer.name for scorer in kept] == names
    assert {scorer.name for scorer in [*kept, *off]} == {"context_precision", "context_relevance", "faithfulness"}


def test_derived_relevance_needs_no_missing() -> None:
    judge = ScriptedJudge(fills=frozenset({"useful", "relevance", "used"}))
    assert on([ContextRelevance(derived=True)], judge)[1] == []
    assert on([ContextRelevance()], judge)[0] == []


@pytest.mark.parametrize("name", ["context_precision", "hit_rate"])
def test_two_scores_of_one_name_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        on([ContextPrecision(), replace(FAITHFULNESS, name=name)], ScriptedAsker())


# ---- many runs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 3, 50])
@pytest.mark.parametrize("is_async", [True, False])
async def test_evaluations_are_in_the_order_of_runs(concurrency: int, is_async: bool) -> None:
    runs = [replace(RUN, trace_id=str(number)) for number in range(20)]
    told: list[str | None] = []
    open_calls, most = 0, 0

    class Uneven(ScriptedJudge):
        async def judge(self, run: RagRun) -> Judgement:
            nonlocal open_calls, most
            open_calls += 1
            most = max(most, open_calls)
            for _ in range(1 + 7 * int(run.trace_id or 0) % 5):
                await asyncio.sleep(0)
            open_calls -= 1
            return self.says(run)

    async def tell_later(evaluation: Evaluation) -> None:
        await asyncio.sleep(0)
        told.append(evaluation.run.trace_id)

    def tell(evaluation: Evaluation) -> None:
        told.append(evaluation.run.trace_id)

    evaluations = await score_runs(
        runs, CORE, Uneven(), on_result=tell_later if is_async else tell, concurrency=concurrency
    )
    assert [evaluation.run for evaluation in evaluations] == runs
    assert sorted(told, key=str) == sorted((run.trace_id for run in runs), key=str)
    assert most == min(concurrency, len(runs))


async def test_runs_are_read_as_they_are_needed() -> None:
    read = itertools.count(1)
    endless = (replace(RUN, trace_id=str(number)) for number in read)

    def stop(evaluation: Evaluation) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        await score_runs(endless, CORE, ScriptedJudge(), on_result=stop, concurrency=4)
    assert next(read) <= 5


async def test_scorers_that_are_off_are_said_and_not_listed(caplog: pytest.LogCaptureFixture) -> None:
    [evaluation] = await score_runs([RUN], CORE, ScriptedJudge(fills=frozenset({"useful"})))
    assert "context_relevance" not in unscored(evaluation)
    assert "context_relevance is off" in caplog.text


async def test_nothing_to_score_with_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no scorer is on: custom scripted fills used"):
        await score_runs([RUN], CORE, ScriptedJudge(fills=frozenset({"used"})))
    with pytest.raises(ValueError, match="at least 1"):
        await score_runs([RUN], CORE, ScriptedJudge(), concurrency=0)
    with pytest.raises(ValueError, match="no scorer is on"):
        await evaluate(RUN, ScriptedJudge(), [])


# ---- a trace ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "outcome", "reason"),
    [
        ([(T.SCORED, None)], T.SCORED, None),
        ([(T.SCORED, None), (T.PARTLY_SCORED, R.UNRANKED)], T.PARTLY_SCORED, R.UNRANKED),
        ([(T.UNSCORED, R.NO_QUERY), (T.SCORED, None)], T.PARTLY_SCORED, R.NO_QUERY),
        ([(T.UNSCORED, R.JUDGE_REFUSED), (T.UNSCORED, R.NO_QUERY)], T.UNSCORED, R.NO_QUERY),
        ([(T.SCREENED, None), (T.SCORED, None)], T.SCORED, None),
        ([(T.SCREENED, None), (T.UNSCORED, R.REDACTED)], T.UNSCORED, R.REDACTED),
        ([(T.SCREENED, None), (T.OVER_BUDGET, None)], T.OVER_BUDGET, None),
        ([(T.SCREENED, None), (T.SCREENED, None)], T.SCREENED, None),
        ([(T.NOT_SAMPLED, None), (T.SCREENED, None)], T.SCREENED, None),
        ([(T.NOT_SAMPLED, None)], T.NOT_SAMPLED, None),
    ],
)
def test_the_outcome_of_a_trace(
    runs: list[tuple[TraceOutcome, Reason | None]], outcome: TraceOutcome, reason: Reason | None
) -> None:
    scores: list[Score] = []
    for order in (runs, runs[::-1]):
        assert trace_outcome([Evaluation(RUN, None, scores, *run) for run in order]) == (outcome, reason)


def test_a_trace_without_a_run_has_its_outcome_elsewhere() -> None:
    with pytest.raises(ValueError, match="no outcome of a run"):
        trace_outcome([])
