"""Jaeger's JSON, as its UI and API export traces: turned into OTLP/JSON requests.

What Jaeger flattens into tags when it takes OTLP in goes back where it came from: scope, kind and status of a span.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from otel_ctxscore.core.codec.json_repair import Decoder
from otel_ctxscore.core.codec.json_schema import whole
from otel_ctxscore.core.codec.wire import SPAN_ID_SIZE, TRACE_ID_SIZE, Malformed

Json = dict[str, Any]
_KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_STATUS_CODES = {"OK": 1, "ERROR": 2}
_SCOPE_NAMES = ("otel.scope.name", "otel.library.name")
_SCOPE_VERSIONS = ("otel.scope.version", "otel.library.version")
_MOVED = frozenset({*_SCOPE_NAMES, *_SCOPE_VERSIONS, "span.kind", "otel.status_code", "otel.status_description"})
_NANOS = 1000  # a microsecond, Jaeger's unit


class _Tag(msgspec.Struct, frozen=True):
    key: str
    value: Any = None
    type: str = ""


class _Reference(msgspec.Struct, frozen=True):
    kind: str = msgspec.field(default="", name="refType")
    trace_id: str = msgspec.field(default="", name="traceID")
    span_id: str = msgspec.field(default="", name="spanID")


class _Log(msgspec.Struct, frozen=True):
    timestamp: int = 0
    fields: list[_Tag] | None = None


class _Span(msgspec.Struct, frozen=True):
    trace_id: str = msgspec.field(name="traceID")
    span_id: str = msgspec.field(name="spanID")
    name: str = msgspec.field(default="", name="operationName")
    process_id: str = msgspec.field(default="", name="processID")
    process: _Process | None = None
    parent_span_id: str = msgspec.field(default="", name="parentSpanID")
    references: list[_Reference] | None = None
    start: int | str = msgspec.field(default=0, name="startTime")
    duration: int | str = 0
    tags: list[_Tag] | None = None
    logs: list[_Log] | None = None


class _Process(msgspec.Struct, frozen=True):
    service: str = msgspec.field(default="", name="serviceName")
    tags: list[_Tag] | None = None


class _Trace(msgspec.Struct, frozen=True):
    spans: list[_Span] | None = None
    processes: dict[str, _Process] | None = None


class _Fault(msgspec.Struct, frozen=True):
    message: str = msgspec.field(default="", name="msg")


class _Export(msgspec.Struct, frozen=True):
    data: list[_Trace] | None = None
    errors: list[_Fault] | None = None


_export: Decoder[_Export] = Decoder(_Export)
_trace: Decoder[_Trace] = Decoder(_Trace)


def requests_of_export(text: bytes) -> Iterator[bytes]:
    """An OTLP/JSON request for each trace of `{"data": [...]}`. Raises Malformed, also for a fault."""
    export = _export(text)
    if not export.data and export.errors:
        raise Malformed(f"Jaeger found no trace: {export.errors[0].message[:200]!r}")
    for trace in export.data or ():
        yield _request(trace)


def request_of_trace(text: bytes) -> bytes:
    """The OTLP/JSON request of one trace, `{"spans": [...], "processes": {...}}`. Raises Malformed."""
    return _request(_trace(text))


def _request(trace: _Trace) -> bytes:
    groups: dict[tuple[str, str, str], list[Json]] = defaultdict(list)
    processes = dict(trace.processes or {})
    for span in trace.spans or ():
        if span.process is not None:
            processes[span.process_id] = span.process
        tags = {tag.key: tag.value for tag in span.tags or ()}
        scope = (_first(tags, _SCOPE_NAMES), _first(tags, _SCOPE_VERSIONS))
        groups[span.process_id, *scope].append(_span(span, tags))
    return msgspec.json.encode(
        {
            "resourceSpans": [
                {
                    "resource": _resource(processes.get(process_id, _Process())),
                    "scopeSpans": [{"scope": {"name": name, "version": version}, "spans": spans}],
                }
                for (process_id, name, version), spans in groups.items()
            ]
        }
    )


def _first(tags: Json, keys: tuple[str, ...]) -> str:
    return next((str(tags[key]) for key in keys if key in tags), "")


def _resource(process: _Process) -> Json:
    service = [{"key": "service.name", "value": {"stringValue": process.service}}] if process.service else []
    return {"attributes": [*service, *_attributes(process.tags)]}


def _span(span: _Span, tags: Json) -> Json:
    parent, links = _parent_and_links(span)
    start = whole(span.start)
    return {
        "traceId": _trace_id(span.trace_id),
        "spanId": _span_id(span.span_id),
        "parentSpanId": parent,
        "name": span.name,
        "kind": _KINDS.get(str(tags.get("span.kind")).lower(), 0),
        "startTimeUnixNano": start * _NANOS,
        "endTimeUnixNano": (start + whole(span.duration)) * _NANOS,
        "attributes": _attributes(span.tags),
        "events": [_event(log) for log in span.logs or ()],
        "links": links,
        "status": _status(tags),
    }


def _parent_and_links(span: _Span) -> tuple[str, list[Json]]:
    """The parent is what the span is CHILD_OF in its own trace, else what it follows there. The rest are links."""
    references = span.references or []
    same = [r for r in references if _trace_id(r.trace_id) == _trace_id(span.trace_id)]
    parent = next((r for r in same if r.kind == "CHILD_OF"), same[0] if same else None)
    links = [{"traceId": _trace_id(r.trace_id), "spanId": _span_id(r.span_id)} for r in references if r is not parent]
    return _span_id(parent.span_id if parent else span.parent_span_id), links


def _status(tags: Json) -> Json:
    failed = str(tags.get("error")).lower() == "true"
    code = _STATUS_CODES.get(str(tags.get("otel.status_code")), 2 if failed else 0)
    return {"code": code, "message": str(tags.get("otel.status_description", ""))}


def _event(log: _Log) -> Json:
    fields = log.fields or []
    name = next((str(field.value) for field in fields if field.key == "event"), "")
    return {
        "timeUnixNano": log.timestamp * _NANOS,
        "name": name,
        "attributes": _attributes([field for field in fields if field.key != "event"]),
    }


def _attributes(tags: list[_Tag] | None) -> list[Json]:
    return [{"key": tag.key, "value": _value(tag)} for tag in tags or () if tag.key not in _MOVED]


def _value(tag: _Tag) -> Json:
    if tag.type == "bool" or isinstance(tag.value, bool):
        return {"boolValue": str(tag.value).lower() == "true"}
    if tag.type == "binary":
        return {"bytesValue": str(tag.value)}
    if tag.type == "float64" or isinstance(tag.value, float):
        return {"doubleValue": tag.value}
    if tag.type == "int64" or isinstance(tag.value, int):
        return {"intValue": tag.value}
    if tag.value is None or isinstance(tag.value, str):
        return {"stringValue": tag.value}
    return {"stringValue": msgspec.json.encode(tag.value).decode()}


def _trace_id(written: str) -> str:
    """Jaeger leaves out leading zeros."""
    return written.zfill(2 * TRACE_ID_SIZE)


def _span_id(written: str) -> str:
    return written.zfill(2 * SPAN_ID_SIZE) if written else ""
