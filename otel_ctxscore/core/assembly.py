"""Puts traces together from spans that come in any order, in pieces, twice or late.

A trace is due at min(first span + `max_age`, last span + (root seen ? `quiet_period` : `idle`)), by the time of
arrival: the senders' clocks are never asked. Spans lie here as the bytes they came in. Time is an argument, in
seconds of any steady clock.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from otel_ctxscore.core.outcomes import Closed
from otel_ctxscore.core.receipts import Receipt
from otel_ctxscore.core.spans import Delivery, KeptLog, KeptSpan, Origin

Record = TypeVar("Record", KeptSpan, KeptLog)

TRACE_BYTES, SPAN_BYTES, LOG_BYTES = 700, 294, 234
"""What an open trace takes beside its spans, and a kept span or log record beside its own bytes: objects, ids and table
entries as CPython 3.11 lays them out (tests/core/test_assembly_size.py)."""
DELIVERY_BYTES, ACCOUNT_BYTES = 105, 320
"""What a delivery takes that a trace holds, and what its source keeps of it where it has to commit it."""
ORIGIN_BYTES, ATTRIBUTE_BYTES = 85, 160
"""What a resource with its scope takes; where no other request shares it, its own bytes and so much an attribute come
on top."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a trace closes, in seconds, and how much is held at most, in traces and bytes."""

    quiet_period: float = 10.0
    idle: float = 120.0
    max_age: float = 600.0
    late_window: float = 300.0
    max_traces: int = 100_000
    max_size: int = 512 << 20


@dataclass(slots=True)
class Assembled:
    """A trace as it lies in the assembler, and as it leaves: `closed` is set then. `final`: nothing may be waited
    for any more. `parked` is what its holder said of it when it was sent back to wait, None where it never was or
    where spans have come since."""

    trace_id: bytes
    first: float
    last: float
    spans: dict[bytes, KeptSpan] = field(default_factory=dict)
    logs: dict[bytes, KeptLog] = field(default_factory=dict)
    receipts: list[Receipt] = field(default_factory=list)
    size: int = 0
    root_seen: bool = False
    redelivered: bool = False
    closed: Closed | None = None
    final: bool = False
    parked: object = None
    wait_until: float | None = None
    scheduled: float = math.inf


@dataclass(frozen=True, slots=True)
class Added:
    """What became of the spans of a delivery."""

    kept: int = 0
    late: int = 0
    duplicate: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """A trace that is held: since its first span came, and until when it waits if nothing more comes; no span moves
    that beyond `latest`. `late`: it closed with nothing that could be judged, and waits for late spans."""

    since: float
    until: float
    latest: float
    root_seen: bool
    late: bool = False

    def moved(self, by: float) -> Waiting:
        """The same on a clock that shows so many seconds more."""
        return replace(self, since=self.since + by, until=self.until + by, latest=self.latest + by)


class _Costs:
    """What a delivery takes beside its spans, charged to the first trace that it comes to; but an origin that no other
    request shares is charged to each trace that keeps it alive."""

    def __init__(self, delivery: Delivery) -> None:
        self._owed = DELIVERY_BYTES + (ACCOUNT_BYTES if delivery.receipt.owner is not None else 0)
        self._origin: Origin | None = None
        self._charged: set[tuple[int, bytes]] = set()

    def of_delivery(self) -> int:
        owed, self._owed = self._owed, 0
        return owed

    def of_origin(self, origin: Origin, trace_id: bytes) -> int:
        """What is new with a span of this origin. Spans of one origin stand together."""
        owed = 0 if origin is self._origin else ORIGIN_BYTES
        self._origin = origin
        if origin.size and (key := (id(origin), trace_id)) not in self._charged:
            self._charged.add(key)
            owed += origin.size + ATTRIBUTE_BYTES * sum(len(part.attributes) for part in origin.decoded)
        return owed


class TraceAssembler:
    """Open traces, traces that wait for late spans, and the ids of closed ones.

    `fuller` gives the better of two spans with one id, the first where they are equal. A trace beyond the caps is
    closed `evicted`: first what only waits for late spans, then the oldest. Ids of closed traces are remembered for
    `max_age` + `late_window`, `max_traces` of them at most, so that a late span is counted and starts no trace.
    """

    def __init__(self, limits: Limits, fuller: Callable[[KeptSpan, KeptSpan], KeptSpan]) -> None:
        self.limits = limits
        self._fuller = fuller
        self._open: dict[bytes, Assembled] = {}
        self._parked: dict[bytes, Assembled] = {}
        self._evicted: list[Assembled] = []
        self._leaving: dict[bytes, Assembled] = {}
        self._closed: OrderedDict[bytes, float] = OrderedDict()
        # One entry a trace that counts, (when, id) with `when` == its `scheduled`; older entries are passed over.
        self._heap: list[tuple[float, bytes]] = []
        self._held_bytes = 0
        self._evicted_bytes = 0

    @property
    def open_traces(self) -> int:
        """Traces held: open, waiting for late spans, or evicted and not yet taken."""
        return len(self._open) + len(self._parked) + len(self._evicted)

    @property
    def open_bytes(self) -> int:
        """Bytes that these take in memory. What a delivery takes that bears on several traces counts with the first of
        them."""
        return self._held_bytes + self._evicted_bytes

    @property
    def full(self) -> bool:
        """Whether one more trace would push out another."""
        return self.open_traces >= self.limits.max_traces or self.open_bytes >= self.limits.max_size

    def holds(self, trace_id: bytes) -> bool:
        """Whether a trace is open or waits for late spans."""
        return trace_id in self._open or trace_id in self._parked

    def waiting(self, trace_id: bytes) -> Waiting | None:
        """What a trace waits for; None where it is not held."""
        trace = self._held(trace_id)
        if trace is None:
            return None
        latest = trace.first + self.limits.max_age if trace.wait_until is None else trace.wait_until
        until, _ = self._deadline(trace)
        return Waiting(trace.first, until, latest, trace.root_seen, late=trace.parked is not None)

    def oldest(self) -> float | None:
        """Arrival of the first span of the oldest trace that is held."""
        fronts = (next(iter(traces), None) for traces in (self._evicted, self._parked.values(), self._open.values()))
        return min((trace.first for trace in fronts if trace is not None), default=None)

    def add(self, delivery: Delivery, now: float) -> Added:
        """Take a delivery. Each trace that it bears on holds its receipt once, also where it brings nothing new: the
        source may have read again what a trace still waits with."""
        kept = late = 0
        touched: dict[bytes, Assembled] = {}
        costs = _Costs(delivery)
        for trace_id, spans in _by_trace(delivery.spans).items():
            trace = self._joined(trace_id, delivery, now)
            if trace is None:
                late += len(spans)
                delivery.receipt.use()
                continue
            before = len(trace.spans)
            if self._take_spans(trace, spans, costs):
                touched[trace_id] = trace
            kept += len(trace.spans) - before
        for trace_id, logs in _by_trace(delivery.logs).items():
            trace = self._joined(trace_id, delivery, now)
            if trace is not None and self._take_logs(trace, logs, costs):
                touched[trace_id] = trace
        for trace in touched.values():
            self._touch(trace, delivery, now)
        while self._beyond_caps():
            self._evict_one()
        return Added(kept, late, len(delivery.spans) - kept - late)

    def due(self, now: float) -> list[Assembled]:
        """The traces that are complete by now. Whoever takes one has to `release` or `park` it."""
        taken, self._evicted, self._evicted_bytes = self._evicted, [], 0
        while self._heap and self._heap[0][0] <= now:
            when, trace_id = heapq.heappop(self._heap)
            trace = self._held(trace_id)
            if trace is None or trace.scheduled != when:
                continue
            ends, why = self._deadline(trace)
            if ends > now:
                self._schedule(trace, ends)
            else:
                taken.append(self._close(trace, why, now))
        self._forget(now)
        return taken

    def next_due(self) -> float | None:
        """When to ask `due` again, at the latest; it may find nothing then, for a later span moves the time. None
        while nothing is held."""
        if self._evicted:
            return -math.inf
        return self._heap[0][0] if self._heap else None

    def park(self, trace: Assembled, now: float, said: object) -> None:
        """Send a closed trace back to wait for late spans, with what was said of it. It leaves again, `final`, when
        the window ends or it is pushed out; earlier where spans come and it is quiet again."""
        trace.parked = said
        if trace.wait_until is None:
            trace.wait_until = now + self.limits.late_window
        self._closed.pop(trace.trace_id, None)
        self._leaving.pop(trace.trace_id, None)
        self._parked[trace.trace_id] = trace
        self._held_bytes += trace.size
        self._schedule(trace, trace.wait_until)
        while self._beyond_caps():
            self._evict_one()

    def drain(self, now: float) -> list[Assembled]:
        """Close everything that is held, for good; to be released like what is due."""
        taken, self._evicted, self._evicted_bytes = self._evicted, [], 0
        for trace in [*self._parked.values(), *self._open.values()]:
            taken.append(self._close(trace, Closed.DRAINED, now))
            trace.final = True
        return taken

    def release(self, trace: Assembled, *, again: bool = False) -> list[Receipt]:
        """The receipts of a trace that has left, to be settled now. With `again` its id is forgotten, for its spans
        will be delivered once more."""
        self._leaving.pop(trace.trace_id, None)
        if again:
            self._closed.pop(trace.trace_id, None)
        return trace.receipts

    def give_up(self, owner: object) -> list[Receipt]:
        """Drop what is held and has a receipt of this owner; the receipts that are to be settled as failed."""
        dropped: list[Receipt] = []
        for trace in [*self._parked.values(), *self._open.values()]:
            if any(receipt.owner is owner for receipt in trace.receipts):
                self._take_out(trace)
                dropped += trace.receipts
        return dropped

    def close_oldest(self, count: int) -> None:
        """Evict the oldest traces, for a source that may not wait for them any longer."""
        for _ in range(min(count, len(self._open) + len(self._parked))):
            self._evict_one()

    def _held(self, trace_id: bytes) -> Assembled | None:
        return self._open.get(trace_id) or self._parked.get(trace_id)

    def _joined(self, trace_id: bytes, delivery: Delivery, now: float) -> Assembled | None:
        """The held trace with this id, or a new one, with the delivery's receipt. None where it is closed already: if
        it is still on its way it holds the receipt as well."""
        trace = self._held(trace_id)
        if trace is None and trace_id not in self._closed:
            trace = self._open[trace_id] = Assembled(trace_id, first=now, last=now)
            self._grow(trace, TRACE_BYTES)
        holder = trace or self._leaving.get(trace_id)
        if holder is not None and (not holder.receipts or holder.receipts[-1] is not delivery.receipt):
            delivery.receipt.hold()
            holder.receipts.append(delivery.receipt)
        return trace

    def _take_spans(self, trace: Assembled, spans: list[KeptSpan], costs: _Costs) -> bool:
        """Whether they bring something new. A second copy replaces the first only where it is fuller."""
        held, size, new = trace.spans, costs.of_delivery(), False
        for span in spans:
            known = held.get(span.span_id)
            if known is None:
                size += len(span.raw) + SPAN_BYTES
            elif self._fuller(known, span) is known:
                continue
            else:
                size += len(span.raw) - len(known.raw)
            size += costs.of_origin(span.origin, trace.trace_id)
            held[span.span_id] = span
            trace.root_seen = trace.root_seen or not span.parent_span_id
            new = True
        self._grow(trace, size)
        return new

    def _take_logs(self, trace: Assembled, logs: list[KeptLog], costs: _Costs) -> bool:
        size, new = costs.of_delivery(), False
        for log in logs:
            if log.raw not in trace.logs:
                trace.logs[log.raw] = log
                size += len(log.raw) + LOG_BYTES + costs.of_origin(log.origin, trace.trace_id)
                new = True
        self._grow(trace, size)
        return new

    def _grow(self, trace: Assembled, size: int) -> None:
        trace.size += size
        self._held_bytes += size

    def _touch(self, trace: Assembled, delivery: Delivery, now: float) -> None:
        """Note that something new came: the trace waits anew."""
        trace.last = now
        trace.redelivered = trace.redelivered or delivery.redelivered
        if self._parked.pop(trace.trace_id, None) is not None:
            self._open[trace.trace_id] = trace
            trace.parked = None
        ends, _ = self._deadline(trace)
        if ends < trace.scheduled:
            self._schedule(trace, ends)

    def _schedule(self, trace: Assembled, when: float) -> None:
        trace.scheduled = when
        heapq.heappush(self._heap, (when, trace.trace_id))

    def _deadline(self, trace: Assembled) -> tuple[float, Closed]:
        """When a trace is due, and why."""
        limits = self.limits
        if trace.parked is not None:
            return trace.wait_until or 0.0, trace.closed or Closed.IDLE
        quiet, why = (limits.quiet_period, Closed.ROOT_SEEN) if trace.root_seen else (limits.idle, Closed.IDLE)
        ends = trace.first + limits.max_age
        if trace.wait_until is not None:  # completed by a late span: what comes now comes in one flush
            ends, quiet = trace.wait_until, limits.quiet_period
        return (ends, Closed.MAX_AGE) if ends < trace.last + quiet else (trace.last + quiet, why)

    def _close(self, trace: Assembled, why: Closed, now: float) -> Assembled:
        """Send a trace on its way. One that nothing came for keeps its first reason."""
        waited = self._take_out(trace)
        for receipt in trace.receipts:
            receipt.use()
        trace.closed = trace.closed if waited and trace.closed is not None else why
        trace.final = waited or (trace.wait_until is not None and now >= trace.wait_until)
        self._leaving[trace.trace_id] = trace
        self._remember(trace.trace_id, now)
        return trace

    def _take_out(self, trace: Assembled) -> bool:
        """Take a trace out of the tables; whether it was parked."""
        waited = self._parked.pop(trace.trace_id, None) is not None
        self._open.pop(trace.trace_id, None)
        self._held_bytes -= trace.size
        trace.scheduled = math.inf
        return waited

    def _remember(self, trace_id: bytes, now: float) -> None:
        self._closed[trace_id] = now
        self._closed.move_to_end(trace_id)
        if len(self._closed) > self.limits.max_traces:
            self._closed.popitem(last=False)

    def _forget(self, now: float) -> None:
        horizon = now - self.limits.max_age - self.limits.late_window
        while self._closed and next(iter(self._closed.values())) < horizon:
            self._closed.popitem(last=False)

    def _beyond_caps(self) -> bool:
        held = len(self._open) + len(self._parked)
        return held > 0 and (held > self.limits.max_traces or self._held_bytes > self.limits.max_size)

    def _evict_one(self) -> None:
        trace = next(iter(self._parked.values()), None) or next(iter(self._open.values()))
        self._close(trace, Closed.EVICTED, trace.last)
        trace.final = True
        self._evicted.append(trace)
        self._evicted_bytes += trace.size


def _by_trace(records: Iterable[Record]) -> dict[bytes, list[Record]]:
    found: dict[bytes, list[Record]] = {}
    for record in records:
        found.setdefault(record.trace_id, []).append(record)
    return found
