"""What the metrics page says after what happened."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as classic_families
from prometheus_client.samples import Sample

from otel_ctxscore.config.model import Target
from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, RagRun, Retrieval, Score
from otel_ctxscore.core.outcomes import Closed, Reason, TraceOutcome
from otel_ctxscore.core.stats import CELLS
from otel_ctxscore.telemetry import Evaluator, Metrics
from otel_ctxscore.telemetry import catalogue as c
from otel_ctxscore.telemetry.labels import MAX_EXEMPLAR, MAX_LENGTH, exemplar

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
TRACE, ANCHOR, RETRIEVER = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174", "00f067aa0ba902b7"
PRECISION = Evaluator("context_precision", "v1", "llm", "m1", "context_precision/ap")
JUDGED_BY = JudgedBy("llm", "m1", "v1", calls=1, prompt_tokens=10, completion_tokens=5, cost_usd=0.01, seconds=2)


def evaluation(
    *ratios: float | Reason | None,
    service: str = "shop",
    probability: float = 1.0,
    trace_id: str | None = TRACE,
    version: str = "v1",
    **changed: Any,
) -> Evaluation:
    run = RagRun(
        "q",
        [Retrieval([Context("text")], span_id=RETRIEVER)],
        trace_id=trace_id,
        span_id=ANCHOR,
        service=service,
        probability=probability,
        redelivered=changed.pop("redelivered", False),
    )
    scores = [_score(ratio, version) for ratio in ratios]
    return Evaluation(run, None, scores, TraceOutcome.SCORED, judged_by=JUDGED_BY, **changed)


def _score(ratio: float | Reason | None, version: str) -> Score:
    unscored = ratio if isinstance(ratio, Reason) else None
    value = ratio if isinstance(ratio, float) else None
    return Score(
        "context_precision", "context_precision/ap", version, value, unscored=unscored, retrieval=0, ratio=value
    )


async def families(metrics: Metrics) -> dict[str, Family]:
    body, _ = await metrics.render(OPENMETRICS)
    return {family.name: family for family in text_string_to_metric_families(body.decode())}  # type: ignore[no-untyped-call]


async def samples(metrics: Metrics, name: str, **labels: str) -> list[Sample]:
    found: Iterator[Sample] = (s for family in (await families(metrics)).values() for s in family.samples)
    return [s for s in found if s.name == f"ctxscore_{name}" and labels.items() <= s.labels.items()]


async def value(metrics: Metrics, name: str, **labels: str) -> float:
    return sum(sample.value for sample in await samples(metrics, name, **labels))


async def test_a_score_is_a_histogram_with_an_exemplar_of_the_judged_span() -> None:
    metrics = Metrics(["context_precision"])
    metrics.evaluated(evaluation(0.35))
    (bucket,) = await samples(metrics, "score_bucket", le="0.4")
    assert bucket.exemplar is not None
    assert (bucket.value, bucket.exemplar.labels) == (1, {"trace_id": TRACE, "span_id": RETRIEVER})
    labels = {"service": "shop", "scorer": "context_precision", "tier": "llm", "version": "v1"}
    assert [s.value for s in await samples(metrics, "score_sum", **labels)] == [0.35]
    edges = [s.labels["le"] for s in await samples(metrics, "score_bucket")]
    assert edges == [*(f"{tenth / 10:.1f}" for tenth in range(11)), "+Inf"]


async def test_failed_judgements_leave_the_mean_alone_and_are_counted() -> None:
    metrics = Metrics(["context_precision"])
    for _ in range(9):
        metrics.evaluated(evaluation(Reason.JUDGE_UNREADABLE))
    metrics.evaluated(evaluation(1.0))
    assert (await value(metrics, "score_count"), await value(metrics, "score_sum")) == (1, 1)
    assert await value(metrics, "unscored_total", reason="judge_unreadable") == 9
    body, _ = await metrics.render(OPENMETRICS)
    assert b"nan" not in body.lower()


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf, -0.1, 1.1])
async def test_a_score_that_is_no_ratio_is_our_fault_and_enters_no_sum(
    broken: float, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = Metrics(["context_precision"])
    metrics.evaluated(evaluation(broken, 0.5))
    assert await value(metrics, "score_sum") == 0.5
    assert await value(metrics, "unscored_total", reason="internal_error") == 1
    assert "no number in 0..1" in caplog.text


async def test_a_scorer_that_gives_no_ratio_is_read_through_its_scale() -> None:
    metrics = Metrics()
    score = Score("mine", "mine/x", "v", 40.0, scale=100)
    metrics.evaluated(Evaluation(RagRun("q", [Retrieval([Context("t")])]), None, [score], TraceOutcome.SCORED))
    assert await value(metrics, "score_sum", scorer="mine", tier="custom") == 0.4


@pytest.mark.parametrize("again", [{"redelivered": True}, {"revision": 1}, {"backfill": True}])
async def test_a_repeated_evaluation_enters_no_sum(again: dict[str, Any]) -> None:
    metrics = Metrics(["context_precision"])
    metrics.evaluated(evaluation(0.5, Reason.UNRANKED, **again))
    assert await value(metrics, "score_count") == 0
    assert await value(metrics, "unscored_total") == 0


@pytest.mark.trouble("C66")
async def test_closed_sets_are_there_before_anything_happens() -> None:
    metrics = Metrics(["context_precision", "context_relevance"])
    metrics.declare_evaluator(PRECISION)
    metrics.declare_judge("llm", "m1")
    metrics.declare_sink("otlp")
    metrics.intake("kafka")
    metrics.service("shop")
    for name, labels in [
        ("judge_calls_total", len(Reason) + 3),
        ("closed_traces_total", len(Closed)),
        ("spans_total", 6),
        ("requests_total", len(c.REQUEST_RESULT.values)),
        ("evaluations_total", 3),
        ("traces_total", len(TraceOutcome)),
        ("unscored_total", 2 * len(Reason)),
        ("retrievals_total", 2),
        ("score_weight_total", 12),
        ("score_count", 1),
        ("evaluator_info", 1),
        ("estimator_sum_total", 0),
    ]:
        found = await samples(metrics, name)
        assert len(found) == labels, name
        assert all(s.value == (1 if name == "evaluator_info" else 0) for s in found), name


@pytest.mark.trouble("C66")
async def test_the_first_failure_of_a_judge_is_an_increase_of_one() -> None:
    metrics = Metrics()
    metrics.declare_judge("llm", "m1")
    before = await value(metrics, "judge_calls_total", result="judge_unavailable")
    metrics.judge_call(JUDGED_BY, Reason.JUDGE_UNAVAILABLE)
    after = await value(metrics, "judge_calls_total", result="judge_unavailable")
    assert (before, after) == (0, 1)
    assert len(await samples(metrics, "judge_calls_total", result="judge_unavailable")) == 1


@pytest.mark.parametrize(
    ("judged_by", "failure", "result"),
    [
        (JUDGED_BY, None, "ok"),
        (JudgedBy("llm", "m1", "v1", repaired=True), None, "repaired"),
        (JudgedBy("llm", "m1", "v1", cached=True), None, "cached"),
        (JudgedBy("llm", "m1", "v1", repaired=True), Reason.JUDGE_INCOMPLETE, "judge_incomplete"),
    ],
)
async def test_judge_calls_by_result(judged_by: JudgedBy, failure: Reason | None, result: str) -> None:
    metrics = Metrics()
    metrics.judge_call(judged_by, failure)
    assert [s.labels["result"] for s in await samples(metrics, "judge_calls_total") if s.value] == [result]


async def test_judge_calls_add_tokens_price_and_time() -> None:
    metrics = Metrics()
    metrics.judge_call(JUDGED_BY)
    metrics.judge_call(JudgedBy("llm", "m1", "v1", prompt_tokens=1))
    assert await value(metrics, "judge_tokens_total", kind="prompt") == 11
    assert await value(metrics, "judge_tokens_total", kind="completion") == 5
    assert await value(metrics, "judge_cost_usd_total") == 0.01
    assert await value(metrics, "judge_duration_seconds_sum") == 2


@given(st.lists(st.one_of(st.floats(0, 1), st.sampled_from([tenth / 10 for tenth in range(11)])), min_size=1))
@settings(deadline=None)
async def test_cells_hold_what_the_histograms_buckets_hold(scores: list[float]) -> None:
    metrics = Metrics()
    for score in scores:
        metrics.evaluated(evaluation(score))
    cells = [await value(metrics, "score_weight_total", bucket=name) for name in CELLS]
    buckets = [s.value for s in await samples(metrics, "score_bucket") if s.labels["le"] != "+Inf"]
    *inner, below_one, one = accumulate(cells)
    assert [*inner, one] == buckets
    assert below_one == sum(score < 1 for score in scores)


async def test_weights_are_inverse_probabilities_and_bad_ones_are_summed() -> None:
    metrics = Metrics(targets=[Target(service="shop", target=0.8, bad_below=0.5)])
    for score, probability in [(0.0, 0.25), (0.5, 1.0), (0.49, 0.5)]:
        metrics.evaluated(evaluation(score, probability=probability))
    metrics.evaluated(evaluation(0.0, service="without target"))
    assert await value(metrics, "score_weight_total", bucket="0", service="shop") == 4
    assert await value(metrics, "score_weight_total", service="shop") == 7
    assert [(s.labels["service"], s.value) for s in await samples(metrics, "bad_weight_total")] == [("shop", 6)]


async def test_a_target_of_a_service_wins_over_that_of_all_and_the_first_over_a_later_one() -> None:
    targets = [Target(target=0.7), Target(service="shop", target=0.9), Target(target=0.1), Target(scorer="other")]
    metrics = Metrics(targets=targets)
    for service in ["shop", "docs"]:
        metrics.evaluated(evaluation(0.5, service=service))
    found = {s.labels["service"]: s.value for s in await samples(metrics, "target_ratio")}
    assert found == {"shop": 0.9, "docs": 0.7}


async def test_estimator_sums_begin_at_zero_and_add_terms() -> None:
    metrics = Metrics()
    metrics.declare_evaluator(Evaluator("context_precision", "v1", "llm", "m1", "d", stages=("screened", "judged")))
    metrics.service("shop")
    assert [s.value for s in await samples(metrics, "estimator_sum_total")] == [0] * 16
    metrics.estimator("shop", "context_precision", "v1", "judged", {"n": 1, "w": 2.5, "wy": 2})
    assert await value(metrics, "estimator_sum_total", stage="judged", term="w") == 2.5
    assert len(await samples(metrics, "estimator_sum_total")) == 16
    metrics.segment_estimator("shop", ("index", "a"), "context_precision", "v1", "screened", {"n": 1})
    assert await value(metrics, "segment_estimator_sum_total", segment="index", value="a", term="n") == 1


@pytest.mark.trouble("C28")
async def test_services_beyond_the_cap_are_folded_and_nothing_is_lost() -> None:
    metrics = Metrics(["context_precision"], max_values=50)
    long = "x" * 300
    for number in range(500):
        service = f"{long}{number:04}" if number % 10 == 0 else f"svc-{number:04}"
        metrics.trace_done(service, TraceOutcome.SCORED)
    assert await value(metrics, "traces_total", outcome="scored") == 500
    found = {s.labels["service"] for s in await samples(metrics, "traces_total")}
    assert len(found) == 51
    assert max(map(len, found)) == MAX_LENGTH
    assert await value(metrics, "traces_total", service="other") == 450
    assert await value(metrics, "label_values_dropped_total", label="service") == 450


async def test_label_values_from_outside_cannot_break_the_page() -> None:
    metrics = Metrics()
    for name in ['a"b\\c\nd', "nul\0", "lone \ud83d surrogate", "", "検索"]:
        metrics.evaluated(evaluation(0.5, service=name))
    found = {s.labels["service"] for s in await samples(metrics, "score_count")}
    assert found == {'a"b\\c\ufffdd', "nul\ufffd", "lone \ufffd surrogate", "", "検索"}


@pytest.mark.trouble("C18")
def test_exemplars_keep_what_fits_and_always_the_trace(cases: dict[str, Any]) -> None:
    for case in cases["C18"]["input"]["cases"]:
        fitting = exemplar(case["exemplar"])
        assert fitting is not None
        assert fitting["trace_id"] == case["exemplar"]["trace_id"]
        assert sum(len(k) + len(v) for k, v in fitting.items()) <= MAX_EXEMPLAR
        assert (fitting == case["exemplar"]) == (case["chars"] <= MAX_EXEMPLAR)


@pytest.mark.parametrize("trace_id", [None, "x" * 200])
async def test_an_exemplar_that_cannot_be_is_left_out_and_the_score_counted_once(trace_id: str | None) -> None:
    metrics = Metrics()
    metrics.evaluated(evaluation(0.5, trace_id=trace_id))
    assert await value(metrics, "score_count") == 1


async def test_two_versions_are_two_series_and_both_are_explained() -> None:
    metrics = Metrics()
    metrics.declare_evaluator(PRECISION)
    metrics.evaluated(evaluation(0.5))
    metrics.evaluated(evaluation(0.9, version="v2"))
    assert {s.labels["version"] for s in await samples(metrics, "score_count")} == {"v1", "v2"}
    info = {s.labels["version"]: s.labels["model"] for s in await samples(metrics, "evaluator_info")}
    assert info == {"v1": "m1", "v2": "m1"}


async def test_gauges_are_read_at_the_scrape_and_a_broken_one_is_left_out() -> None:
    metrics = Metrics()
    metrics.watch(c.OPEN_TRACES, lambda: 3)
    metrics.watch(c.KAFKA_LAG, lambda: None)
    metrics.watch(c.OPEN_BYTES, lambda: 1 // 0)
    metrics.watch(c.JUDGE_IN_FLIGHT, lambda: 2, "llm", "m1")
    metrics.watch(c.ALARM_RATIO, lambda: 0.5, "shop", "context_precision", "v1")
    assert await value(metrics, "open_traces") == 3
    assert await value(metrics, "judge_in_flight", tier="llm", model="m1") == 2
    assert await value(metrics, "alarm_ratio", service="shop") == 0.5
    assert {"ctxscore_kafka_lag_records", "ctxscore_open_bytes"}.isdisjoint(await families(metrics))


async def test_sources_sinks_and_closings_are_counted() -> None:
    metrics = Metrics()
    intake = metrics.intake("otlp_grpc")
    intake.counted("kept", 7)
    intake.counted("own")
    intake.request("ok")
    metrics.sink("otlp", "failed")
    metrics.closed(Closed.IDLE)
    assert metrics.total(c.SPANS, "result")["kept"] == 7
    assert metrics.total(c.CLOSED_TRACES, "closed")["idle"] == 1
    metrics.intake("otlp_http").counted("kept", 5)
    assert metrics.total(c.SPANS, "result", source="otlp_http")["kept"] == 5
    assert metrics.total(c.SPANS, "result")["kept"] == 12
    assert await value(metrics, "requests_total", source="otlp_grpc") == 1
    assert await value(metrics, "evaluations_total", sink="otlp", result="failed") == 1


async def test_a_trace_without_a_run_is_unscored_for_every_scorer() -> None:
    metrics = Metrics(["context_precision", "context_relevance"])
    metrics.refused("shop", Reason.NO_CONTENT)
    counted = {s.labels["scorer"]: s.value for s in await samples(metrics, "unscored_total", reason="no_content")}
    assert counted == {"context_precision": 1, "context_relevance": 1}


@pytest.mark.parametrize("accept", ["", "text/plain", "*/*", "text/html,application/xhtml+xml"])
async def test_without_openmetrics_it_is_the_classic_text(accept: str) -> None:
    metrics = Metrics()
    metrics.evaluated(evaluation(0.5))
    body, content_type = await metrics.render(accept)
    assert content_type.startswith("text/plain")
    assert "ctxscore_score" in {family.name for family in classic_families(body.decode())}
    assert b"trace_id" not in body


async def test_two_services_in_one_process_do_not_share_counters() -> None:
    one, other = Metrics(), Metrics()
    one.trace_done("shop", TraceOutcome.SCORED)
    assert await value(one, "traces_total") == 1
    assert await samples(other, "traces_total") == []


async def test_every_family_and_label_is_in_the_catalogue_and_used_as_declared(every_event: Metrics) -> None:
    declared = {metric.full_name.removesuffix("_total").removesuffix("_info"): metric for metric in c.CATALOGUE}
    found = {k: f for k, f in (await families(every_event)).items() if k.startswith(c.PREFIX)}
    for name, family in found.items():
        assert family.type == declared[name].kind
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == set(declared[name].label_names)
            for label in declared[name].labels:
                assert not label.values or sample.labels[label.name] in label.values


async def test_what_was_retrieved_is_measured_whatever_it_scored() -> None:
    metrics = Metrics(["context_precision"])
    contexts = [Context("ten chars.", document_score=0.42), Context("x" * 60, document_score=math.nan), Context("")]
    run = RagRun("q", [Retrieval(contexts), Retrieval([])], service="shop")
    metrics.evaluated(Evaluation(run, None, [], TraceOutcome.UNSCORED))
    names = ("contexts_sum", "context_characters_count", "context_characters_sum", "document_score_sum")
    assert [await value(metrics, name, service="shop") for name in names] == [3, 3, 70, 0.42]


async def test_other_targets_count_from_now_on() -> None:
    metrics = Metrics(["context_precision"], targets=[Target(target=0.8, bad_below=0.5)])
    metrics.evaluated(evaluation(0.6))
    assert await value(metrics, "target_ratio") == 0.8
    metrics.retarget([Target(target=0.9, bad_below=0.7)])
    metrics.evaluated(evaluation(0.6))
    assert (await value(metrics, "target_ratio"), await value(metrics, "bad_weight_total")) == (0.9, 1)
    metrics.retarget([])
    metrics.evaluated(evaluation(0.6))
    assert await samples(metrics, "target_ratio") == []
    assert await value(metrics, "bad_weight_total") == 1


def test_a_series_beyond_a_cap_is_none() -> None:
    metrics = Metrics(max_values=1)
    assert metrics.series("shop", "p", "v1") == ("shop", "p", "v1")
    assert metrics.series("docs", "p", "v1") is None
    assert metrics.series("shop", "p", "v2") is None


@pytest.fixture
def every_event() -> Metrics:
    metrics = Metrics(["context_precision"], targets=[Target()])
    metrics.declare_judge("llm", "m1")
    metrics.declare_sink("otlp")
    metrics.intake("file")
    metrics.evaluated(evaluation(0.5, Reason.UNRANKED))
    metrics.judge_call(JUDGED_BY)
    metrics.estimator("shop", "context_precision", "v1", "judged", {"n": 1})
    for metric in c.CATALOGUE:
        if metric.kind == "gauge" and metric is not c.TARGET_RATIO:
            metrics.watch(metric, lambda: 1, *(label.values[0] if label.values else "x" for label in metric.labels))
    return metrics


@pytest.fixture
def cases() -> dict[str, Any]:
    path = Path(__file__).parent / "cases.jsonl"
    rows: Sequence[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["id"]: row for row in rows}


@pytest.mark.parametrize(
    ("refused", "result"),
    [(Reason.NO_CONTEXTS, "empty"), (Reason.REDACTED, "some"), (Reason.NO_CONTENT, "some"), (None, "empty")],
)
async def test_only_a_list_that_found_nothing_is_empty(refused: Reason | None, result: str) -> None:
    metrics = Metrics(["context_precision"])
    run = RagRun("q", [Retrieval((), refused=refused)], service="shop")
    metrics.evaluated(Evaluation(run, None, (), TraceOutcome.UNSCORED, refused))
    assert await value(metrics, "retrievals_total", result=result) == 1
