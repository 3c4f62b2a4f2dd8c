from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from otel_ctxscore.core.assembly import Added, Assembled, Limits, TraceAssembler, Waiting
from otel_ctxscore.core.outcomes import Closed
from otel_ctxscore.core.receipts import Outcome, Receipt
from otel_ctxscore.core.spans import Delivery, KeptLog, KeptSpan, Origin, Resource, Scope

ORIGIN = Origin(lambda: (Resource(), Scope()), json=False)
LIMITS = Limits(quiet_period=10, idle=120, max_age=600, late_window=300, max_traces=1000, max_size=1 << 20)


def longer(a: KeptSpan, b: KeptSpan) -> KeptSpan:
    return b if len(b.raw) > len(a.raw) else a


def span(trace: int, number: int, root: bool = False, raw: bytes = b"x") -> KeptSpan:
    return KeptSpan(trace.to_bytes(16), number.to_bytes(8), b"" if root else b"p" * 8, raw, ORIGIN)


def log(trace: int, raw: bytes = b"log") -> KeptLog:
    return KeptLog(trace.to_bytes(16), b"s" * 8, raw, ORIGIN)


def delivery(*spans: KeptSpan, logs: tuple[KeptLog, ...] = ()) -> Delivery:
    return Delivery(spans, Receipt(), logs)


def assembler(**limits: float) -> TraceAssembler:
    return TraceAssembler(Limits(**{**{n: getattr(LIMITS, n) for n in Limits.__slots__}, **limits}), longer)


def closings(taken: list[Assembled]) -> list[tuple[int, str, int]]:
    return [(int.from_bytes(t.trace_id), str(t.closed), len(t.spans)) for t in taken]


def test_a_trace_is_due_when_quiet_after_its_root_or_idle_without_one() -> None:
    line = assembler()
    line.add(delivery(span(1, 1), span(1, 2, root=True), span(2, 1)), now=0)
    assert line.next_due() == 10
    assert closings(line.due(9.9)) == []
    assert closings(line.due(10)) == [(1, "root_seen", 2)]
    assert closings(line.due(119)) == []
    assert closings(line.due(120)) == [(2, "idle", 1)]
    assert line.next_due() is None


def test_a_span_that_comes_before_it_is_due_makes_it_wait_anew() -> None:
    line = assembler()
    for now in range(0, 40, 3):
        line.add(delivery(span(1, now)), now)
        assert not line.due(now)
    line.add(delivery(span(1, 99, root=True)), 40)
    assert closings(line.due(49)) == []
    assert closings(line.due(50)) == [(1, "root_seen", 15)]


def test_a_trace_that_never_rests_closes_at_max_age() -> None:
    line = assembler()
    taken = []
    for now in range(0, 700, 5):
        line.add(delivery(span(1, now)), now)
        taken += line.due(now)
    assert closings(taken) == [(1, "max_age", 121)]


def test_late_spans_are_counted_and_open_no_trace() -> None:
    line = assembler()
    line.add(delivery(span(1, 1, root=True)), 0)
    line.release(line.due(10)[0])
    late = delivery(span(1, 2))
    assert line.add(late, 12) == Added(late=1)
    assert line.open_traces == 0
    late.receipt.settle()
    assert not late.receipt.open
    line.due(10 + 600 + 300 + 1)
    assert line.add(delivery(span(1, 3)), 912) == Added(kept=1), "the memory of closed ids is bounded in time"


def test_duplicates_merge_and_the_fuller_one_wins() -> None:
    line = assembler()
    assert line.add(delivery(span(1, 1, raw=b"xx"), span(1, 1, raw=b"x")), 0) == Added(kept=1, duplicate=1)
    assert line.add(delivery(span(1, 1, raw=b"xxx")), 1) == Added(duplicate=1)
    (trace,) = line.due(121)
    assert [s.raw for s in trace.spans.values()] == [b"xxx"]


def test_equal_copies_postpone_nothing_but_wait_with_the_first() -> None:
    line = assembler()
    line.add(delivery(span(1, 1)), 0)
    again, late = delivery(span(1, 1)), delivery(span(1, 2))
    line.add(again, 5)
    again.receipt.settle()
    (trace,) = line.due(120)
    assert closings([trace]) == [(1, "idle", 1)]
    line.add(late, 121)
    late.receipt.settle()
    assert again.receipt.open, "read again by its source, it must not be committed before the trace is done with"
    assert late.receipt.open, "the same for what comes while the trace is judged"
    for receipt in line.release(trace)[1:]:
        receipt.settle()
    assert not again.receipt.open
    assert not late.receipt.open


def test_a_failed_trace_is_put_together_again_when_its_spans_come_once_more() -> None:
    line = assembler()
    line.add(delivery(span(1, 1, root=True)), 0)
    (trace,) = line.due(10)
    line.release(trace, again=True)
    assert line.add(delivery(span(1, 1, root=True)), 20) == Added(kept=1)


def test_what_an_owner_delivered_can_be_given_up() -> None:
    line = assembler()
    owner = object()
    line.add(Delivery([span(1, 1), span(2, 1)], Receipt(owner=owner)), 0)
    line.add(delivery(span(3, 1)), 0)
    assert len(line.give_up(owner)) == 2
    assert closings(line.due(120)) == [(3, "idle", 1)]
    assert line.add(delivery(span(1, 1)), 121) == Added(kept=1)


def test_log_records_lie_beside_the_spans() -> None:
    line = assembler()
    line.add(delivery(span(1, 1, root=True), logs=(log(1), log(1), log(1, b"other"))), 0)
    (trace,) = line.due(10)
    assert [record.raw for record in trace.logs.values()] == [b"log", b"other"]


def test_a_parked_trace_is_completed_by_late_spans_within_its_window() -> None:
    line = assembler()
    line.add(delivery(span(1, 1, root=True)), 0)
    (trace,) = line.due(10)
    line.park(trace, 10, "not_rag")
    assert closings(line.due(200)) == []
    assert line.add(delivery(span(1, 2)), 200) == Added(kept=1)
    (again,) = line.due(210)
    assert (closings([again]), again.final, again.parked) == ([(1, "root_seen", 2)], False, None)
    line.park(again, 210, "not_rag")
    (last,) = line.due(310)
    assert last.final
    assert last.parked == "not_rag"
    assert line.open_bytes == 0


def test_it_says_what_a_trace_waits_for() -> None:
    line = assembler()
    line.add(delivery(span(1, 1)), 3)
    assert line.waiting((1).to_bytes(16)) == Waiting(3, until=123, latest=603, root_seen=False)
    line.add(delivery(span(1, 2, root=True)), 5)
    assert line.waiting((1).to_bytes(16)) == Waiting(3, until=15, latest=603, root_seen=True)
    (trace,) = line.due(15)
    assert line.waiting(trace.trace_id) is None
    line.park(trace, 15, "not_rag")
    assert line.waiting(trace.trace_id) == Waiting(3, until=315, latest=315, root_seen=True, late=True)
    line.add(delivery(span(1, 3)), 110)
    assert line.waiting(trace.trace_id) == Waiting(3, until=120, latest=315, root_seen=True)


def test_what_only_waits_is_pushed_out_before_what_is_open() -> None:
    line = assembler(max_traces=2)
    line.add(delivery(span(1, 1, root=True)), 0)
    (trace,) = line.due(10)
    line.park(trace, 10, "not_rag")
    line.add(delivery(span(2, 1)), 11)
    assert line.full
    line.add(delivery(span(3, 1)), 12)
    assert closings(line.due(12)) == [(1, "root_seen", 1)]
    line.add(delivery(span(4, 1)), 13)
    assert closings(line.due(13)) == [(2, "evicted", 1)]


def test_bytes_are_capped_too() -> None:
    line = assembler(max_size=10_000)
    for n in range(20):
        line.add(delivery(span(n, 1, raw=b"x" * 1000)), n)
    assert line.open_bytes <= 10_000 + sum(trace.size for trace in line.due(20))
    assert line.open_bytes <= 10_000


def test_drain_closes_everything_for_good() -> None:
    line = assembler()
    line.add(delivery(span(1, 1, root=True)), 0)
    (trace,) = line.due(10)
    line.park(trace, 10, "not_rag")
    line.add(delivery(span(2, 1)), 11)
    taken = line.drain(12)
    assert closings(taken) == [(1, "root_seen", 1), (2, "drained", 1)]
    assert all(t.final for t in taken)
    assert (line.open_traces, line.open_bytes, line.next_due()) == (0, 0, line.next_due())


class Assembly(RuleBasedStateMachine):
    """No span is lost or doubled, every receipt is settled exactly once, and the caps hold, whatever happens."""

    def __init__(self) -> None:
        super().__init__()
        self.limits = Limits(quiet_period=2, idle=5, max_age=20, late_window=10, max_traces=4, max_size=4000)
        self.line = TraceAssembler(self.limits, longer)
        self.now = 0.0
        self.settled: list[Outcome] = []
        self.deliveries = 0
        self.kept = self.left = 0

    @rule(
        traces=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9), st.booleans(), st.integers(1, 900)), max_size=6)
    )
    def deliver(self, traces: list[tuple[int, int, bool, int]]) -> None:
        receipt = Receipt(self.settled.append)
        spans = [span(t, n, root, b"x" * size) for t, n, root, size in traces]
        added = self.line.add(Delivery(spans, receipt), self.now)
        assert added.kept + added.late + added.duplicate == len(spans)
        receipt.settle()
        self.deliveries += 1
        self.kept += added.kept

    @rule(step=st.floats(0, 8))
    def pass_time(self, step: float) -> None:
        self.now += step

    @rule(parks=st.booleans())
    def take_due(self, parks: bool) -> None:
        for trace in self.line.due(self.now):
            if parks and not trace.final:
                self.line.park(trace, self.now, "waits")
            else:
                self._leave(trace)

    @precondition(lambda self: self.line.open_traces)
    @rule()
    def drain(self) -> None:
        for trace in self.line.drain(self.now):
            assert trace.final
            self._leave(trace)
        assert self.line.open_traces == self.line.open_bytes == 0

    def _leave(self, trace: Assembled) -> None:
        assert isinstance(trace.closed, Closed)
        assert len(trace.receipts) == len({id(r) for r in trace.receipts})
        self.left += len(trace.spans)
        for receipt in self.line.release(trace):
            receipt.settle()

    @invariant()
    def nothing_is_lost(self) -> None:
        held = [*self.line._open.values(), *self.line._parked.values(), *self.line._evicted]
        assert self.left + sum(len(t.spans) for t in held) == self.kept
        assert self.line.open_bytes == sum(t.size for t in held)
        if not held:
            assert len(self.settled) == self.deliveries

    @invariant()
    def caps_hold(self) -> None:
        tables = [*self.line._open.values(), *self.line._parked.values()]
        assert len(tables) <= self.limits.max_traces
        assert sum(t.size for t in tables) <= self.limits.max_size
        assert len(self.line._closed) <= self.limits.max_traces

    @invariant()
    def whatever_is_held_will_fall_due(self) -> None:
        if self.line.open_traces:
            due = self.line.next_due()
            assert due is not None
            assert due <= self.now + self.limits.max_age + self.limits.late_window


TestAssembly = Assembly.TestCase
TestAssembly.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
