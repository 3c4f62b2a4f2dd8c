"""OTLP/JSON by its own rules: hex ids in any case, 64-bit integers as strings or numbers. Signatures: `wire.Wire`.

Read beside the rules, for it occurs: what `json_schema` and `json_repair` name, and a bare array of ResourceSpans
(rotel).
`google.protobuf.json_format` is of no use here: a hex id is valid base64, and it reads it as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Raw

from otel_ctxscore.core.codec import json_schema as schema
from otel_ctxscore.core.codec.evaluations import MARKS
from otel_ctxscore.core.codec.json_repair import Decoder, in_snake_case, keys_of, repaired
from otel_ctxscore.core.codec.wire import (
    SPAN_ID_SIZE,
    TRACE_ID_SIZE,
    Group,
    Malformed,
    deeper,
    origin_of,
    parent_of,
    readable,
)
from otel_ctxscore.core.frozen import maker
from otel_ctxscore.core.spans import Event, Link, LogRecord, Origin, Resource, Scope, Span, Value

HEAD = slice(44)
_made_span = maker(Span)
_ID_PREFIX = b'{"traceId":"'  # how an exporter starts a span; the id follows, in hex

_request: Decoder[schema.Request] = Decoder(schema.Request)
_array: Decoder[list[schema.Resources]] = Decoder(list[schema.Resources])
_resource: Decoder[schema.Resource | None] = Decoder(schema.Resource | None)
_scope: Decoder[schema.Scope | None] = Decoder(schema.Scope | None)
_span: Decoder[schema.Span] = Decoder(schema.Span)
_span_outline: Decoder[schema.SpanOutline] = Decoder(schema.SpanOutline)
_log: Decoder[schema.Log] = Decoder(schema.Log)
_log_outline: Decoder[schema.LogOutline] = Decoder(schema.LogOutline)
_attribute: Decoder[schema.KeyValue] = Decoder(schema.KeyValue)
_event: Decoder[schema.Event] = Decoder(schema.Event)
_link: Decoder[schema.Link] = Decoder(schema.Link)
_status: Decoder[schema.Status | None] = Decoder(schema.Status | None)
_body: Decoder[schema.AnyValue | None] = Decoder(schema.AnyValue | None)

_MARKS = tuple({value.strip('"').encode() for values in MARKS.values() for value in values})
"""What a marked span holds somewhere; whether it is marked is seen in its attributes."""


def trace_id(head: bytes) -> bytes:
    if not head.startswith(_ID_PREFIX):
        return b""
    return schema.id_of(head.removeprefix(_ID_PREFIX).decode("latin-1"), TRACE_ID_SIZE)


def groups(body: bytes) -> Iterator[Group]:
    for resources in _resources(body):
        for scopes in resources.scopes:
            origin = origin_of(_origin, bytes(resources.resource), scopes.written_scope, json=True)
            if scopes.spans:
                yield Group("spans", [bytes(raw) for raw in scopes.spans], origin)
            if scopes.log_records:
                yield Group("logs", [bytes(raw) for raw in scopes.log_records], origin)


def _resources(body: bytes) -> list[schema.Resources]:
    if in_snake_case(body):
        body = repaired(body)
    if body[:256].lstrip()[:1] == b"[":
        array = _array(body)
        if array and not any(resources.scopes for resources in array):
            raise Malformed("the array holds no ResourceSpans and no ResourceLogs")
        return array
    request = _request(body)
    found = [*(request.resource_spans or ()), *(request.resource_logs or ()), *(request.batches or ())]
    if not found and (keys := keys_of(body)) and keys.isdisjoint(schema.REQUEST_KEYS):
        raise Malformed("the object has neither resourceSpans nor resourceLogs")
    return found


def _origin(resource: bytes, scope: bytes) -> tuple[Resource, Scope]:
    found = _resource(resource) or schema.Resource()
    emitter = _scope(scope) or schema.Scope()
    try:
        named = Scope(emitter.name or "", emitter.version or "", _attributes(emitter.attributes))
        return Resource(_attributes(found.attributes)), named
    except ValueError:
        raise Malformed("the resource or scope is not readable") from None


def span_outline(raw: bytes) -> tuple[bytes, bytes, bytes, bool]:
    span = _span_outline(raw)
    marked = any(mark in raw for mark in _MARKS) and _is_marked(span)
    ids = schema.id_of(span.span_id, SPAN_ID_SIZE), schema.id_of(span.parent_span_id, SPAN_ID_SIZE)
    return schema.id_of(span.trace_id, TRACE_ID_SIZE), *ids, marked


def _is_marked(span: schema.SpanOutline) -> bool:
    attributes, _ = _salvaged(span.attributes)
    return any(attributes.get(key) in values for key, values in MARKS.items() if isinstance(attributes.get(key), str))


def log_outline(raw: bytes) -> tuple[bytes, bytes, str, bool]:
    log = _log_outline(raw)
    name = log.event_name or ""
    if not name and b"event.name" in raw:
        name = _event_name(_salvaged(log.attributes)[0])
    ids = schema.id_of(log.trace_id, TRACE_ID_SIZE), schema.id_of(log.span_id, SPAN_ID_SIZE)
    return *ids, name, b"gen_ai." in raw


def open_span(raw: bytes, origin: Origin) -> Span:
    try:
        span = _span(raw)
        events = tuple(_event_of(event) for event in span.events or ())
        links = tuple(_link_of(link) for link in span.links or ())
        return _span_of(span, span.status, _attributes(span.attributes), events, links, origin, 0, 0)
    except ValueError:
        return _salvaged_span(raw, origin)


def _salvaged_span(raw: bytes, origin: Origin) -> Span:
    """The span without the attributes and events that are broken inside."""
    span = _span_outline(raw)
    attributes, lost = _salvaged(span.attributes)
    written = span.events or ()
    events = tuple(readable(written, lambda event: _event_of(_event(event))))
    links = tuple(readable(span.links or (), lambda link: _link_of(_link(link))))
    status = next(readable([span.status], _status), None)
    return _span_of(span, status, attributes, events, links, origin, lost, len(written) - len(events))


def _span_of(
    span: schema.SpanFields,
    status: schema.Status | None,
    attributes: dict[str, Value],
    events: tuple[Event, ...],
    links: tuple[Link, ...],
    origin: Origin,
    lost_attributes: int,
    lost_events: int,
) -> Span:
    resource, scope = origin.decoded
    status = status or schema.Status()
    span_id = schema.id_of(span.span_id, SPAN_ID_SIZE)
    return _made_span(
        schema.id_of(span.trace_id, TRACE_ID_SIZE),
        span_id,
        parent_of(schema.id_of(span.parent_span_id, SPAN_ID_SIZE), span_id),
        span.name or "",
        schema.whole(span.kind, schema.KINDS),
        schema.whole(span.start_time_unix_nano),
        schema.whole(span.end_time_unix_nano),
        attributes,
        events,
        links,
        schema.whole(status.code, schema.STATUS_CODES),
        status.message or "",
        resource,
        scope,
        schema.whole(span.dropped_attributes_count) + lost_attributes,
        schema.whole(span.dropped_events_count) + lost_events,
        span.trace_state or "",
        schema.whole(span.flags),
    )


def open_log(raw: bytes, origin: Origin) -> LogRecord:
    try:
        log = _log(raw)
        return _log_of(log, _value(log.body, 0), _attributes(log.attributes), origin, 0)
    except ValueError:
        outline = _log_outline(raw)
        attributes, lost = _salvaged(outline.attributes)
        body = next(readable([outline.body], lambda text: _value(_body(text), 0)), None)
        return _log_of(outline, body, attributes, origin, lost)


def _log_of(log: schema.LogFields, body: Value, attributes: dict[str, Value], origin: Origin, lost: int) -> LogRecord:
    resource, scope = origin.decoded
    return LogRecord(
        schema.id_of(log.trace_id, TRACE_ID_SIZE),
        schema.id_of(log.span_id, SPAN_ID_SIZE),
        log.event_name or _event_name(attributes),
        body,
        attributes,
        schema.whole(log.time_unix_nano) or schema.whole(log.observed_time_unix_nano),
        resource,
        scope,
        schema.whole(log.dropped_attributes_count) + lost,
    )


def _event_name(attributes: dict[str, Value]) -> str:
    name = attributes.get("event.name")
    return name if isinstance(name, str) else ""


def _salvaged(pairs: list[Raw] | None) -> tuple[dict[str, Value], int]:
    """The attributes that can be read, and how many cannot."""
    found = list(readable(pairs or (), lambda pair: _attributes([_attribute(pair)])))
    return {key: value for one in found for key, value in one.items()}, len(pairs or ()) - len(found)


def _event_of(event: schema.Event) -> Event:
    return Event(event.name or "", _attributes(event.attributes), schema.whole(event.time_unix_nano))


def _link_of(link: schema.Link) -> Link:
    ids = schema.id_of(link.trace_id, TRACE_ID_SIZE), schema.id_of(link.span_id, SPAN_ID_SIZE)
    return Link(*ids, _attributes(link.attributes))


def _attributes(pairs: Iterable[schema.KeyValue] | None, depth: int = 0) -> dict[str, Value]:
    return {pair.key or "": _value(pair.value, depth) for pair in pairs or ()}


def _value(value: schema.AnyValue | None, depth: int) -> Value:
    if value is None:
        return None
    if value.string_value is not None:
        return value.string_value
    if value.array_value is not None:
        return [_value(one, deeper(depth)) for one in value.array_value.values or ()]
    if value.kvlist_value is not None:
        return _attributes(value.kvlist_value.values, deeper(depth))
    return schema.scalar(value)
