"""Spans, log records and traces as they come in. Ids are bytes, here and below extraction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Union

import msgspec

from otel_ctxscore.core.outcomes import Closed
from otel_ctxscore.core.receipts import Receipt

Value = Union[None, bool, int, float, str, bytes, list["Value"], dict[str, "Value"]]
"""An attribute value as OTLP has them: scalars, arrays and maps, nested at will."""


Attributes = Mapping[str, Value]


UNKNOWN_SERVICE = "unknown_service"


@dataclass(frozen=True, slots=True)
class Resource:
    """What emitted the spans. Shared by all spans of one ResourceSpans."""

    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scope:
    """The instrumentation scope. Shared by all spans of one ScopeSpans."""

    name: str = ""
    version: str = ""
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """A span event."""

    name: str
    attributes: Attributes = field(default_factory=dict)
    time_ns: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    """A span link."""

    trace_id: bytes
    span_id: bytes
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """A decoded span. Ids are 16 and 8 bytes; `parent_span_id` is empty for a root. Times are Unix nanoseconds
    as the sender wrote them: they may be 0, or disagree between hosts."""

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes = b""
    name: str = ""
    kind: int = 0
    start_ns: int = 0
    end_ns: int = 0
    attributes: Attributes = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    status_code: int = 0
    status_message: str = ""
    resource: Resource = Resource()
    scope: Scope = Scope()
    dropped_attributes_count: int = 0
    dropped_events_count: int = 0
    trace_state: str = ""
    flags: int = 0


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A decoded log record that bears the ids of a span. `event_name` falls back to the attribute `event.name`."""

    trace_id: bytes
    span_id: bytes
    event_name: str = ""
    body: Value = None
    attributes: Attributes = field(default_factory=dict)
    time_ns: int = 0
    resource: Resource = Resource()
    scope: Scope = Scope()
    dropped_attributes_count: int = 0


class KeptSpan(msgspec.Struct, frozen=True, gc=False):
    """A span that sampling kept, as the bytes it came in: it becomes a `Span` when its trace is due.

    `parent_span_id` is empty for a root; a span that names itself as its parent is one. `origin` is the shared
    resource and scope, opaque outside the codec. There are up to millions of them, and no cycle leads through one:
    so the garbage collector does not look at them.
    """

    trace_id: bytes
    span_id: bytes
    parent_span_id: bytes
    raw: bytes
    origin: Origin


class KeptLog(msgspec.Struct, frozen=True, gc=False):
    """A log record that bears the ids of a span, as the bytes it came in."""

    trace_id: bytes
    span_id: bytes
    raw: bytes
    origin: Origin


class Origin:
    """Resource and scope of kept spans, shared by reference and decoded when first read.

    `json` tells the encoding of the raw bytes. `decode` turns them into values; the codec gives it, and it is let go
    once they are read. `size`: bytes of the two as they came in, 0 where they are shared by further requests.
    """

    __slots__ = ("_decode", "_decoded", "json", "size")

    def __init__(self, decode: Callable[[], tuple[Resource, Scope]], *, json: bool, size: int = 0) -> None:
        self._decode: Callable[[], tuple[Resource, Scope]] | None = decode
        self._decoded: tuple[Resource, Scope] | None = None
        self.json = json
        self.size = size

    @property
    def decoded(self) -> tuple[Resource, Scope]:
        if self._decode is not None:
            self._decoded, self._decode = self._decode(), None
        assert self._decoded is not None
        return self._decoded


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one Kafka record, OTLP request or piece of a file held, after sampling by trace id.

    `redelivered`: the source handed this out before, so that what comes of it may be a repeat. `source` is the
    label of the source's metrics.
    """

    spans: Sequence[KeptSpan]
    receipt: Receipt
    logs: Sequence[KeptLog] = ()
    redelivered: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """A closed trace. Spans are in the order of arrival, never sorted by the senders' clocks.

    `redelivered`: a source read part of it before (a restart); its evaluation may be a repeat.
    """

    trace_id: bytes
    spans: tuple[Span, ...]
    logs: tuple[LogRecord, ...] = ()
    closed: Closed = Closed.DRAINED
    receipts: tuple[Receipt, ...] = ()
    redelivered: bool = False
