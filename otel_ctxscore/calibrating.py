"""How far the configured judges agree with labels by people, and the calibration that would bring them nearer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from otel_ctxscore.batch import AT_ONCE, in_order
from otel_ctxscore.core.counting import count
from otel_ctxscore.core.model import LEVELS, YES, Evaluation, Judgement
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.stats.agreement import (
    Agreement,
    Band,
    Bin,
    Pair,
    Query,
    agreement,
    band,
    calibration_error,
    log_loss,
    quadratic_kappa,
    reliability,
)
from otel_ctxscore.core.stats.labels import MIN_RATES
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.judges.calibration import Calibration, fitted
from otel_ctxscore.monitoring.labels import LabelledRun
from otel_ctxscore.ports import Judge
from otel_ctxscore.scorers.context_precision import ContextPrecision, average_precision

FOLDS = 5
ENOUGH_QUERIES, ENOUGH_EACH = 24, 30
"""Labelled queries, and contexts of each kind, from which on a calibration is worth having."""


@dataclass(frozen=True, slots=True)
class Report:
    """What labels say of one judge. `unjudged` counts runs by reason; they are in no figure. `ap_error` is the mean
    distance of the average precisions by judge and by people. `used` and `relevance` (quadratic kappa) are None where
    the judge does not fill them or nobody labelled them. `cost_usd` is None where a price is unknown."""

    judge: Judge
    useful: Agreement
    queries: Sequence[Query]
    unjudged: Counter[Reason]
    share_people: float
    share_judge: float
    ap_people: float
    ap_judge: float
    ap_error: float
    bins: Sequence[Bin]
    error: float
    band: Band | None
    used: Agreement | None
    relevance: float | None
    calls: int
    cost_usd: float | None

    @property
    def correctable(self) -> bool:
        """Whether a share of useful contexts can be corrected by the rates (Rogan-Gladen)."""
        rates = self.useful.rates
        return rates is not None and rates.sensitivity + rates.specificity >= MIN_RATES


@dataclass(frozen=True, slots=True)
class Recalibration:
    """Platt scaling by the labels. `whole` is what to write: it takes the place of the calibration in use. Errors are
    those of the judge as it is and, cross-validated by query, with the new calibration."""

    whole: Calibration
    error_now: float
    error_then: float
    loss_now: float
    loss_then: float
    warnings: Sequence[str] = field(default=())


async def compare(labelled: Sequence[LabelledRun], judge: Judge) -> Report:
    """Judge every labelled run and compare."""
    scorers = [ContextPrecision()]
    evaluations = [one async for one in in_order(lambda each: evaluate(each.run, judge, scorers), labelled, AT_ONCE)]
    judged = [(line, e.judgement) for line, e in zip(labelled, evaluations, strict=True) if e.judgement is not None]
    queries = [query for line, judgement in judged if (query := _useful(line, judgement))]
    pairs = [pair for query in queries for pair in query]
    bins = reliability(pairs)
    # A list of which people have seen a part has no precision of theirs.
    whole = [_useful(line, judgement) for line, judgement in judged if None not in line.useful]
    precisions = [(average_precision([p.human for p in q]), average_precision([p.p >= YES for p in q])) for q in whole]
    return Report(
        judge,
        agreement(queries),
        queries,
        Counter(e.reason for e in evaluations if e.judgement is None and e.reason is not None),
        share_people=_mean([pair.human for pair in pairs]),
        share_judge=_mean([pair.p >= YES for pair in pairs]),
        ap_people=_mean([people for people, _ in precisions]),
        ap_judge=_mean([judge for _, judge in precisions]),
        ap_error=_mean([abs(people - judge) for people, judge in precisions]),
        bins=bins,
        error=calibration_error(bins),
        band=band(queries),
        used=_used(judged),
        relevance=_relevance(judged),
        calls=sum(e.judged_by.calls for e in evaluations if e.judged_by is not None),
        cost_usd=_cost(evaluations),
    )


def recalibrate(report: Report, now: Calibration) -> Recalibration | None:
    """The calibration for the judge of a report, which uses `now` already. None where its probabilities say nothing of
    the labels, or all labels are alike."""
    pairs = [pair for query in report.queries for pair in query]
    found = fitted(pairs)
    if found is None:
        return None
    then = list(_held_out(report.queries))
    loss_now, loss_then = log_loss(pairs), log_loss(then)
    return Recalibration(
        found.after(now),
        error_now=report.error,
        error_then=calibration_error(reliability(then)),
        loss_now=loss_now,
        loss_then=loss_then,
        warnings=list(_warnings(report, pairs, loss_now, loss_then)),
    )


def _held_out(queries: Sequence[Query]) -> Iterator[Pair]:
    """Each context as a calibration has it that did not see its query."""
    for fold in range(FOLDS):
        seen = [pair for place, query in enumerate(queries) if place % FOLDS != fold for pair in query]
        learned = fitted(seen) or Calibration()
        yield from (Pair(learned(pair.p), pair.human) for query in queries[fold::FOLDS] for pair in query)


def _warnings(report: Report, pairs: Query, loss_now: float, loss_then: float) -> Iterator[str]:
    useful = sum(pair.human for pair in pairs)
    if len(report.queries) < ENOUGH_QUERIES or min(useful, len(pairs) - useful) < ENOUGH_EACH:
        yield (
            f"too few labels to rely on it: {count(len(report.queries), 'query', 'queries')} with {useful} useful and"
            f" {count(len(pairs) - useful, 'other context')}; {ENOUGH_QUERIES} queries and {ENOUGH_EACH} of each are a"
            " start"
        )
    if loss_then >= loss_now:
        yield "on queries that it has not seen it is no better than the judge as it is"


def _useful(line: LabelledRun, judgement: Judgement) -> list[Pair]:
    found = zip(judgement.verdicts, line.useful, strict=True)
    return [
        Pair(verdict.p_useful, human) for verdict, human in found if verdict.p_useful is not None and human is not None
    ]


def _used(judged: Sequence[tuple[LabelledRun, Judgement]]) -> Agreement | None:
    queries = [
        [
            Pair(float(verdict.used), context["used"])
            for verdict, context in zip(judgement.verdicts, line.line["contexts"], strict=True)
            if verdict.used is not None and context.get("used") is not None
        ]
        for line, judgement in judged
    ]
    found = agreement(queries)
    return found if found.contexts else None


def _relevance(judged: Sequence[tuple[LabelledRun, Judgement]]) -> float | None:
    ranks = {level: rank for rank, level in enumerate(LEVELS)}
    return quadratic_kappa(
        [
            (ranks[verdict.relevance], ranks[context["relevance"]])
            for line, judgement in judged
            for verdict, context in zip(judgement.verdicts, line.line["contexts"], strict=True)
            if verdict.relevance is not None and context.get("relevance") is not None
        ]
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _cost(evaluations: Sequence[Evaluation]) -> float | None:
    costs = [e.judged_by.cost_usd for e in evaluations if e.judged_by is not None]
    return None if None in costs else sum(cost for cost in costs if cost is not None)
