"""Every metric of the service, declared once: name, kind, meaning, unit, labels, buckets.

The registry, the zero-initialised series, `docs/metrics.md` and the checks of dashboards and rules come from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from otel_ctxscore.core.outcomes import Closed, Reason, TraceOutcome
from otel_ctxscore.core.stats import CELLS, JUDGED_TERMS, TERMS
from otel_ctxscore.core.stats.drift import EDGES, POINTS

PREFIX = "ctxscore_"


@dataclass(frozen=True, slots=True)
class Label:
    """A label. `values` is its closed set, empty where there is none. The values of a capped label come from
    traffic or from outside: their number and length are limited (`labels.Cap`)."""

    name: str
    help: str
    values: tuple[str, ...] = ()
    capped: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. `name` is without the prefix and as it is scraped: counters end in `_total`, infos in `_info`."""

    name: str
    kind: Literal["counter", "gauge", "histogram", "info"]
    help: str
    labels: tuple[Label, ...] = ()
    unit: str = ""
    buckets: tuple[float, ...] = ()

    @property
    def full_name(self) -> str:
        return PREFIX + self.name

    @property
    def label_names(self) -> tuple[str, ...]:
        return tuple(label.name for label in self.labels)


SERVICE = Label("service", "`service.name` of the judged run", capped=True)
SCORER = Label("scorer", "name of the scorer")
TIER = Label("tier", "who judged", ("local", "llm", "cross_encoder", "custom"))
VERSION = Label("version", "hash of all that makes two scores comparable; `evaluator_info` resolves it", capped=True)
MODEL = Label("model", "model that answered", capped=True)
DEFINITION = Label("definition", "formula of the scorer")
BUCKET = Label("bucket", "cell of the score", CELLS)
STAGE = Label("stage", "group of traces the sum is over", tuple(TERMS))
TERM = Label("term", "term of the estimator", JUDGED_TERMS)
SEGMENT = Label("segment", "name from `segments` of the configuration")
VALUE = Label("value", "value of the segment", capped=True)
OUTCOME = Label("outcome", "what became of the trace", tuple(TraceOutcome))
REASON = Label("reason", "why there is no score", tuple(Reason))
RETRIEVED = Label("result", "whether the list held anything", ("some", "empty"))
JUDGE_RESULT = Label("result", "what the call gave, or why not", ("ok", "repaired", "cached", *Reason))
TOKEN_KIND = Label("kind", "side of the call", ("prompt", "completion"))
SOURCE = Label("source", "where spans come from")
SPAN_RESULT = Label(
    "result", "what intake did with the span", ("kept", "sampled_out", "late", "duplicate", "invalid", "own")
)
REQUEST_RESULT = Label(
    "result",
    "what became of the request or record",
    ("ok", "partial", "full", "too_large", "too_slow", "malformed", "unsupported", "unauthenticated"),
)
CAUSE = Label("cause", "why it connects anew", ("fault", "token"))
CLOSED = Label("closed", "why the assembler closed the trace", tuple(Closed))
SINK = Label("sink", "where evaluations go")
SINK_RESULT = Label("result", "what became of the evaluation there", ("ok", "failed", "dropped"))
LABEL = Label("label", "label whose cap was reached", ("service", "version", "model", "value"))
WINDOW = Label("window", "span of time of the budget", ("minute", "day"))
GROUP = Label("group", "group of neighbouring cells that drift is measured over")
LEVEL = Label("level", "point of the noise floor", tuple(map(str, POINTS)))

_SERIES = (SERVICE, SCORER, VERSION)

SCORE = Metric(
    "score",
    "histogram",
    "Scores of judged runs, 0 to 1 before scale and rounding, unweighted, each run once",
    (SERVICE, SCORER, TIER, VERSION),
    buckets=(0.0, *EDGES, 1.0),
)
SCORE_WEIGHT = Metric(
    "score_weight_total",
    "counter",
    "Weight (inverse inclusion probability) of the scores in each cell",
    (*_SERIES, BUCKET),
)
BAD_WEIGHT = Metric(
    "bad_weight_total", "counter", "Weight of the scores below `bad_below` of the service's target", _SERIES
)
ESTIMATOR = Metric(
    "estimator_sum_total",
    "counter",
    "Sums over traces from which weighted and prediction-powered means and their intervals follow",
    (*_SERIES, STAGE, TERM),
)
SEGMENT_ESTIMATOR = Metric(
    "segment_estimator_sum_total",
    "counter",
    "The same sums within one segment; totals of a service are not sums of its segments",
    (SERVICE, SEGMENT, VALUE, SCORER, VERSION, STAGE, TERM),
)
EVALUATOR = Metric("evaluator_info", "info", "What a version stands for, 1", (VERSION, SCORER, TIER, MODEL, DEFINITION))
TRACES = Metric("traces_total", "counter", "Traces by what became of them", (SERVICE, OUTCOME))
UNSCORED = Metric(
    "unscored_total", "counter", "Runs, or retrievals, that a scorer gave no value", (SERVICE, SCORER, REASON)
)
RETRIEVALS = Metric("retrievals_total", "counter", "Retrievals read in traces", (SERVICE, RETRIEVED))
CONTEXTS = Metric(
    "contexts",
    "histogram",
    "Distinct contexts of a run",
    (SERVICE,),
    buckets=(0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100),
)
CONTEXT_CHARACTERS = Metric(
    "context_characters",
    "histogram",
    "Length of each distinct context",
    (SERVICE,),
    "characters",
    (0, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
)
DOCUMENT_SCORE = Metric(
    "document_score",
    "histogram",
    "Score that the retriever gave each context, where it gave one, on the scale of the retriever",
    (SERVICE,),
    buckets=(0, *(tenth / 10 for tenth in range(1, 11)), 2, 5, 10, 20, 50, 100),
)
ALARM_RATIO = Metric(
    "alarm_ratio", "gauge", "Evidence of the alarm over its threshold; 1 is an alarm", _SERIES, "ratio"
)
ALARM_STATE = Metric("alarm_state", "gauge", "0 quiet, 1 alarm, -1 no reference yet", _SERIES)
ALARM_CLIPPED_RATIO = Metric(
    "alarm_clipped_ratio",
    "gauge",
    "Share of traces whose weight the alarm cut, since its state is new",
    _SERIES,
    "ratio",
)
REFERENCE_RATIO = Metric("reference_ratio", "gauge", "Mean the alarm compares with", _SERIES, "ratio")
TARGET_RATIO = Metric("target_ratio", "gauge", "Mean that is to be kept", _SERIES, "ratio")
ANCHOR_ALARM_RATIO = Metric(
    "anchor_alarm_ratio", "gauge", "Evidence over threshold that the judge itself drifts", (SCORER, VERSION), "ratio"
)
BASELINE_SHARE = Metric(
    "baseline_share", "gauge", "Share of weight in each cell of the pinned baseline", (*_SERIES, BUCKET, GROUP)
)
BASELINE_N_EFF = Metric("baseline_n_eff", "gauge", "Effective number of runs in the pinned baseline", _SERIES)
DRIFT_FLOOR = Metric(
    "drift_floor",
    "gauge",
    "Chi-square point of the level; times (1/n_eff + 1/baseline_n_eff) the PSI that noise alone passes so rarely",
    (*_SERIES, LEVEL),
)
JUDGE_CALLS = Metric("judge_calls_total", "counter", "Judgements asked for", (TIER, MODEL, JUDGE_RESULT))
JUDGE_TOKENS = Metric("judge_tokens_total", "counter", "Tokens of judge calls", (TIER, MODEL, TOKEN_KIND))
JUDGE_COST = Metric("judge_cost_usd_total", "counter", "Price of judge calls where it is known", (TIER, MODEL))
JUDGE_DURATION = Metric(
    "judge_duration_seconds",
    "histogram",
    "Time a judgement took, over all its calls",
    (TIER, MODEL),
    "seconds",
    (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120),
)
JUDGE_IN_FLIGHT = Metric("judge_in_flight", "gauge", "Judgements under way", (TIER, MODEL))
BUDGET_OPEN = Metric(
    "budget_open",
    "gauge",
    "1 while the fuse of the budget lets judge calls through; 0 for at least a minute after it blew: scrapes see it",
    (WINDOW,),
)
BUDGET_USED = Metric("budget_used_ratio", "gauge", "Share of the budget that is spent", (WINDOW,), "ratio")
REQUESTS = Metric("requests_total", "counter", "Export requests or records read", (SOURCE, REQUEST_RESULT))
SPANS = Metric("spans_total", "counter", "Spans by what intake did with them", (SOURCE, SPAN_RESULT))
OPEN_TRACES = Metric("open_traces", "gauge", "Traces that wait for more spans")
OPEN_BYTES = Metric("open_bytes", "gauge", "Memory of traces that wait for more spans", unit="bytes")
CLOSED_TRACES = Metric("closed_traces_total", "counter", "Traces closed by the assembler", (CLOSED,))
OLDEST_WAITING = Metric(
    "oldest_waiting_seconds", "gauge", "Age of the oldest run that waits for judge or sink", unit="seconds"
)
KAFKA_LAG = Metric("kafka_lag_records", "gauge", "Records behind the end of the assigned partitions", unit="records")
KAFKA_PARTITIONS = Metric("kafka_assigned_partitions", "gauge", "Partitions that this replica reads")
OLDEST_UNCOMMITTED = Metric(
    "kafka_oldest_uncommitted_seconds",
    "gauge",
    "Age of the oldest record that is read and not done with; capped by `max_uncommitted_age`",
    unit="seconds",
)
SPLIT_TRACES = Metric(
    "split_traces_total", "counter", "Traces whose spans came on several partitions: replicas see a part of them"
)
KAFKA_RECONNECTS = Metric(
    "kafka_reconnects_total",
    "counter",
    "Times the Kafka consumer was given up and connected anew, or renewed its OAuth token",
    (CAUSE,),
)
SINCE_POLL = Metric("seconds_since_poll", "gauge", "Time since the consumer last read")
EVALUATIONS = Metric(
    "evaluations_total", "counter", "Evaluations by what became of them at a sink", (SINK, SINK_RESULT)
)
DROPPED_VALUES = Metric(
    "label_values_dropped_total", "counter", "Times a label value beyond its cap was counted as `other`", (LABEL,)
)

CATALOGUE: tuple[Metric, ...] = tuple(value for value in list(vars().values()) if isinstance(value, Metric))
"""All of the above, in that order."""
