"""Requests as senders write them."""

from __future__ import annotations

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TRACE_ID = bytes.fromhex("5b8efff798038103d269b633813fc60c")
SPAN_ID = bytes.fromhex("eee19b7ec3c1b174")


def traces(*ids: tuple[bytes, bytes], text: str = "Which port?", scope: str = "shop") -> bytes:
    """A request with a span for each pair of trace id and span id."""
    request = ExportTraceServiceRequest()
    scope_spans = request.resource_spans.add().scope_spans.add()
    scope_spans.scope.name = scope
    for trace_id, span_id in ids or ((TRACE_ID, SPAN_ID),):
        span = scope_spans.spans.add(trace_id=trace_id, span_id=span_id, name="retrieve")
        span.attributes.add(key="input.value").value.string_value = text
    return request.SerializeToString()


def logs(trace_id: bytes = TRACE_ID, span_id: bytes = SPAN_ID, event_name: str = "gen_ai.user.message") -> bytes:
    """A request with one log record."""
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(trace_id=trace_id, span_id=span_id)
    record.time_unix_nano, record.event_name = 1, event_name
    record.body.string_value = "hi"
    return request.SerializeToString()
