from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from otel_ctxscore.core.offsets import PartitionLedger
from otel_ctxscore.core.receipts import Outcome, Receipt


def test_the_lowest_open_offset_is_committable() -> None:
    ledger = PartitionLedger(position=5)
    receipts = {offset: ledger.take(offset, now=offset) for offset in (5, 6, 9)}
    assert ledger.committable == 5
    assert ledger.oldest() == 5
    for offset, committable in ((9, 5), (5, 6), (6, 10)):
        receipt = receipts[offset]
        assert receipt is not None
        receipt.settle()
        assert ledger.committable == committable
    assert ledger.oldest() is None


def test_what_failed_stays_open_and_is_read_again_as_a_repeat() -> None:
    ledger = PartitionLedger(position=0)
    first, second, third = (ledger.take(offset, 0) for offset in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    first.settle()
    second.settle(Outcome.FAILED)
    third.settle()
    assert ledger.committable == 1
    assert ledger.rewind() == 1
    assert ledger.redelivers(1)
    again = ledger.take(1, 0)
    assert again is not None
    assert ledger.take(2, 0) is None, "done with: it is not handed out again"
    assert ledger.rewind() is None
    again.settle()
    assert ledger.committable == 3


def test_what_an_earlier_process_handed_out_is_a_repeat() -> None:
    ledger = PartitionLedger(position=3, watermark=7)
    assert [ledger.redelivers(offset) for offset in (3, 7, 8)] == [True, True, False]
    assert ledger.high == 7


class Log(RuleBasedStateMachine):
    """A log that is read, settled in any order, rewound and read again: nothing is committed that is not done."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = PartitionLedger(position=0)
        self.read_to = 0
        self.open: dict[int, Receipt] = {}
        self.done: set[int] = set()
        self.highest_committable = 0

    @rule()
    def read(self) -> None:
        offset = self.read_to + (self.read_to % 4 == 3)  # compaction and transactions leave gaps
        receipt = self.ledger.take(offset, now=0.0)
        if receipt is None:
            assert offset in self.done or offset in self.open
        else:
            assert offset not in self.done
            self.open[offset] = receipt
        self.read_to = offset + 1

    @precondition(lambda self: self.open)
    @rule(choice=st.integers(0, 50), outcome=st.sampled_from(Outcome))
    def settle(self, choice: int, outcome: Outcome) -> None:
        offset = sorted(self.open)[choice % len(self.open)]
        self.open.pop(offset).settle(outcome)
        if outcome is Outcome.DONE:
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
        assert self.ledger.high >= max(self.done | set(self.open), default=-1)


TestLog = Log.TestCase
TestLog.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
