"""Who judges a run, and whether: one judge or two, within the budget."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from otel_ctxscore.core.budget import Budget, Kind, costs_of
from otel_ctxscore.core.model import CheapScore, Evaluation, JudgedBy, Judgement, RagRun, Screening
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.sampling import seed_of, uniform
from otel_ctxscore.evaluation import evaluate, on
from otel_ctxscore.judges.cascade import CascadeJudge
from otel_ctxscore.judges.drawing import Drawn, TwoJudges
from otel_ctxscore.ports import AnyScorer, HasCheapScores, Judge, Scorer

log = logging.getLogger(__name__)


class Judging:
    """Judges and scores runs as the configuration says; never raises.

    `judge` is one judge, or two of which the local one sees every run. `scorers` are those that are on under the
    judge whose scores are published. `clock` gives Unix seconds, for the budget.
    """

    def __init__(
        self,
        judge: Judge | TwoJudges,
        scorers: Sequence[AnyScorer],
        budget: Budget,
        *,
        salt: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.published = judge.llm if isinstance(judge, TwoJudges) else judge
        self.budget = budget
        self._judge = judge
        self._scorers = scorers
        self._seed = seed_of(salt, "budget")
        self._clock = clock
        # Under which model and version the published judge answers; known for sure once it has.
        self._by = JudgedBy(self.published.tier, self.published.model, self.published.version)
        self._local_scorers = on(scorers, judge.local)[0] if isinstance(judge, TwoJudges) else []

    async def evaluate(self, run: RagRun) -> Evaluation:
        """The evaluation of one run that sampling admitted."""
        if run.refused is not None or run.query is None:
            return await evaluate(run, self.published, self._scorers)
        if isinstance(self._judge, TwoJudges):
            return await self._by_two(run, self._judge)
        return await self._by_one(run, self._judge)

    async def _by_one(self, run: RagRun, judge: Judge) -> Evaluation:
        now = self._clock()
        share = self.budget.share(now)
        self.budget.saw(now, 1.0)
        drawn = run.trace_id is None or uniform(bytes.fromhex(run.trace_id), self._seed) < share
        if not drawn or not self.budget.reserve(now):
            return Evaluation(run, None, (), TraceOutcome.OVER_BUDGET)
        return await self._paid(replace(run, probability=run.probability * share), judge)

    async def _by_two(self, run: RagRun, judges: TwoJudges) -> Evaluation:
        now = self._clock()
        share = self.budget.share(now)
        try:
            drawn = await judges.draw(run, share=share)
        except Exception:
            log.exception("the local judge failed", extra={"trace_id": run.trace_id})
            return _failed(run, self._scorers, judges.local)
        self.budget.saw(now, drawn.wanted)
        screening = Screening(run.probability, self._cheap(run, drawn.screened))
        if drawn.judge is None or not self.budget.reserve(now):
            over = drawn.over_budget or drawn.judge is not None
            return replace(await self._screened(run, judges, drawn, over=over), screening=screening)
        evaluation = await self._paid(replace(run, probability=run.probability * drawn.probability), drawn.judge)
        return replace(evaluation, screening=screening)

    async def _paid(self, run: RagRun, judge: Judge) -> Evaluation:
        """Judge what was reserved for, and settle what it cost."""
        costs: dict[Kind, float] = {}
        try:
            evaluation = await evaluate(run, judge, self._scorers)
            by = evaluation.judged_by
            if by is not None and evaluation.judgement is not None:
                self._by = JudgedBy(by.tier, by.model, by.version)
            costs = costs_of(by)
            return evaluation
        finally:
            self.budget.settle(costs)

    async def _screened(self, run: RagRun, judges: TwoJudges, drawn: Drawn, *, over: bool) -> Evaluation:
        """A run that only the local judge saw. In a cascade it has that judge's scores, under its own tier."""
        if isinstance(judges, CascadeJudge) and not over:
            return await evaluate(run, _Known(judges.local, drawn.screened), self._local_scorers)
        return Evaluation(run, None, (), TraceOutcome.OVER_BUDGET if over else TraceOutcome.SCREENED)

    def _cheap(self, run: RagRun, screened: Judgement) -> list[CheapScore]:
        """What the local judgement lets expect of each score that the published judge gives or would have given."""
        found: list[CheapScore] = []
        for scorer in self._scorers:
            if isinstance(scorer, HasCheapScores) and isinstance(scorer, Scorer):
                named = scorer.refuse(run, Reason.JUDGE_UNAVAILABLE, self._by)
                values = scorer.cheap_scores(run, screened)
                found += [
                    CheapScore(score.name, score.version, score.retrieval, value)
                    for score, value in zip(named, values, strict=True)
                ]
        return found


class _Known:
    """A judge whose judgement is there already."""

    def __init__(self, judge: Judge, judgement: Judgement) -> None:
        self.tier, self.model, self.version, self.fills = judge.tier, judge.model, judge.version, judge.fills
        self._judgement = judgement

    async def judge(self, run: RagRun) -> Judgement:
        return self._judgement


def _failed(run: RagRun, scorers: Sequence[AnyScorer], judge: Judge) -> Evaluation:
    """A run that a fault of our own left unjudged."""
    by = JudgedBy(judge.tier, judge.model, judge.version)
    scores = [score for scorer in scorers for score in scorer.refuse(run, Reason.INTERNAL_ERROR, by)]
    return Evaluation(run, None, scores, TraceOutcome.UNSCORED, Reason.INTERNAL_ERROR, judged_by=by)
