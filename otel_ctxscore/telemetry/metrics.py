"""What happened, counted: one method for each event of the domain."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.samples import Sample

from otel_ctxscore.config.model import Target
from otel_ctxscore.core.model import Evaluation, JudgedBy, RagRun, Score
from otel_ctxscore.core.outcomes import Closed, Reason, TraceOutcome
from otel_ctxscore.core.stats import CELLS, TERMS, Stage, cell
from otel_ctxscore.telemetry import catalogue as c
from otel_ctxscore.telemetry.families import Families, Rows
from otel_ctxscore.telemetry.labels import OTHER, Cap, exemplar

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Evaluator:
    """A scorer under one judge: what `version` stands for. `stages` are those whose estimator sums will be fed."""

    scorer: str
    version: str
    tier: str
    model: str
    definition: str
    stages: tuple[Stage, ...] = ()


def ratio(score: Score) -> float | None:
    """The score in 0..1 as it enters sums; None for an unscored one, and for one that is no number in 0..1."""
    if score.value is None:
        return None
    found = score.ratio if score.ratio is not None else score.value / score.scale
    return found if math.isfinite(found) and 0 <= found <= 1 else None


def tier_label(tier: str) -> str:
    """The tier as a closed label: a judge of one's own may call itself anything."""
    return tier if tier in c.TIER.values else "custom"


def _evaluator(evaluation: Evaluation, score: Score) -> Evaluator:
    judged_by = evaluation.judged_by or (evaluation.judgement and evaluation.judgement.judged_by)
    tier, model = (judged_by.tier, judged_by.model) if judged_by else ("custom", "")
    return Evaluator(score.name, score.version, tier, model, score.definition)


def judged_span(run: RagRun, score: Score) -> dict[str, str]:
    """Trace and span that a score is about, as exemplar labels."""
    retrieval = None if score.retrieval is None else run.retrievals[score.retrieval].span_id
    span_id = retrieval or run.span_id
    ids = {"trace_id": run.trace_id, "span_id": span_id}
    return {name: value for name, value in ids.items() if value}


def _by_series(targets: Sequence[Target]) -> dict[tuple[str, str], Target]:
    """Targets by service and scorer; of two for the same the first."""
    return {(target.service, target.scorer): target for target in reversed(targets)}


class Intake:
    """What one source counts."""

    def __init__(self, metrics: Metrics, source: str) -> None:
        self._metrics = metrics
        self._source = source

    def counted(self, result: str, n: int = 1) -> None:
        """`n` spans were kept, sampled out, ..."""
        self._metrics.spans(self._source, result, n)

    def request(self, result: str) -> None:
        """A request or record was answered."""
        self._metrics.request(self._source, result)


class Metrics:
    """The counters of one service, in a registry of its own. All methods belong to the event loop's thread.

    Closed label sets stand there with 0 from the start; those that bear a service, as soon as `service` sees it:
    call it when a service's first span is decoded, well before its first score.
    """

    def __init__(
        self,
        scorers: Iterable[str] = (),
        *,
        max_values: int = 200,
        targets: Sequence[Target] = (),
    ) -> None:
        """`targets` say which runs are bad, and what mean is to be kept; one for a service wins over one for `*`."""
        self._families = Families()
        self._scorers = tuple(scorers)
        self._targets = _by_series(targets)
        self._caps = {label: Cap(max_values) for label in c.LABEL.values}
        self._services: set[str] = set()
        self._evaluators: dict[tuple[str, str], Evaluator] = {}
        self._resolved: set[tuple[str, str]] = set()
        self._series: set[tuple[str, str, str, str]] = set()
        self._families.watch_rows(c.TARGET_RATIO, self._target_rows)
        for label in c.LABEL.values:
            self._families.of(c.DROPPED_VALUES, label)
        for closed in Closed:
            self._families.of(c.CLOSED_TRACES, closed)

    # ---- what there is ------------------------------------------------------------------------------------------

    def declare_evaluator(self, evaluator: Evaluator) -> None:
        """Make an evaluator known before its first score: its series begin at 0 with each service."""
        self._evaluators[evaluator.scorer, evaluator.version] = evaluator
        self._resolve(evaluator)
        for service in self._services:
            self._begin(service, evaluator)

    def declare_judge(self, tier: str, model: str, *, priced: bool = True) -> None:
        """Make a judge known: all its results begin at 0. A cost that is unknown is absent: 0 would read as free."""
        tier, model = tier_label(tier), self._admit("model", model)
        for result in c.JUDGE_RESULT.values:
            self._families.of(c.JUDGE_CALLS, tier, model, result)
        for kind in c.TOKEN_KIND.values:
            self._families.of(c.JUDGE_TOKENS, tier, model, kind)
        if priced:
            self._families.of(c.JUDGE_COST, tier, model)
        self._families.of(c.JUDGE_DURATION, tier, model)

    def declare_sink(self, name: str) -> None:
        """Make a sink known: all its results begin at 0."""
        for result in c.SINK_RESULT.values:
            self._families.of(c.EVALUATIONS, name, result)

    def intake(self, source: str) -> Intake:
        """The counts of one source, begun at 0."""
        for result in c.SPAN_RESULT.values:
            self._families.of(c.SPANS, source, result)
        for result in c.REQUEST_RESULT.values:
            self._families.of(c.REQUESTS, source, result)
        return Intake(self, source)

    def series(self, service: str, scorer: str, version: str) -> tuple[str, str, str] | None:
        """The label values of a series, None where a cap makes it one of many under `other`."""
        labels = self.service(service), scorer, self._admit("version", version)
        return None if OTHER in labels else labels

    def retarget(self, targets: Sequence[Target]) -> None:
        """Hold services to other targets from now on."""
        self._targets = _by_series(targets)
        for service, scorer, _, version in self._series:
            if self._target(service, scorer) is not None:
                self._families.of(c.BAD_WEIGHT, service, scorer, version)

    def service(self, name: str) -> str:
        """The label value of a service, whose series begin at 0 when it is first seen."""
        service = self._admit("service", name)
        if service not in self._services:
            self._services.add(service)
            for outcome in TraceOutcome:
                self._families.of(c.TRACES, service, outcome)
            for result in c.RETRIEVED.values:
                self._families.of(c.RETRIEVALS, service, result)
            for histogram in (c.CONTEXTS, c.CONTEXT_CHARACTERS, c.DOCUMENT_SCORE):
                self._families.of(histogram, service)
            for scorer in self._scorers:
                for reason in Reason:
                    self._families.of(c.UNSCORED, service, scorer, reason)
            for evaluator in self._evaluators.values():
                self._begin(service, evaluator)
        return service

    # ---- what happens -------------------------------------------------------------------------------------------

    def trace_done(self, service: str, outcome: TraceOutcome) -> None:
        """A trace has its one outcome. Its reasons are counted with its runs: `evaluated`; without one: `refused`."""
        self._families.of(c.TRACES, self.service(service), outcome).inc()

    def refused(self, service: str, reason: Reason) -> None:
        """A trace without a run is unscored for a reason: each scorer that is on counts it."""
        for scorer in self._scorers:
            self._families.of(c.UNSCORED, self.service(service), scorer, reason).inc()

    def closed(self, closed: Closed) -> None:
        """The assembler closed a trace."""
        self._families.of(c.CLOSED_TRACES, closed).inc()

    def spans(self, source: str, result: str, n: int = 1) -> None:
        """`n` spans of a source were kept, sampled out, late, ..."""
        self._families.of(c.SPANS, source, result).inc(n)

    def request(self, source: str, result: str) -> None:
        """A request or record of a source was answered."""
        self._families.of(c.REQUESTS, source, result).inc()

    def evaluated(self, evaluation: Evaluation) -> None:
        """A run has its scores, or its reasons. A redelivered, revised or backfilled one enters no sum."""
        if evaluation.run.redelivered or evaluation.revision or evaluation.backfill:
            return
        service = self.service(evaluation.run.service)
        for retrieval in evaluation.run.retrievals:
            # A list whose text was redacted or never captured is not an empty one.
            result = "empty" if retrieval.refused is Reason.NO_CONTEXTS else "some"
            self._families.of(c.RETRIEVALS, service, result).inc()
        self._retrieved(service, evaluation.run)
        for score in evaluation.scores:
            value = ratio(score)
            if value is None:
                self._unscored(service, score)
            else:
                self._scored(service, evaluation, score, value)

    def judge_call(self, judged_by: JudgedBy, failure: Reason | None = None) -> None:
        """A judgement was asked for and came, or failed with a reason."""
        tier, model = tier_label(judged_by.tier), self._admit("model", judged_by.model)
        result = failure or ("cached" if judged_by.cached else "repaired" if judged_by.repaired else "ok")
        self._families.of(c.JUDGE_CALLS, tier, model, result).inc()
        self._families.of(c.JUDGE_TOKENS, tier, model, "prompt").inc(judged_by.prompt_tokens)
        self._families.of(c.JUDGE_TOKENS, tier, model, "completion").inc(judged_by.completion_tokens)
        if judged_by.cost_usd is not None:
            self._families.of(c.JUDGE_COST, tier, model).inc(judged_by.cost_usd)
        if not judged_by.cached:
            self._families.of(c.JUDGE_DURATION, tier, model).observe(judged_by.seconds)

    def split_traces(self, n: int) -> None:
        """Spans of `n` more traces came on several partitions."""
        self._families.of(c.SPLIT_TRACES).inc(n)

    def kafka_reconnected(self, cause: str, n: int = 1) -> None:
        """The Kafka consumer connected anew after a `fault`, or with a fresh `token`."""
        self._families.of(c.KAFKA_RECONNECTS, cause).inc(n)

    def sink(self, name: str, result: str) -> None:
        """An evaluation is `ok`, `failed` or `dropped` at a sink."""
        self._families.of(c.EVALUATIONS, name, result).inc()

    def estimator(self, service: str, scorer: str, version: str, stage: Stage, terms: Mapping[str, float]) -> None:
        """Add one trace's terms to the sums of a stage; absent terms add nothing."""
        labels = self.service(service), scorer, self._admit("version", version), stage
        for term in TERMS[stage]:
            self._families.of(c.ESTIMATOR, *labels, term).inc(terms.get(term, 0))

    def segment_estimator(
        self,
        service: str,
        segment: tuple[str, str],
        scorer: str,
        version: str,
        stage: Stage,
        terms: Mapping[str, float],
    ) -> None:
        """The same within a segment, given as its name and value."""
        name, value = segment
        labels = (self.service(service), name, self._admit("value", value), scorer, self._admit("version", version))
        for term in TERMS[stage]:
            self._families.of(c.SEGMENT_ESTIMATOR, *labels, stage, term).inc(terms.get(term, 0))

    def watch(self, metric: c.Metric, read: Callable[[], float | None], *labels: str) -> None:
        """Let a gauge show what `read` returns at each scrape; None, or an error, leaves the series out."""
        self._families.watch(metric, read, *self._admitted(metric, labels))

    def watch_rows(self, metric: c.Metric, read: Callable[[], Rows]) -> None:
        """Let a gauge show the series that `read` returns at each scrape; those that it leaves out are gone. Their
        label values must be ones that `series` gave."""
        self._families.watch_rows(metric, read)

    # ---- what is shown ------------------------------------------------------------------------------------------

    def total(self, metric: c.Metric, by: str, **where: str) -> dict[str, float]:
        """A counter's sum for each value of one of its labels, over the series whose labels are as `where` says."""
        return self._families.total(metric, by, **where)

    def samples(self) -> Iterator[tuple[c.Metric, Sample]]:
        """All counters, histograms and infos as they are now, for who writes their history."""
        return self._families.samples()

    async def render(self, accept: str = "") -> tuple[bytes, str]:
        """The page for an Accept header and its content type, made off the event loop."""
        return await self._families.render(accept)

    # ---- inner --------------------------------------------------------------------------------------------------

    def _admit(self, label: str, value: str) -> str:
        admitted = self._caps[label].admit(value)
        if admitted == OTHER:
            self._families.of(c.DROPPED_VALUES, label).inc()
        return admitted

    def _admitted(self, metric: c.Metric, labels: tuple[str, ...]) -> list[str]:
        named = zip(metric.labels, labels, strict=True)
        return [self._admit(label.name, value) if label.capped else value for label, value in named]

    def _begin(self, service: str, evaluator: Evaluator) -> None:
        """Begin the series of one evaluator and service at 0."""
        scorer, version = evaluator.scorer, self._admit("version", evaluator.version)
        key = (service, scorer, tier_label(evaluator.tier), version)
        if key in self._series:
            return
        self._series.add(key)
        self._families.of(c.SCORE, *key)
        for bucket in CELLS:
            self._families.of(c.SCORE_WEIGHT, service, scorer, version, bucket)
        target = self._target(service, scorer)
        if target is not None:
            self._families.of(c.BAD_WEIGHT, service, scorer, version)
        for stage in evaluator.stages:
            for term in TERMS[stage]:
                self._families.of(c.ESTIMATOR, service, scorer, version, stage, term)

    def _target_rows(self) -> Rows:
        named = {(service, scorer, version) for service, scorer, _, version in self._series}
        targets = ((labels, self._target(labels[0], labels[1])) for labels in sorted(named))
        return [(labels, target.target) for labels, target in targets if target is not None]

    def _target(self, service: str, scorer: str) -> Target | None:
        return self._targets.get((service, scorer)) or self._targets.get(("*", scorer))

    def _resolve(self, evaluator: Evaluator) -> None:
        """Say once what a version stands for."""
        if (evaluator.scorer, evaluator.version) not in self._resolved:
            self._resolved.add((evaluator.scorer, evaluator.version))
            version, model = self._admit("version", evaluator.version), self._admit("model", evaluator.model)
            labels = (version, evaluator.scorer, tier_label(evaluator.tier), model, evaluator.definition)
            self._families.of(c.EVALUATOR, *labels).info({})

    def _retrieved(self, service: str, run: RagRun) -> None:
        """What a run found, whatever it scored."""
        self._families.of(c.CONTEXTS, service).observe(len(run.judged))
        for context in run.judged:
            self._families.of(c.CONTEXT_CHARACTERS, service).observe(len(context.text))
            if context.document_score is not None and math.isfinite(context.document_score):
                self._families.of(c.DOCUMENT_SCORE, service).observe(context.document_score)

    def _unscored(self, service: str, score: Score) -> None:
        reason = score.unscored
        if reason is None:
            _log.error("%s gave %r of scale %r, which is no number in 0..1", score.name, score.value, score.scale)
            reason = Reason.INTERNAL_ERROR
        self._families.of(c.UNSCORED, service, score.name, reason).inc()

    def _scored(self, service: str, evaluation: Evaluation, score: Score, value: float) -> None:
        evaluator = self._evaluators.get((score.name, score.version)) or _evaluator(evaluation, score)
        self._resolve(evaluator)
        self._begin(service, evaluator)
        labels = (service, score.name, self._admit("version", score.version))
        histogram = self._families.of(c.SCORE, service, score.name, tier_label(evaluator.tier), labels[2])
        histogram.observe(value, exemplar(judged_span(evaluation.run, score)))
        self._families.of(c.SCORE_WEIGHT, *labels, CELLS[cell(value)]).inc(evaluation.weight)
        target = self._target(service, score.name)
        if target is not None and value < target.bad_below:
            self._families.of(c.BAD_WEIGHT, *labels).inc(evaluation.weight)
