"""From the bytes of a request to the spans and logs that are kept. What sampling drops is never built as an object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from otel_ctxscore.core.codec import json, proto
from otel_ctxscore.core.codec.evaluations import EVENT_NAMES, SCOPE_NAME
from otel_ctxscore.core.codec.wire import (
    NO_SPAN_ID,
    NO_TRACE_ID,
    SPAN_ID_SIZE,
    TRACE_ID_SIZE,
    Encoding,
    Group,
    Malformed,
    Wire,
    parent_of,
)
from otel_ctxscore.core.spans import KeptLog, KeptSpan, Origin

WIRES: dict[Encoding, Wire] = {"proto": proto, "json": json}

_LOG_TAGS = (b"\x09", b"\x59")
"""How a log record may start in protobuf, by its times, and a span may not."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a request held.

    `sampled_out` and `own` (spans and logs of evaluators) are dropped without loss; `invalid` records can never be
    taken, and `complaints` says why, a line for each reason.
    """

    spans: list[KeptSpan] = field(default_factory=list)
    logs: list[KeptLog] = field(default_factory=list)
    sampled_out: int = 0
    own: int = 0
    invalid: int = 0
    complaints: tuple[str, ...] = ()


def take_traces(body: bytes, encoding: Encoding, keeps: Callable[[bytes], bool], *, keep_own: bool = False) -> Taken:
    """The spans of an ExportTraceServiceRequest, or TracesData, whose trace `keeps`.

    Spans are rejected one by one: an id that is none, or a log record among them. With `keep_own` the spans of
    evaluators are kept as well. Raises Malformed where the body cannot be read.
    """
    intake = _Intake(WIRES[encoding], keeps, keep_own)
    for group in intake.wire.groups(body):
        if group.kind == "spans":
            intake.take_spans(group)
        else:
            intake.reject("a log record in a request of traces", len(group.records))
    return intake.taken()


def take_logs(body: bytes, encoding: Encoding, keeps: Callable[[bytes], bool], *, keep_own: bool = False) -> Taken:
    """The log records of an ExportLogsServiceRequest that can carry content of a span whose trace `keeps`.

    Those are the records that bear a span's ids and an event name or an attribute of generative AI. All others are
    nobody's loss and are not counted; a span among them is rejected. Raises Malformed where the body cannot be read.
    """
    intake = _Intake(WIRES[encoding], keeps, keep_own)
    for group in intake.wire.groups(body):
        if encoding == "proto" or group.kind == "logs":
            intake.take_logs(group)
        else:
            intake.reject("a span in a request of logs", len(group.records))
    return intake.taken()


def take_any(body: bytes, encoding: Encoding, keeps: Callable[[bytes], bool], *, keep_own: bool = False) -> Taken:
    """The spans or the log records of a request of either signal, found by its content. Raises Malformed."""
    intake = _Intake(WIRES[encoding], keeps, keep_own)
    for group in intake.wire.groups(body):
        if group.kind == "logs" or (encoding == "proto" and _holds_logs(group)):
            intake.take_logs(group)
        else:
            intake.take_spans(group)
    return intake.taken()


def _holds_logs(group: Group) -> bool:
    """Whether protobuf records without a name for their kind are log records: such a one reads as a span without id."""
    try:
        return not any(proto.span_outline(raw)[0] for raw in group.records[:1])
    except Malformed:
        return True


class _Decisions(dict[bytes, bool]):
    """Whether a trace is kept, by its id and by the first bytes of its spans as they stand in the request.

    First bytes that do not tell the trace say yes: the span is looked at.
    """

    def __init__(self, wire: Wire, keeps: Callable[[bytes], bool]) -> None:
        super().__init__()
        self._trace_id = wire.trace_id
        self._keeps = keeps

    def __missing__(self, head: bytes) -> bool:
        trace_id = self._trace_id(head)
        told = len(trace_id) == TRACE_ID_SIZE and trace_id != NO_TRACE_ID
        kept = self[head] = not told or self._keeps(trace_id)
        if told and kept:
            self[trace_id] = True
        return kept

    def of_trace(self, trace_id: bytes) -> bool:
        kept = self.get(trace_id)
        if kept is None:
            kept = self[trace_id] = self._keeps(trace_id)
        return kept


class _Intake:
    """Collects what is kept of one request."""

    def __init__(self, wire: Wire, keeps: Callable[[bytes], bool], keep_own: bool) -> None:
        self.wire = wire
        self._keep_own = keep_own
        self._decisions = _Decisions(wire, keeps)
        self._spans: list[KeptSpan] = []
        self._logs: list[KeptLog] = []
        self._sampled_out = 0
        self._own = 0
        self._rejected: Counter[str] = Counter()

    def taken(self) -> Taken:
        complaints = tuple(f"{why}: {n} of the request" for why, n in self._rejected.items())
        invalid = self._rejected.total()
        return Taken(self._spans, self._logs, self._sampled_out, self._own, invalid, complaints)

    def reject(self, why: str, count: int = 1) -> None:
        self._rejected[why] += count

    def take_spans(self, group: Group) -> None:
        head, decisions, records = self.wire.HEAD, self._decisions, group.records
        kept = [raw for raw in records if decisions[raw[head]]]
        self._sampled_out += len(records) - len(kept)
        if kept:
            self._take_kept(kept, group.origin)

    def _take_kept(self, kept: list[bytes], origin: Origin) -> None:
        outline, of_trace = self.wire.span_outline, self._decisions.of_trace
        try:
            ours = _is_ours(origin)
        except Malformed as error:
            self.reject(f"unreadable resource or scope ({error})", len(kept))
            return
        for raw in kept:
            try:
                trace_id, span_id, parent, marked = outline(raw)
            except Malformed as error:
                self.reject(f"unreadable span ({error})")
                continue
            if why := _fault_of(raw, trace_id, span_id):
                self.reject(why)
            elif not of_trace(trace_id):
                self._sampled_out += 1
            elif (marked or ours) and not self._keep_own:
                self._own += 1
            else:
                self._spans.append(KeptSpan(trace_id, span_id, parent_of(parent, span_id), raw, origin))

    def take_logs(self, group: Group) -> None:
        for raw in group.records:
            self._take_log(raw, group.origin)

    def _take_log(self, raw: bytes, origin: Origin) -> None:
        if proto.trace_id(raw[proto.HEAD]):
            return self.reject("a span in a request of logs")
        try:
            trace_id, span_id, event_name, speaks_of_ai = self.wire.log_outline(raw)
            own = not self._keep_own and (event_name in EVENT_NAMES or _is_ours(origin))
        except Malformed as error:
            return self.reject(f"unreadable log record ({error})")
        if (
            not (event_name or speaks_of_ai)
            or not _is_valid(trace_id, TRACE_ID_SIZE)
            or not _is_valid(span_id, SPAN_ID_SIZE)
        ):
            return None
        if not self._decisions.of_trace(trace_id):
            self._sampled_out += 1
        elif own:
            self._own += 1
        else:
            self._logs.append(KeptLog(trace_id, span_id, raw, origin))
        return None


def _is_ours(origin: Origin) -> bool:
    return origin.decoded[1].name == SCOPE_NAME


def _is_valid(written: bytes, size: int) -> bool:
    return len(written) == size and any(written)


def _fault_of(raw: bytes, trace_id: bytes, span_id: bytes) -> str | None:
    if len(trace_id) != TRACE_ID_SIZE:
        return "a log record in a request of traces" if raw.startswith(_LOG_TAGS) else "trace id is not of 16 bytes"
    if trace_id == NO_TRACE_ID:
        return "trace id is all zero"
    if len(span_id) != SPAN_ID_SIZE:
        return "span id is not of 8 bytes"
    return "span id is all zero" if span_id == NO_SPAN_ID else None
