"""OTLP protobuf. Signatures and promises: `wire.Wire`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from google.protobuf.message import DecodeError

from otel_ctxscore.core.codec.evaluations import MARKS
from otel_ctxscore.core.codec.schema import LENIENT, MESSAGES, mended
from otel_ctxscore.core.codec.wire import Group, Malformed, deeper, number_of, origin_of, parent_of, readable
from otel_ctxscore.core.frozen import maker
from otel_ctxscore.core.spans import Event, Link, LogRecord, Origin, Resource, Scope, Span, Value

HEAD = slice(18)
_made_span = maker(Span)
_SHORT = 96
"""Bytes of an attribute that is remembered decoded, at most."""
_MOST_PAIRS = 4096
"""Attributes that are remembered decoded, at most: some 2 MB."""
_KEY_TAG = 0x0A  # field 1 of an attribute, and of a text value
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
_log = _reader("Log")
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
    span = _span(raw)
    return span.trace_id, span.span_id, span.parent_span_id, not _MARKS.isdisjoint(span.attributes)


def log_outline(raw: bytes) -> tuple[bytes, bytes, str, bool]:
    log = _log(raw)
    name = log.event_name or _event_name(raw, log)
    return log.trace_id, log.span_id, name, b"gen_ai." in raw


def _event_name(raw: bytes, log: Any) -> str:
    if b"event.name" not in raw:
        return ""
    name = _salvaged(log.attributes)[0].get("event.name")
    return name if isinstance(name, str) else ""


def open_span(raw: bytes, origin: Origin) -> Span:
    span = _span(raw)
    attributes, lost = _salvaged(span.attributes)
    events = tuple(readable(span.events, _event_of)) if span.events else ()
    code, message = _status_of(span.status) if span.status else (0, "")
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
        tuple(readable(span.links, _link_of)) if span.links else (),
        code,
        message,
        resource,
        scope,
        span.dropped_attributes_count + lost,
        span.dropped_events_count + len(span.events) - len(events),
        span.trace_state,
        span.flags,
    )


def open_log(raw: bytes, origin: Origin) -> LogRecord:
    log = _log(raw)
    attributes, lost = _salvaged(log.attributes)
    resource, scope = origin.decoded
    named = attributes.get("event.name")
    return LogRecord(
        log.trace_id,
        log.span_id,
        log.event_name or (named if isinstance(named, str) else ""),
        next(readable([log.body], lambda written: _value(_body(written), 0)), None),
        attributes,
        log.time or log.observed,
        resource,
        scope,
        log.dropped_attributes_count + lost,
    )


@lru_cache(maxsize=4096)
def _text_head(size: int) -> bytes:
    """What stands between the key of an attribute and its text, where both together are so long: tag and size of the
    value, tag and size of the text in it. Empty where no text has this size."""
    for width in range(1, 6):  # of the value's size as it is written
        inner = size - 1 - width
        for inner_width in range(1, width + 1):
            text = inner - 1 - inner_width
            if text >= 0 and len(_varint(inner)) == width and len(_varint(text)) == inner_width:
                return b"\x12" + _varint(inner) + b"\n" + _varint(text)
    return b""


def _varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def _text_pair(written: bytes) -> tuple[str, Value] | None:
    """Key and text of an attribute in the form that every encoder gives it; None for all others. No message is made
    for it: protobuf gives the memory of every ten-thousandth one back to the kernel, with all else that is free."""
    if len(written) < 2 or written[0] != _KEY_TAG or written[1] > 0x7F:
        return None
    key_ends = 2 + written[1]
    head = _text_head(len(written) - key_ends)
    text_begins = key_ends + len(head)
    if not head or written[key_ends:text_begins] != head:
        return None
    try:
        return written[2:key_ends].decode(), written[text_begins:].decode()
    except UnicodeDecodeError:
        return None


def _pair_of(written: bytes) -> tuple[str, Value]:
    if (pair := _text_pair(written)) is not None:
        return pair
    attribute = _attribute(written)
    value = attribute.value
    return attribute.key, _value(value, 0)


class _ShortPairs(dict[bytes, tuple[str, Value]]):
    """Short attributes by the bytes they came in. Most of them stand in many spans, byte for byte: they are decoded
    once and share their text."""

    def __missing__(self, written: bytes) -> tuple[str, Value]:
        pair = _pair_of(written)
        if not isinstance(pair[1], (list, dict)):
            if len(self) >= _MOST_PAIRS:
                self.clear()
            self[written] = pair
        return pair


_short_pairs = _ShortPairs()


def _attributes(written: Iterable[bytes]) -> dict[str, Value]:
    """Raises Malformed where one of them cannot be read."""
    found: dict[str, Value] = {}
    for one in written:
        key, value = _short_pairs[one] if len(one) <= _SHORT else _pair_of(one)
        found[key] = value
    return found


def _salvaged(written: Sequence[bytes]) -> tuple[dict[str, Value], int]:
    """The attributes that can be read, and how many cannot."""
    try:
        return _attributes(written), 0
    except Malformed:
        found = list(readable(written, _pair_of))
        return dict(found), len(written) - len(found)


def _event_of(written: bytes) -> Event:
    event = _event(written)
    return Event(event.name, _attributes(event.attributes), event.time)


def _link_of(written: bytes) -> Link:
    link = _link(written)
    return Link(link.trace_id, link.span_id, _attributes(link.attributes))


@lru_cache(maxsize=64)
def _status_of(written: bytes) -> tuple[int, str]:
    """Code and message; of a status that cannot be read, those of none."""
    status = next(readable([written], _status), None)
    return (status.code, status.message) if status else (0, "")


def _value(value: Any, depth: int) -> Value:
    which = value.WhichOneof("which")
    if which == "double":
        return number_of(value.double)
    if which == "array":
        return [_value(one, deeper(depth)) for one in value.array.values]
    if which == "map":
        return {pair.key: _value(pair.value, deeper(depth)) for pair in value.map.values}
    scalar: Value = getattr(value, which) if which else None
    return scalar
