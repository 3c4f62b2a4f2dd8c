"""A real Collector takes what the OTLP sink sends."""

from __future__ import annotations

import asyncio

import pytest

from otel_ctxscore.config.outlets import OtlpSink as Section
from otel_ctxscore.io.otlp_sink import OtlpSink
from tests.io.evaluations import ANCHOR, FIRST, SECOND, TRACE, evaluation
from tests.services.otelcol import Collector


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
async def test_evaluation_spans_arrive_in_the_judged_trace(protocol: str, collector: Collector) -> None:
    endpoint = f"http://{collector.grpc}" if protocol == "grpc" else collector.http
    section = Section.model_validate({"endpoint": endpoint, "protocol": protocol})
    sink = OtlpSink.from_config(section, content=False)
    await sink.emit(evaluation())
    await sink.close()
    spans = await asyncio.to_thread(collector.wait_spans, 3)
    assert {span["traceId"] for span in spans} == {TRACE}
    assert [span["parentSpanId"] for span in spans] == [FIRST, SECOND, ANCHOR]
    assert [[link["spanId"] for link in span["links"]] for span in spans] == [[FIRST], [SECOND], [ANCHOR]]
    assert {event["name"] for span in spans for event in span["events"]} == {"gen_ai.evaluation.result"}
