"""The messages of OTLP/JSON as msgspec types, and what stands in their fields.

Read beside the rules of OTLP: `batches` and `instrumentationLibrarySpans` (Tempo), enum names and base64 ids
(protobuf's own JSON).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

import msgspec
from msgspec import Raw

from otel_ctxscore.core.codec.wire import number_of
from otel_ctxscore.core.spans import Value

Number = int | float | str | None

KINDS = {
    f"SPAN_KIND_{name}": n
    for n, name in enumerate(("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"))
}
STATUS_CODES = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
REQUEST_KEYS = frozenset({"resourceSpans", "resourceLogs", "batches"})


class _Message(msgspec.Struct, rename="camel", frozen=True):
    """Unknown fields are ignored; null is the default of every field."""


class AnyValue(_Message, frozen=True):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: Number = None
    double_value: Number = None
    array_value: Array | None = None
    kvlist_value: Map | None = None
    bytes_value: str | None = None


class KeyValue(_Message, frozen=True):
    key: str | None = None
    value: AnyValue | None = None


class Array(_Message, frozen=True):
    values: list[AnyValue | None] | None = None


class Map(_Message, frozen=True):
    values: list[KeyValue] | None = None


class Scopes(_Message, frozen=True):
    scope: Raw = Raw(b"null")
    instrumentation_library: Raw = Raw(b"null")
    spans: list[Raw] | None = None
    log_records: list[Raw] | None = None

    @property
    def written_scope(self) -> bytes:
        scope = bytes(self.scope)
        return bytes(self.instrumentation_library) if scope == b"null" else scope


class Resources(_Message, frozen=True):
    resource: Raw = Raw(b"null")
    scope_spans: list[Scopes] | None = None
    scope_logs: list[Scopes] | None = None
    instrumentation_library_spans: list[Scopes] | None = None

    @property
    def scopes(self) -> list[Scopes]:
        return [*(self.scope_spans or ()), *(self.instrumentation_library_spans or ()), *(self.scope_logs or ())]


class Request(_Message, frozen=True):
    resource_spans: list[Resources] | None = None
    resource_logs: list[Resources] | None = None
    batches: list[Resources] | None = None


class Resource(_Message, frozen=True):
    attributes: list[KeyValue] | None = None


class Scope(_Message, frozen=True):
    name: str | None = None
    version: str | None = None
    attributes: list[KeyValue] | None = None


class Event(_Message, frozen=True):
    name: str | None = None
    time_unix_nano: Number = None
    attributes: list[KeyValue] | None = None


class Link(_Message, frozen=True):
    trace_id: str | None = None
    span_id: str | None = None
    attributes: list[KeyValue] | None = None


class Status(_Message, frozen=True):
    code: Number = None
    message: str | None = None


class SpanFields(_Message, frozen=True):
    trace_id: str | None = None
    span_id: str | None = None
    trace_state: str | None = None
    parent_span_id: str | None = None
    name: str | None = None
    kind: Number = None
    start_time_unix_nano: Number = None
    end_time_unix_nano: Number = None
    dropped_attributes_count: Number = None
    dropped_events_count: Number = None
    flags: Number = None


class Span(SpanFields, frozen=True):
    attributes: list[KeyValue] | None = None
    events: list[Event] | None = None
    links: list[Link] | None = None
    status: Status | None = None


class SpanOutline(SpanFields, frozen=True):
    attributes: list[Raw] | None = None
    events: list[Raw] | None = None
    links: list[Raw] | None = None
    status: Raw = Raw(b"null")


class LogFields(_Message, frozen=True):
    trace_id: str | None = None
    span_id: str | None = None
    event_name: str | None = None
    time_unix_nano: Number = None
    observed_time_unix_nano: Number = None
    dropped_attributes_count: Number = None


class Log(LogFields, frozen=True):
    body: AnyValue | None = None
    attributes: list[KeyValue] | None = None


class LogOutline(LogFields, frozen=True):
    body: Raw = Raw(b"null")
    attributes: list[Raw] | None = None


def id_of(written: str | None, size: int) -> bytes:
    """An id of `size` bytes in hex, or base64 where the length is that of base64. b"" for what is neither."""
    if not written:
        return b""
    try:
        if len(written) == -(-size // 3) * 4:
            return base64.b64decode(written, validate=True)
        return bytes.fromhex(written.removeprefix("0x"))
    except ValueError:
        return b""


def whole(number: Number, names: Mapping[str, int] | None = None) -> int:
    """A time, count or enum; 0 where it is none."""
    if isinstance(number, str) and names is not None and number in names:
        return names[number]
    try:
        return int(number or 0)
    except (ValueError, OverflowError):
        return 0


def scalar(value: AnyValue) -> Value:
    """A value that is no text, array or map. Raises ValueError where the text of a number or of bytes is none."""
    if value.bool_value is not None:
        return value.bool_value
    if value.int_value is not None:
        return int(value.int_value)
    if value.double_value is not None:
        return number_of(float(value.double_value))
    return None if value.bytes_value is None else _binary(value.bytes_value)


def _binary(written: str) -> bytes:
    standard = written.replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
