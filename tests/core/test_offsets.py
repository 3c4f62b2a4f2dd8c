from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from otel_ctxscore.core.offsets import TRIES, PartitionLedger
from otel_ctxscore.core.receipts import Outcome, Receipt


def test_the_lowest_open_offset_is_committable() -> None:
    ledger = PartitionLedger(position=5)
    receipts = {offset: ledger.take(offset, now=offset) for offset in (5, 6, 9)}
    assert ledger.committable == 5
    assert ledger.oldest() == 5
    for offset, committable in ((9, 5), (5, 6), (6, 10)):
        receipts[offset].settle()
        assert ledger.committable == committable
    assert ledger.oldest() is None


def test_what_failed_stays_open_and_is_read_again_as_a_repeat() -> None:
    ledger = PartitionLedger(position=0)
    first, second, third = (ledger.take(offset, 0) for offset in range(3))
    first.settle()
    second.settle(Outcome.FAILED)
    third.settle()
    assert ledger.committable == 1
    assert ledger.rewind() == 1
    assert ledger.redelivers(1)
    assert ledger.wants(1)
    assert not ledger.wants(2), "done with: it is not handed out again"
    again = ledger.take(1, 0)
    assert ledger.rewind() is None
    again.settle()
    assert ledger.committable == 3


def test_what_fails_again_and_again_is_given_up() -> None:
    ledger = PartitionLedger(position=0)
    for _ in range(TRIES - 1):
        ledger.take(0, 0).settle(Outcome.FAILED)
        assert ledger.rewind() == 0
    ledger.take(0, 0).settle(Outcome.FAILED)
    assert ledger.rewind() is None
    assert (ledger.committable, ledger.given_up) == (1, 1)


def test_what_the_line_had_no_room_for_is_wanted_again_and_no_failure() -> None:
    ledger = PartitionLedger(position=0)
    ledger.take(0, 0)
    ledger.put_back(0)
    assert ledger.committable == 0
    assert ledger.rewind() is None
    assert ledger.wants(0)
    ledger.take(0, 0).settle()
    assert ledger.committable == 1


def test_what_an_earlier_process_handed_out_is_a_repeat() -> None:
    ledger = PartitionLedger(position=3, watermark=7)
    assert [ledger.redelivers(offset) for offset in (3, 7, 8)] == [True, True, False]
    assert ledger.used == 7


def test_only_what_went_down_the_line_can_make_a_repeat_elsewhere() -> None:
    ledger = PartitionLedger(position=0)
    receipts = [ledger.take(offset, 0) for offset in range(3)]
    assert ledger.used == -1
    receipts[1].use()
    receipts[0].use()
    assert ledger.used == 1


class Log(RuleBasedStateMachine):
    """A log that is read, settled in any order, rewound and read again: nothing is committed that is not done."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = PartitionLedger(position=0)
        self.read_to = 0
        self.open: dict[int, Receipt] = {}
        self.done: set[int] = set()
        self.empty: set[int] = set()
        self.failures: Counter[int] = Counter()
        self.highest_committable = 0

    @rule(empty=st.booleans())
    def read(self, empty: bool) -> None:
        offset = self.read_to + (self.read_to % 4 == 3)  # compaction and transactions leave gaps
        if not self.ledger.wants(offset):
            assert offset in self.done or offset in self.open or offset in self.empty
        elif offset in self.empty or (empty and offset not in self.failures):
            self.ledger.pass_over(offset)
            self.empty.add(offset)
        else:
            assert offset not in self.done
            self.open[offset] = self.ledger.take(offset, now=0.0)
        self.read_to = offset + 1

    @precondition(lambda self: self.open)
    @rule(choice=st.integers(0, 50), outcome=st.sampled_from(Outcome))
    def settle(self, choice: int, outcome: Outcome) -> None:
        offset = sorted(self.open)[choice % len(self.open)]
        self.open.pop(offset).settle(outcome)
        self.failures[offset] += outcome is Outcome.FAILED
        if outcome is Outcome.DONE or self.failures[offset] == TRIES:
            self.done.add(offset)

    @rule()
    def rewind(self) -> None:
        offset = self.ledger.rewind()
        if offset is not None:
            assert offset not in self.done
            assert self.ledger.redelivers(offset)
            self.read_to = offset

    @invariant()
    def only_what_is_done_is_committable(self) -> None:
        committable = self.ledger.committable
        assert committable >= self.highest_committable
        self.highest_committable = committable
        assert not [offset for offset in self.open if offset < committable]
        assert not [offset for offset in self.failures if offset < committable and offset not in self.done]


TestLog = Log.TestCase
TestLog.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
