"""OTLP protobuf. Signatures and promises: `wire.Wire`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from google.protobuf.message import DecodeError

from otel_ctxscore.core.codec.evaluations import MARKS
from otel_ctxscore.core.codec.schema import LENIENT, MESSAGES, mended
from otel_ctxscore.core.codec.wire import Group, Malformed, deeper, number_of, origin_of, parent_of, readable
from otel_ctxscore.core.frozen import maker
from otel_ctxscore.core.spans import Event, Link, LogRecord, Origin, Resource, Scope, Span, Value

HEAD = slice(18)
_made_span = maker(Span)
_ID_PREFIX = b"\n\x10"  # field 1, 16 bytes: how every known encoder starts a span


def _reader(name: str) -> Callable[[bytes], Any]:
    parse, parse_leniently = MESSAGES[name].FromString, LENIENT[name].FromString

    def read(written: bytes) -> Any:
        try:
            return parse(written)
        except DecodeError:
            pass
        try:
            return parse(mended(parse_leniently(written)))
        except DecodeError:
            raise Malformed("not OTLP protobuf") from None

    return read


_request = _reader("Request")
_resource = _reader("Resource")
_scope = _reader("Scope")
_span = _reader("Span")
_span_outline = _reader("SpanOutline")
_log = _reader("Log")
_log_outline = _reader("LogOutline")
_attribute = _reader("KeyValue")
_event = _reader("Event")
_link = _reader("Link")
_status = _reader("Status")
_body = _reader("Value")


def _written(key: str, value: str) -> bytes:
    message = MESSAGES["KeyValue"](key=key)
    message.value.string = value
    return bytes(message.SerializeToString())


_MARKS = frozenset(_written(key, value) for key, values in MARKS.items() for value in values)
"""Marks of an evaluation as they stand on the wire, so that no attribute is decoded to look for one."""


def trace_id(head: bytes) -> bytes:
    return head[2:] if head.startswith(_ID_PREFIX) else b""


def groups(body: bytes) -> Iterator[Group]:
    """A request does not tell its signal: spans and log records stand in fields of the same numbers."""
    for resource in _request(body).resources:
        for scope in resource.scopes:
            yield Group("spans", scope.records, origin_of(_origin, resource.resource, scope.scope, json=False))


def _origin(resource: bytes, scope: bytes) -> tuple[Resource, Scope]:
    emitter = _scope(scope)
    named = Scope(emitter.name, emitter.version, _attributes(emitter.attributes))
    return Resource(_attributes(_resource(resource).attributes)), named


def span_outline(raw: bytes) -> tuple[bytes, bytes, bytes, bool]:
    span = _span_outline(raw)
    return span.trace_id, span.span_id, span.parent_span_id, not _MARKS.isdisjoint(span.attributes)


def log_outline(raw: bytes) -> tuple[bytes, bytes, str, bool]:
    log = _log_outline(raw)
    name = log.event_name or _event_name(raw, log)
    return log.trace_id, log.span_id, name, b"gen_ai." in raw


def _event_name(raw: bytes, log: Any) -> str:
    if b"event.name" not in raw:
        return ""
    found, _ = _salvaged(log.attributes)
    name = found.get("event.name")
    return name if isinstance(name, str) else ""


def open_span(raw: bytes, origin: Origin) -> Span:
    try:
        span = _span(raw)
        attributes = _attributes(span.attributes)
        events = tuple([_event_of(event) for event in span.events]) if span.events else ()
        links = tuple([_link_of(link) for link in span.links]) if span.links else ()
        return _span_of(span, span.status, attributes, events, links, origin, 0, 0)
    except Malformed:
        return _salvaged_span(raw, origin)


def _salvaged_span(raw: bytes, origin: Origin) -> Span:
    """The span without the attributes and events that are broken inside."""
    span = _span_outline(raw)
    attributes, lost = _salvaged(span.attributes)
    events = tuple(readable(span.events, lambda e: _event_of(_event(e))))
    links = tuple(readable(span.links, lambda x: _link_of(_link(x))))
    status = next(readable([span.status], _status), _status(b""))
    return _span_of(span, status, attributes, events, links, origin, lost, len(span.events) - len(events))


def _span_of(
    span: Any,
    status: Any,
    attributes: dict[str, Value],
    events: tuple[Event, ...],
    links: tuple[Link, ...],
    origin: Origin,
    lost_attributes: int,
    lost_events: int,
) -> Span:
    resource, scope = origin.decoded
    return _made_span(
        span.trace_id,
        span.span_id,
        parent_of(span.parent_span_id, span.span_id),
        span.name,
        span.kind,
        span.start,
        span.end,
        attributes,
        events,
        links,
        status.code,
        status.message,
        resource,
        scope,
        span.dropped_attributes_count + lost_attributes,
        span.dropped_events_count + lost_events,
        span.trace_state,
        span.flags,
    )


def open_log(raw: bytes, origin: Origin) -> LogRecord:
    try:
        log = _log(raw)
        return _log_of(log, _value(log.body, 0), _attributes(log.attributes), origin, 0)
    except Malformed:
        return _salvaged_log(raw, origin)


def _salvaged_log(raw: bytes, origin: Origin) -> LogRecord:
    log = _log_outline(raw)
    attributes, lost = _salvaged(log.attributes)
    body = next(readable([log.body], lambda b: _value(_body(b), 0)), None)
    return _log_of(log, body, attributes, origin, lost)


def _log_of(log: Any, body: Value, attributes: dict[str, Value], origin: Origin, lost: int) -> LogRecord:
    resource, scope = origin.decoded
    named = attributes.get("event.name")
    return LogRecord(
        log.trace_id,
        log.span_id,
        log.event_name or (named if isinstance(named, str) else ""),
        body,
        attributes,
        log.time or log.observed,
        resource,
        scope,
        log.dropped_attributes_count + lost,
    )


def _salvaged(parts: Iterable[bytes]) -> tuple[dict[str, Value], int]:
    """The attributes that can be read, and how many cannot."""
    pairs = list(parts)
    found = list(readable(pairs, lambda pair: _attributes([_attribute(pair)])))
    return {key: value for one in found for key, value in one.items()}, len(pairs) - len(found)


def _event_of(event: Any) -> Event:
    return Event(event.name, _attributes(event.attributes), event.time)


def _link_of(link: Any) -> Link:
    return Link(link.trace_id, link.span_id, _attributes(link.attributes))


def _attributes(pairs: Iterable[Any], depth: int = 0) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for pair in pairs:
        value = pair.value
        found[pair.key] = value.string or _value(value, depth)  # most are text: no function is called for them
    return found


def _value(value: Any, depth: int) -> Value:
    which = value.WhichOneof("which")
    if which == "double":
        return number_of(value.double)
    if which == "array":
        return [_value(one, deeper(depth)) for one in value.array.values]
    if which == "map":
        return _attributes(value.map.values, deeper(depth))
    scalar: Value = getattr(value, which) if which else None
    return scalar
