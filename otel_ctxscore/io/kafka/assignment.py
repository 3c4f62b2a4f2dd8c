"""The partitions of one assignment: their ledgers, and what the group has written down of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from aiokafka import TopicPartition

from otel_ctxscore.core.offsets import PartitionLedger
from otel_ctxscore.core.receipts import Withdrawn
from otel_ctxscore.io.kafka.group import Member, Position

log = logging.getLogger(__name__)

_HIGH = "ctxscore:high="


def noted(used: int) -> str:
    """The metadata of a commit: the highest offset of which something went down the line."""
    return f"{_HIGH}{used}"


def watermark(metadata: str) -> int:
    """The offset that `noted` wrote; -1 where the metadata is not ours."""
    high = metadata.removeprefix(_HIGH)
    return int(high) if metadata.startswith(_HIGH) and high.lstrip("-").isdigit() else -1


@dataclass(slots=True)
class _Partition:
    ledger: PartitionLedger
    written: Position | None
    """What the group has of it, as far as we know."""
    secured: int = -1
    given_up: int = 0


class Assignment:
    """What a member holds between two rebalances. `wanted` is called when a commit is waited for."""

    def __init__(self, member: Member, wanted: Callable[[], None]) -> None:
        self._member = member
        self._wanted = wanted
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._waiting: list[tuple[_Partition, int, asyncio.Future[None]]] = []
        self._withdrawn = False

    async def take_on(self, partition: TopicPartition, written: Position | None, begins: int) -> None:
        """Begin a partition where the group, or without a commit `start`, has it begin; or, where the log no longer
        reaches back so far, at its beginning."""
        position = await self._member.position(partition)
        if written is not None and position != written[0]:
            # A consumer that was not told of the commit begins at `start`, and would leave out all in between.
            self._member.seek(partition, written[0])
            position = written[0]
        if position < begins:
            lost = f"offsets {position} to {begins - 1} were deleted before they were done with"
            log.error("kafka: %s[%d]: %s", partition.topic, partition.partition, lost)
            self._member.seek(partition, begins)
            position = begins
        high = watermark(written[1]) if written is not None else -1
        ledger = PartitionLedger(position, watermark=high, secure=lambda _, offset: self._secure(held, offset))
        self._partitions[partition] = held = _Partition(ledger, written, high)

    def ledger(self, partition: TopicPartition) -> PartitionLedger | None:
        """The ledger of a partition; None where it is not ours, or not yet."""
        found = self._partitions.get(partition)
        return found.ledger if found is not None else None

    def ledgers(self) -> Iterator[tuple[TopicPartition, PartitionLedger]]:
        return ((partition, held.ledger) for partition, held in self._partitions.items())

    async def commit(self) -> bool:
        """Write down what is done with and what went down the line; False where that is no longer ours to do."""
        states = {tp: (held.ledger.committable, noted(held.ledger.used)) for tp, held in self._partitions.items()}
        used = {tp: held.ledger.used for tp, held in self._partitions.items()}
        new = {tp: state for tp, state in states.items() if self._partitions[tp].written != state}
        if new and not await self._member.commit(new):
            return False
        for tp, state in states.items():
            self._partitions[tp].written, self._partitions[tp].secured = state, used[tp]
        self._wake()
        return True

    @property
    def waited_for(self) -> bool:
        """Whether something waits for a commit."""
        return bool(self._waiting)

    def withdraw(self) -> None:
        """No commit follows: what waits for one is for those to do who have the partitions next."""
        self._withdrawn = True
        self._wake()

    async def _secure(self, held: _Partition, offset: int) -> None:
        if offset <= held.secured:
            return
        if self._withdrawn:
            raise Withdrawn
        written = asyncio.get_running_loop().create_future()
        self._waiting.append((held, offset, written))
        self._wanted()
        await written

    def _wake(self) -> None:
        """Let go what is noted by now, and, once withdrawn, all else."""
        waiting, self._waiting = self._waiting, []
        for held, offset, written in waiting:
            if written.done():
                continue
            if offset <= held.secured:
                written.set_result(None)
            elif self._withdrawn:
                written.set_exception(Withdrawn())
            else:
                self._waiting.append((held, offset, written))

    def rewind(self) -> bool:
        """Read again from the lowest offset of each partition that failed; whether any did."""
        rewound = False
        for tp, held in self._partitions.items():
            offset = held.ledger.rewind()
            if offset is not None:
                log.warning("kafka: %s[%d]: reading again from offset %d", tp.topic, tp.partition, offset)
                self._member.seek(tp, offset)
                rewound = True
            if held.ledger.given_up > held.given_up:
                new = held.ledger.given_up - held.given_up
                log.error("kafka: %s[%d]: %d records given up after repeated failures", tp.topic, tp.partition, new)
                held.given_up = held.ledger.given_up
        return rewound

    def lag(self) -> int:
        """Records that are not committed as done with, to the end of each partition as of its last fetch."""
        ends = ((self._member.highwater(tp), ledger) for tp, ledger in self.ledgers())
        return sum(max(0, end - ledger.committable) for end, ledger in ends if end is not None)

    def oldest(self) -> float | None:
        """When the oldest record that is not done with was handed out."""
        ages = (ledger.oldest() for _, ledger in self.ledgers())
        return min((age for age in ages if age is not None), default=None)
