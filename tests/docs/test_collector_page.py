"""The settings of docs/collector.md, as they stand there, in real Collectors that are sent real evaluations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.emitting import emit, judged
from tests.otlp import rag, request
from tests.pages import blocks
from tests.services import http
from tests.services.fixtures import StartCollector
from tests.services.otelcol import COLLECTOR, Collector, validate
from tests.services.process import free_endpoint, wait_until
from tests.services.sampling import SAMPLING

OWN_ENTRANCE, FILTERED, SAMPLED = blocks("collector.md", "yaml")
FLUSH = "200ms"
DECISION_WAIT = "2s"
UNCOUNTED = """
connectors: {spanmetrics: {}}
service:
  pipelines:
    traces: {receivers: [otlp], exporters: [otlp_grpc/store, spanmetrics]}
    metrics: {receivers: [spanmetrics], exporters: [otlp_grpc/metrics]}
"""
ERROR = {"status": {"code": 2}}
SERVICE = "otel-ctxscore"


def placed(text: str, metrics: Path, entrance: str = "") -> dict[str, Any]:
    """A setting with files in place of backends, short times, and a free port in place of its own."""
    named = text.replace("otlp_grpc/store", "file").replace("otlp_grpc/metrics", "file/metrics")
    config: dict[str, Any] = yaml.safe_load(named.replace("0.0.0.0:14317", entrance))
    if "spanmetrics" in config.get("connectors", {}):
        config["connectors"]["spanmetrics"] = {"metrics_flush_interval": FLUSH}
        config["exporters"] = {"file/metrics": {"path": str(metrics), "flush_interval": FLUSH}}
    return config


def calls(metrics: Path) -> dict[tuple[str, str], int]:
    """The latest count of each service and span, as spanmetrics has it."""
    found: dict[tuple[str, str], int] = {}
    for line in metrics.read_text().splitlines(keepends=True) if metrics.exists() else ():
        if line.endswith("\n"):
            found |= dict(_points(json.loads(line)))
    return found


def _points(exported: dict[str, Any]) -> Iterator[tuple[tuple[str, str], int]]:
    scopes = [scope for resource in exported["resourceMetrics"] for scope in resource["scopeMetrics"]]
    for metric in (metric for scope in scopes for metric in scope["metrics"] if metric["name"].endswith("calls")):
        for point in metric["sum"]["dataPoints"]:
            labels = {one["key"]: one["value"]["stringValue"] for one in point["attributes"]}
            yield (labels["service.name"], labels["span.name"]), int(point["asInt"])


def names(collector: Collector) -> set[str]:
    return {span["name"] for span in collector.spans()}


def sent_and_counted(collector: Collector, metrics: Path, entrance: str) -> dict[tuple[str, str], int]:
    """What is counted after evaluations and then further spans of the application were taken."""
    http.post(f"{collector.http}/v1/traces", request(rag(1)))
    emit(judged(1), endpoint=entrance)
    wait_until(lambda: "evaluation context_precision" in names(collector), 20, "the evaluation in the store")
    http.post(f"{collector.http}/v1/traces", request(rag(2)))
    return wait_until(
        lambda: found if (found := calls(metrics)).get(("shop", "span 1")) == 2 else None, 20, "two calls of span 1"
    )


APPLICATION = {("shop", "span 1"): 2, ("shop", "span 2"): 2}


def test_by_an_entrance_of_their_own_evaluations_are_not_counted(
    start_collector: StartCollector, tmp_path: Path
) -> None:
    metrics, entrance = tmp_path / "metrics.jsonl", free_endpoint()
    collector = start_collector(placed(OWN_ENTRANCE, metrics, entrance))
    assert sent_and_counted(collector, metrics, entrance) == APPLICATION


def test_behind_the_filter_evaluations_are_not_counted(
    start_sampling_collector: StartCollector, tmp_path: Path
) -> None:
    metrics = tmp_path / "metrics.jsonl"
    collector = start_sampling_collector(placed(FILTERED, metrics))
    assert sent_and_counted(collector, metrics, collector.grpc) == APPLICATION


def test_without_either_they_are_counted_as_calls_of_another_service(
    start_collector: StartCollector, tmp_path: Path
) -> None:
    metrics = tmp_path / "metrics.jsonl"
    collector = start_collector(placed(UNCOUNTED, metrics))
    counted = sent_and_counted(collector, metrics, collector.grpc)
    ours = {(SERVICE, "evaluation context_precision"): 1, (SERVICE, "evaluation context_relevance"): 1}
    assert counted == {**APPLICATION, **ours}


@pytest.fixture
def sampler(start_sampling_collector: StartCollector, tmp_path: Path) -> Collector:
    """The sampler of the page, sooner, and without the share that is kept by chance."""
    text = SAMPLED.replace("60s", DECISION_WAIT).replace("sampling_percentage: 10", "sampling_percentage: 0")
    assert text.count(DECISION_WAIT) == 1
    return start_sampling_collector(placed(text, tmp_path / "none"))


def traces(collector: Collector) -> dict[int, int]:
    """How many spans of each trace came through."""
    found: dict[int, int] = {}
    for span in collector.spans():
        number = int(span["traceId"], 16)
        found[number] = found.get(number, 0) + 1
    return found


def post(collector: Collector, number: int, **fields: object) -> None:
    http.post(f"{collector.http}/v1/traces", request([{**span, **fields} for span in rag(number)]))


def test_a_score_that_is_there_in_time_decides(sampler: Collector) -> None:
    for number, precision in ((1, 0.9), (2, 0.2)):
        post(sampler, number)
        emit(judged(number, precision), endpoint=sampler.grpc)
    post(sampler, 3, **ERROR)
    wait_until(lambda: traces(sampler).keys() >= {2, 3}, 20, "the traces that are kept")
    post(sampler, 4, **ERROR)
    wait_until(lambda: 4 in traces(sampler), 20, "a decision made after all of these")
    assert traces(sampler) == {2: 4, 3: 2, 4: 2}


def test_a_late_one_goes_the_way_of_its_trace(sampler: Collector) -> None:
    post(sampler, 1)
    post(sampler, 2, **ERROR)
    wait_until(lambda: 2 in traces(sampler), 20, "the decision on the last trace")
    emit(judged(1, 0.2), judged(2), endpoint=sampler.grpc)
    wait_until(lambda: traces(sampler)[2] == 4, 20, "the evaluation of the trace that was kept")
    assert traces(sampler) == {2: 4}


def test_one_whose_trace_is_forgotten_is_kept_alone(sampler: Collector) -> None:
    post(sampler, 1)
    emit(judged(2, 0.9), endpoint=sampler.grpc)
    wait_until(lambda: traces(sampler).get(2) == 2, 20, "an evaluation alone")
    assert traces(sampler) == {2: 2}


@pytest.mark.parametrize(
    ("text", "artefact"), [(OWN_ENTRANCE, COLLECTOR), (FILTERED, SAMPLING), (SAMPLED, SAMPLING)], ids="123"
)
def test_the_collector_finds_each_setting_valid(
    text: str, artefact: Any, start_sampling_collector: StartCollector, start_collector: StartCollector, tmp_path: Path
) -> None:
    file = Collector(tmp_path / "collector", placed(text, tmp_path / "metrics", free_endpoint())).write_config()
    checked = validate(file, artefact)
    assert checked.ok, checked.output
