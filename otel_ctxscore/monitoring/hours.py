"""What a finished trace adds to the sums and counts of its hour."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.hours import CountKey, Evaluator, Measure, SumsKey
from otel_ctxscore.core.model import Evaluation, JudgedBy, RagRun
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.records import segment_value
from otel_ctxscore.core.stats import Sums, TraceTotals
from otel_ctxscore.monitoring.series import by_series, counted
from otel_ctxscore.telemetry.labels import clean
from otel_ctxscore.telemetry.metrics import ratio, tier_label

WIDEST = 1e12
"""Greater numbers of a retriever are left out: squared and added they would drown all others."""


def sums(done: Finished, segments: Mapping[str, str], leading: Collection[str]) -> Iterator[tuple[SumsKey, Sums]]:
    """Sums of scores by series, within each segment those of `leading` scorers only, and of what was retrieved.
    `segments` are names and attributes. What enters no metric, such as a repeat, is not in them either."""
    kept = counted(done.evaluations)
    yield from _scores(kept, "", "")
    for name, attribute in segments.items():
        for value, within in _by_value(kept, attribute).items():
            yield from (found for found in _scores(within, name, value) if found[0].scorer in leading)
    yield from _retrieved(kept)


def _scores(evaluations: Iterable[Evaluation], segment: str, value: str) -> Iterator[tuple[SumsKey, Sums]]:
    for (service, scorer, version), scores in by_series(evaluations).items():
        for stage, found in scores.stages():
            yield SumsKey(clean(service), segment, value, clean(scorer), clean(version), stage), found


def _by_value(evaluations: Iterable[Evaluation], attribute: str) -> dict[str, list[Evaluation]]:
    found: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        found.setdefault(clean(segment_value(evaluation.run, attribute) or ""), []).append(evaluation)
    return found


# ---- what was retrieved -----------------------------------------------------------------------------------------


def _retrieved(evaluations: Iterable[Evaluation]) -> Iterator[tuple[SumsKey, Sums]]:
    totals: dict[tuple[str, Measure], tuple[float, float]] = {}
    for evaluation in evaluations:
        weight = _admitted(evaluation)
        for measure, (parts, total) in _measured(evaluation.run).items() if weight else ():
            key = (clean(evaluation.run.service), measure)
            t0, ty = totals.get(key, (0.0, 0.0))
            totals[key] = (t0 + weight * parts, ty + weight * total)
    for (service, measure), (t0, ty) in totals.items():
        yield SumsKey(service, "", "", measure, "", "retrieved"), TraceTotals(t0, ty, 0.0).judged


def _admitted(evaluation: Evaluation) -> float:
    """The weight of a run among those that stand for all traffic: the screened ones where two judge, else the judged
    ones and those that reached no judge because there was nothing to judge. 0 for one that the budget left out."""
    if evaluation.screening is not None:
        return 1 / evaluation.screening.probability
    return 0.0 if evaluation.outcome is TraceOutcome.OVER_BUDGET else evaluation.weight


def _measured(run: RagRun) -> dict[Measure, tuple[int, float]]:
    """How many parts a run has of each measure, and their total."""
    empty = [retrieval.refused is Reason.NO_CONTEXTS for retrieval in run.retrievals]
    found: dict[Measure, tuple[int, float]] = {"empty_retrievals": (len(empty), sum(empty))}
    readable = all(r.refused in (None, Reason.NO_CONTEXTS) for r in run.retrievals)
    if run.retrievals and readable:  # text that was redacted or not captured is not an empty list
        found["contexts"] = (1, len(run.judged))
    found["context_characters"] = (len(run.judged), sum(len(context.text) for context in run.judged))
    numbers = [context.document_score for context in run.judged]
    scores = [n for n in numbers if n is not None and math.isfinite(n) and abs(n) <= WIDEST]
    found["document_score"] = (len(scores), math.fsum(scores))
    return {measure: pair for measure, pair in found.items() if pair[0]}


# ---- counts -----------------------------------------------------------------------------------------------------


def counts(done: Finished) -> Iterator[tuple[CountKey, float]]:
    """Spans, traces, runs, retrievals, scores and reasons, and what judging took; repeats only in the last."""
    service = clean(done.service)
    yield CountKey(service, "spans"), done.spans
    yield CountKey(service, "traces", done.outcome), 1
    for evaluation in done.evaluations:
        yield from _spent(evaluation)
    for evaluation in counted(done.evaluations):
        service = clean(evaluation.run.service)
        yield CountKey(service, "runs", evaluation.outcome), 1
        for retrieval in evaluation.run.retrievals:
            yield CountKey(service, "retrievals", "empty" if retrieval.refused is Reason.NO_CONTEXTS else "some"), 1
        for score in evaluation.scores:
            name = clean(score.name)
            if ratio(score) is not None:
                yield CountKey(service, "scores", name), 1
            else:
                yield CountKey(service, "unscored", name, score.unscored or Reason.INTERNAL_ERROR), 1


def _spent(evaluation: Evaluation) -> Iterator[tuple[CountKey, float]]:
    by = evaluation.judged_by
    if by is None or not by.calls:
        return
    service, judge = clean(evaluation.run.service), (tier_label(by.tier), clean(by.model))
    yield CountKey(service, "calls", *judge), by.calls
    yield CountKey(service, "tokens", *judge), by.tokens
    if by.cost_usd is None:
        yield CountKey(service, "unpriced", *judge), by.calls
    else:
        yield CountKey(service, "usd", *judge), by.cost_usd


def evaluators(evaluations: Sequence[Evaluation]) -> Iterator[Evaluator]:
    """Who stands behind the scores."""
    for evaluation in evaluations:
        by: JudgedBy | None = evaluation.judged_by
        for score in evaluation.scores:
            if by is not None and ratio(score) is not None:
                yield Evaluator(clean(score.name), clean(score.version), tier_label(by.tier), clean(by.model))
