"""The partitions of one assignment: their ledgers, and what the group has written down of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from aiokafka import TopicPartition

from otel_ctxscore.core.offsets import PartitionLedger
from otel_ctxscore.io.kafka.group import Member, Position

log = logging.getLogger(__name__)

_HIGH = "ctxscore:high="


def noted(high: int) -> str:
    """The metadata of a commit: the highest offset that was handed out."""
    return f"{_HIGH}{high}"


def watermark(metadata: str) -> int:
    """The offset that `noted` wrote; -1 where the metadata is not ours."""
    high = metadata.removeprefix(_HIGH)
    return int(high) if metadata.startswith(_HIGH) and high.lstrip("-").isdigit() else -1


@dataclass(slots=True)
class _Partition:
    ledger: PartitionLedger
    written: Position | None
    """What the group has of it, as far as we know."""
    given_up: int = 0


class Assignment:
    """What a member holds between two rebalances. An ended one commits nothing and hands nothing out."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._partitions: dict[TopicPartition, _Partition] = {}

    async def take_on(self, partition: TopicPartition, written: Position | None, begins: int) -> None:
        """Begin a partition where the group, or without a commit `start`, has it begin; or, where the log no longer
        reaches back so far, at its beginning."""
        position = await self._member.position(partition)
        if position < begins:
            lost = f"offsets {position} to {begins - 1} were deleted before they were done with"
            log.error("kafka: %s[%d]: %s", partition.topic, partition.partition, lost)
            self._member.seek(partition, begins)
            position = begins
        high = watermark(written[1]) if written is not None else -1
        self._partitions[partition] = _Partition(PartitionLedger(position, watermark=high), written)

    def ledger(self, partition: TopicPartition) -> PartitionLedger | None:
        """The ledger of a partition; None where it is not ours, or not yet."""
        found = self._partitions.get(partition)
        return found.ledger if found is not None else None

    def ledgers(self) -> Iterator[tuple[TopicPartition, PartitionLedger]]:
        return ((partition, held.ledger) for partition, held in self._partitions.items())

    async def commit(self) -> bool:
        """Write down what is done with and what may have been handed out; False where that is no longer ours to do."""
        return await self._write({tp: (one.committable, noted(one.high)) for tp, one in self.ledgers()})

    async def commit_last(self) -> bool:
        """The same at the end: what was only held, and is dropped now, can be delivered elsewhere as new."""
        return await self._write({tp: (one.committable, noted(one.used)) for tp, one in self.ledgers()})

    async def _write(self, positions: dict[TopicPartition, Position]) -> bool:
        partitions = self._partitions
        new = {tp: position for tp, position in positions.items() if partitions[tp].written != position}
        if not new:
            return True
        if not await self._member.commit(new):
            return False
        for tp, position in new.items():
            partitions[tp].written = position
        return True

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
