"""A real Jaeger shows evaluations in the trace of the application, also those that come minutes after it."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

from otel_ctxscore.io.results import identity, targets
from tests.emitting import LATER_NS, RETRIEVER, ROOT, emit, judged
from tests.otlp import rag, request
from tests.services import http
from tests.services.fixtures import StartCollector
from tests.services.jaeger import Jaeger
from tests.services.process import wait_until
from tests.serving import Serving
from tests.test_end_to_end import ask

_numbers = itertools.count(0x7AE6E4)


def traced(jaeger: Jaeger) -> int:
    """The number of a trace of an application that Jaeger has and shows: all that comes from now on comes late."""
    number = next(_numbers)
    http.post(f"{jaeger.http}/v1/traces", request(rag(number)))
    jaeger.trace(f"{number:032x}", spans=2)
    return number


def evaluations(trace: dict[str, Any]) -> list[dict[str, Any]]:
    found = [span for span in trace["spans"] if tags(span).get("gen_ai.operation.name") == "evaluation"]
    assert {trace["processes"][span["processID"]]["serviceName"] for span in found} <= {"otel-ctxscore"}
    return found


def tags(span: dict[str, Any]) -> dict[str, Any]:
    return {tag["key"]: tag["value"] for tag in span["tags"]}


def results(span: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The attributes of its result events, by scorer."""
    logs = [{field["key"]: field["value"] for field in log["fields"]} for log in span["logs"]]
    assert {log["event"] for log in logs} == {"gen_ai.evaluation.result"}
    return {log["gen_ai.evaluation.name"]: log for log in logs}


def references(span: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["refType"], one["traceID"], one["spanID"]) for one in span["references"]]


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_a_child_that_comes_late_stands_below_the_span_that_was_judged(jaeger: Jaeger, protocol: str) -> None:
    number = traced(jaeger)
    emit(
        judged(number),
        endpoint=jaeger.grpc if protocol == "grpc" else jaeger.http.removeprefix("http://"),
        protocol=protocol,
    )
    trace = jaeger.trace(f"{number:032x}", spans=4)
    known = trace["traceID"]
    below = {references(span)[0][2]: span for span in evaluations(trace)}
    assert {parent: references(span) for parent, span in below.items()} == {
        RETRIEVER: [("CHILD_OF", known, RETRIEVER)],
        ROOT: [("CHILD_OF", known, ROOT)],
    }
    assert results(below[RETRIEVER])["context_precision"]["gen_ai.evaluation.score.value"] == 1
    relevance = results(below[ROOT])["context_relevance"]
    assert (relevance["error.type"], "gen_ai.evaluation.score.value" in relevance) == ("no_response", False)
    assert tags(below[RETRIEVER])["ctxscore.verdict.0.document_id"] == "doc-a"
    # Jaeger's correction of clocks is off unless it is asked for: it leaves the times, and says so.
    assert {(span["startTime"], span["duration"]) for span in below.values()} == {(LATER_NS // 1000, 500_000)}
    assert all("not applying" in warning for span in below.values() for warning in span["warnings"] or ["none"])


def test_the_parent_and_the_link_are_both_in_the_otlp_that_jaeger_gives(jaeger: Jaeger) -> None:
    number = traced(jaeger)
    emit(judged(number), endpoint=jaeger.grpc)
    jaeger.trace(f"{number:032x}", spans=4)
    found = http.get_json(f"{jaeger.query}/api/v3/traces/{number:032x}")["result"]["resourceSpans"]
    spans = [span for resource in found for scope in resource["scopeSpans"] for span in scope["spans"]]
    ours = [span for span in spans if span["name"].startswith("evaluation ")]
    assert {span["parentSpanId"] for span in ours} == {RETRIEVER, ROOT}
    for span in ours:
        (link,) = span["links"]
        assert (link["traceId"], link["spanId"]) == (span["traceId"], span["parentSpanId"])


def test_a_repeat_has_the_same_ids(jaeger: Jaeger) -> None:
    number = traced(jaeger)
    for _ in range(2):
        emit(judged(number), endpoint=jaeger.grpc)
    trace = jaeger.trace(f"{number:032x}", spans=4)
    wanted = {f"{identity(judged(number), target, 8):016x}" for target in targets(judged(number))}
    assert {span["spanID"] for span in evaluations(trace)} == wanted


def test_a_linked_one_begins_a_trace_of_its_own_that_refers_to_the_judged_span(jaeger: Jaeger) -> None:
    number = traced(jaeger)
    emit(judged(number), endpoint=jaeger.grpc, placement="linked")
    application = jaeger.trace(f"{number:032x}", spans=2)
    linked = [jaeger.trace(f"{identity(judged(number), target, 16):032x}") for target in targets(judged(number))]
    assert evaluations(application) == []
    found = {references(span)[0] for trace in linked for span in evaluations(trace)}
    assert found == {("FOLLOWS_FROM", application["traceID"], span) for span in (RETRIEVER, ROOT)}


def test_a_log_event_leaves_the_trace_alone_and_bears_its_ids(jaeger: Jaeger, start_collector: StartCollector) -> None:
    number = traced(jaeger)
    logs = {"logs": {"receivers": ["otlp"], "exporters": ["file"]}}
    collector = start_collector({"service": {"pipelines": logs}})
    emit(judged(number), endpoint=collector.grpc, placement="log")
    requests = wait_until(collector.requests, 20, "log events")
    resources = [part for one in requests for part in one["resourceLogs"]]
    records = [record for part in resources for scope in part["scopeLogs"] for record in scope["logRecords"]]
    assert {record["eventName"] for record in records} == {"gen_ai.evaluation.result"}
    assert {(record["traceId"], record["spanId"]) for record in records} == {
        (f"{number:032x}", RETRIEVER),
        (f"{number:032x}", ROOT),
    }
    assert len(jaeger.trace(f"{number:032x}", spans=2)["spans"]) == 2


def test_from_the_application_through_the_collector_to_jaeger_and_round_no_second_time(
    jaeger: Jaeger, start_collector: StartCollector, tmp_path: Path
) -> None:
    """The Collector sends all that it gets to Jaeger and to the service, and the service sends evaluations to it."""
    service = Serving(tmp_path / "service", {})
    exporters = {
        "otlp_grpc/ctxscore": {"endpoint": service.grpc, "tls": {"insecure": True}},
        "otlp_grpc/jaeger": {"endpoint": jaeger.grpc, "tls": {"insecure": True}},
    }
    pipelines = {"traces": {"receivers": ["otlp"], "exporters": [*exporters, "file"]}}
    collector = start_collector({"exporters": exporters, "service": {"pipelines": pipelines}})
    service.config["sinks"] = {"otlp": {"endpoint": f"http://{collector.grpc}"}}
    with service:
        ask(OTLPSpanExporter(endpoint=collector.grpc, insecure=True))
        spans = wait_until(lambda: ours(collector.spans()) and collector.spans(), 30, "an evaluation")
        known = ours(spans)[0]["traceId"]
        of_the_application = len(spans) - len(ours(spans))
        trace = jaeger.trace(known, spans=len(spans))
        (found,) = evaluations(trace)
        (judged,) = [span for span in trace["spans"] if span["spanID"] == references(found)[0][2]]
        assert tags(judged)["openinference.span.kind"] == "RETRIEVER"
        assert trace["processes"][judged["processID"]]["serviceName"] == "langchain-app"
        assert results(found)["context_precision"]["gen_ai.evaluation.score.value"] == 1
        dropped = 'ctxscore_spans_total{result="own",source="otlp_grpc"} 1.0'
        wait_until(lambda: dropped in service.get("/metrics") or None, 20, "own spans that are dropped")
    after = collector.spans()
    assert (len(after) - len(ours(after)), len(ours(after))) == (of_the_application, 1)


def ours(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [span for span in spans if span["name"].startswith("evaluation ")]
