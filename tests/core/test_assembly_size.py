"""What the assembler counts is what its traces take in memory."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_ctxscore.core.assembly import Limits, TraceAssembler
from otel_ctxscore.core.codec import Encoding, Taken, fuller, take_any
from otel_ctxscore.core.offsets import PartitionLedger
from otel_ctxscore.core.receipts import Receipt
from otel_ctxscore.core.spans import Delivery

pytestmark = pytest.mark.slow

SHORT_RESOURCE = {"service.name": "shop", "k8s.pod.name": "shop-7f9d9c9b8d-abcde", "telemetry.sdk.language": "python"}
TOLERANCE = 0.1


@dataclass(frozen=True)
class Shape:
    """Traffic: `spans` of `size` bytes a trace, `together` traces a request, each trace in `pieces` requests. From
    Kafka an account is kept of each request."""

    traces: int
    spans: int
    size: int = 330
    together: int = 50
    pieces: int = 1
    kafka: bool = False
    encoding: Encoding = "proto"
    logs: bool = False
    resource: int = 0
    """Attributes of the resource that no other request has."""


SHAPES = {
    "one short span": Shape(3000, 1),
    "one span of 3 kB": Shape(2000, 1, size=3000),
    "two spans of 100 bytes": Shape(2000, 2, size=100),
    "five spans": Shape(1000, 5),
    "six spans: a greater table": Shape(1000, 6),
    "eleven spans": Shape(600, 11),
    "22 spans: a greater one": Shape(300, 22),
    "300 spans": Shape(40, 300, together=10),
    "a document of 100 kB in each span": Shape(40, 4, size=100_000, together=5),
    "a request for each trace": Shape(1000, 4, together=1),
    "a request for each span": Shape(1000, 4, together=1, pieces=4),
    "a Kafka record for each trace": Shape(1000, 4, together=1, kafka=True),
    "a Kafka record for each span": Shape(1000, 6, together=1, pieces=6, kafka=True),
    "one span a Kafka record": Shape(2000, 1, together=1, kafka=True),
    "JSON": Shape(1000, 4, encoding="json"),
    "log records": Shape(1000, 4, logs=True),
    "a great resource of its own in each request": Shape(60, 4, together=1, resource=400),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_what_is_counted_is_within_a_tenth_of_what_is_taken(shape: Shape) -> None:
    assembler = TraceAssembler(Limits(max_size=1 << 40), fuller)
    fill(assembler, requests(replace(shape, traces=shape.together), first=1 << 40), shape)  # what others share is there
    assembler.drain(0)
    bodies = requests(shape)
    before = assembler.open_bytes
    taken = allocated(lambda: fill(assembler, bodies, shape))
    counted = assembler.open_bytes - before
    assert assembler.open_traces == shape.traces
    assert abs(counted / taken - 1) < TOLERANCE, f"{counted / shape.traces:.0f} of {taken / shape.traces:.0f} a trace"


def test_what_has_left_is_counted_no_more() -> None:
    assembler = TraceAssembler(Limits(max_size=1 << 40), fuller)
    for shape in SHAPES.values():
        fill(assembler, requests(replace(shape, traces=10)), shape)
    held = assembler.open_bytes
    parked, *left = assembler.due(1e6)
    assert assembler.open_bytes == 0
    assembler.park(parked, 1e6, "nothing yet")
    assert assembler.open_bytes == parked.size == held - sum(trace.size for trace in left) > 0


def test_spans_that_come_again_and_again_are_not_free() -> None:
    """Each delivery is held by its trace, which a sender that repeats itself could make grow without end."""
    assembler = TraceAssembler(Limits(max_size=1 << 40), fuller)
    [body] = requests(Shape(1, 1, together=1))
    taken = allocated(lambda: fill(assembler, [body] * 2000, Shape(1, 1, kafka=True)))
    assert assembler.open_traces == 1
    assert abs(assembler.open_bytes / taken - 1) < 2 * TOLERANCE


def fill(assembler: TraceAssembler, bodies: Sequence[bytes], shape: Shape) -> None:
    ledger = PartitionLedger(0)
    for number, body in enumerate(bodies):
        receipt = ledger.take(number + 1000, 0.0) if shape.kafka else Receipt()
        taken: Taken = take_any(body, shape.encoding, lambda _: True)
        assembler.add(Delivery(taken.spans, receipt, taken.logs), float(number))
        receipt.settle()


def allocated(work: Callable[[], None]) -> int:
    """Bytes that the work leaves allocated, as CPython's allocator and then malloc round them up."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        return sum(rounded(trace.size) for trace in tracemalloc.take_snapshot().traces)
    finally:
        tracemalloc.stop()


def rounded(size: int) -> int:
    return -(-size // 16) * 16 if size <= 512 else -(-(size + 8) // 16) * 16


def requests(shape: Shape, first: int = 0) -> list[bytes]:
    """Every trace with its spans, shared out among `pieces` requests."""
    build = log_records if shape.logs else spans
    return [
        build(shape, range(first + at + 1, first + at + 1 + shape.together), piece)
        for at in range(0, shape.traces, shape.together)
        for piece in range(shape.pieces)
    ]


def resource_of(shape: Shape, seed: int) -> dict[str, str]:
    return SHORT_RESOURCE | {f"build.setting.{n:06}": f"the value of {seed} is {n}" for n in range(shape.resource)}


def spans(shape: Shape, traces: range, piece: int) -> bytes:
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    for key, value in resource_of(shape, traces.start).items():
        resource.resource.attributes.add(key=key).value.string_value = value
    scope = resource.scope_spans.add()
    scope.scope.name = "shop"
    for trace in traces:
        for number in range(piece, shape.spans, shape.pieces):
            span = scope.spans.add(trace_id=trace.to_bytes(16), span_id=(trace * 1024 + number).to_bytes(8), name="GET")
            span.parent_span_id = b"p" * 8
            span.attributes.add(key="k").value.string_value = "x" * (shape.size - 60)
    return message.SerializeToString() if shape.encoding == "proto" else in_json(message)


def in_json(message: ExportTraceServiceRequest) -> bytes:
    return json.dumps(
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "traceId": span.trace_id.hex(),
                                    "spanId": span.span_id.hex(),
                                    "parentSpanId": span.parent_span_id.hex(),
                                    "name": span.attributes[0].value.string_value,
                                }
                                for span in message.resource_spans[0].scope_spans[0].spans
                            ]
                        }
                    ]
                }
            ]
        }
    ).encode()


def log_records(shape: Shape, traces: range, piece: int) -> bytes:
    message = ExportLogsServiceRequest()
    scope = message.resource_logs.add().scope_logs.add()
    for trace in traces:
        for number in range(piece, shape.spans, shape.pieces):
            record = scope.log_records.add(
                time_unix_nano=10**18,
                trace_id=trace.to_bytes(16),
                span_id=(trace * 1024 + number).to_bytes(8),
                event_name="gen_ai.user.message",
            )
            record.body.string_value = f"{trace} {number} " + "x" * (shape.size - 90)
    return message.SerializeToString()
