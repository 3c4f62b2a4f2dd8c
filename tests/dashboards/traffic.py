"""Two replicas in which everything has happened that the metrics know of."""

from __future__ import annotations

import random

from otel_ctxscore.config.model import Target
from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, RagRun, Retrieval, Score
from otel_ctxscore.core.outcomes import Closed, Reason, TraceOutcome
from otel_ctxscore.core.stats import CELLS, Baseline, Stage, Sums, TraceTotals, WeightedScore
from otel_ctxscore.core.stats.drift import POINTS
from otel_ctxscore.core.stats.quantiles import chi_square
from otel_ctxscore.telemetry import Evaluator, Metrics
from otel_ctxscore.telemetry import catalogue as c

SERVICE, SCORER, VERSION = "shop", "context_precision", "v1"
SERIES = SERVICE, SCORER, VERSION
STAGES: tuple[Stage, ...] = ("screened", "judged")
JUDGED_BY = JudgedBy("llm", "m", VERSION, calls=1, prompt_tokens=900, completion_tokens=80, cost_usd=0.002, seconds=1.5)
BASELINE = Baseline.pin([10, 0, 0, 0, 0, 10, 20, 20, 20, 20, 20, 80], 1000.0)


class Replica:
    """The metrics of one replica: everything is there at 0, and `run` makes it happen."""

    def __init__(self, seed: int) -> None:
        self.metrics = Metrics([SCORER], targets=[Target(target=0.8, bad_below=0.5)], max_values=2)
        self._dice = random.Random(seed)
        self.metrics.declare_evaluator(Evaluator(SCORER, VERSION, "llm", "m", "context_precision/ap", STAGES))
        self.metrics.declare_judge("llm", "m")
        self.metrics.declare_sink("otlp")
        self.metrics.split_traces(0)
        self.metrics.service(SERVICE)
        for source in ("kafka", "otlp_grpc"):
            self.metrics.intake(source)
        for stage in STAGES:
            self._add(stage, Sums())

    def run(self) -> None:
        """Traffic, trouble, and all gauges."""
        for number in range(200):
            self._trace(number)
        self._trouble()
        self._gauges()

    def _trace(self, number: int) -> None:
        score = self._dice.choice([0.0, 0.25, 0.5, 0.8333, 1.0])
        runs = [WeightedScore(1.0, score, min(1.0, 0.2 + 0.6 * score))]
        self._add("screened", TraceTotals.of(runs).screened)
        self._add("judged", TraceTotals.of(runs).judged)
        self.metrics.evaluated(_evaluation(score, f"{number:032x}"))
        self.metrics.judge_call(JUDGED_BY)
        self.metrics.trace_done(SERVICE, TraceOutcome.SCORED)
        self.metrics.closed(Closed.ROOT_SEEN)
        for source in ("kafka", "otlp_grpc"):
            self.metrics.intake(source).counted("kept", 5)
            self.metrics.intake(source).request("ok")
        self.metrics.sink("otlp", "ok")

    def _trouble(self) -> None:
        for outcome in TraceOutcome:
            self.metrics.trace_done(SERVICE, outcome)
        self.metrics.evaluated(_evaluation(None, "f" * 32))
        self.metrics.judge_call(JUDGED_BY, Reason.JUDGE_UNAVAILABLE)
        self.metrics.split_traces(1)
        for name in ("second", "third", "fourth"):
            self.metrics.service(name)

    def _gauges(self) -> None:
        def gauge(metric: c.Metric, value: float, *labels: str) -> None:
            self.metrics.watch(metric, lambda: value, *labels)

        for metric, value in (
            (c.ALARM_RATIO, 1.5),
            (c.ALARM_STATE, 1.0),
            (c.ALARM_CLIPPED_RATIO, 0.1),
            (c.REFERENCE_RATIO, 0.8),
        ):
            gauge(metric, value, *SERIES)
        gauge(c.ANCHOR_ALARM_RATIO, 0.2, SCORER, VERSION)
        for cell, share, group in zip(CELLS, BASELINE.shares, BASELINE.groups, strict=True):
            gauge(c.BASELINE_SHARE, share, *SERIES, cell, str(group))
        gauge(c.BASELINE_N_EFF, BASELINE.n_eff, *SERIES)
        for point in POINTS:
            gauge(c.DRIFT_FLOOR, chi_square(point, BASELINE.group_count - 1), *SERIES, str(point))
        for window in c.WINDOW.values:
            gauge(c.BUDGET_OPEN, 1.0, window)
            gauge(c.BUDGET_USED, 0.4, window)
        gauge(c.JUDGE_IN_FLIGHT, 3.0, "llm", "m")
        for metric in (c.OPEN_TRACES, c.OPEN_BYTES, c.OLDEST_WAITING, c.OLDEST_UNCOMMITTED, c.KAFKA_LAG, c.SINCE_POLL):
            gauge(metric, 12.0)

    def _add(self, stage: Stage, sums: Sums) -> None:
        terms = sums.terms(stage)
        self.metrics.estimator(*SERIES, stage, terms)
        for value in ("blue", "green"):
            self.metrics.segment_estimator(SERVICE, ("index", value), SCORER, VERSION, stage, terms)


def _evaluation(value: float | None, trace_id: str) -> Evaluation:
    contexts = [] if value is None else [Context("text", document_score=0.7)]
    run = RagRun("q", [Retrieval(contexts)], service=SERVICE, trace_id=trace_id, span_id="ab" * 8)
    reason = Reason.NO_CONTEXTS if value is None else None
    score = Score(SCORER, "context_precision/ap", VERSION, value, unscored=reason, retrieval=0, ratio=value)
    return Evaluation(run, None, [score], TraceOutcome.SCORED, judged_by=JUDGED_BY)
