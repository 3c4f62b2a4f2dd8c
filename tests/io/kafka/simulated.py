"""A cluster in memory: logs, one consumer group with generations, and members that may be killed."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError
from aiokafka.structs import ConsumerRecord

from otel_ctxscore.io.kafka.group import Batch, Position, Rebalanced

TOPIC = "otlp_spans"


def record(partition: int, offset: int, value: bytes | None, topic: str = TOPIC) -> ConsumerRecord:
    size = len(value or b"")
    return ConsumerRecord(topic, partition, offset, 0, 0, None, value, None, 0, size, ())


@dataclass
class Cluster:
    """Topics of one name with `partitions`, and the one group that reads them.

    `down`: requests fail; `hangs`: they are not answered; `overlooks`: members do not hear what is committed, and begin
    at the end. `faults` are raised, each once, by the next call of a member
    of that name.
    """

    partitions: int = 2
    logs: dict[TopicPartition, list[bytes | None]] = field(default_factory=dict)
    committed: dict[TopicPartition, Position] = field(default_factory=dict)
    members: list[SimulatedMember] = field(default_factory=list)
    generation: int = 0
    down: bool = False
    hangs: bool = False
    overlooks: bool = False
    faults: dict[str, BaseException] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.logs = {TopicPartition(TOPIC, number): [] for number in range(self.partitions)}
        self._forming = asyncio.Lock()
        self._others: asyncio.Task[None] | None = None

    def append(self, partition: int, value: bytes | None) -> None:
        self.logs[TopicPartition(TOPIC, partition)].append(value)

    async def answer(self, call: str) -> None:
        """Return when a broker has answered."""
        if (fault := self.faults.pop(call, None)) is not None:
            raise fault
        await asyncio.sleep(0.01)
        while self.hangs:  # noqa: ASYNC110 -- the loop's time is virtual
            await asyncio.sleep(0.5)
        if self.down:
            raise KafkaConnectionError("no broker answers")

    async def join(self, rebalanced: Rebalanced) -> SimulatedMember:
        if self.down:
            raise KafkaConnectionError("no broker answers")
        member = SimulatedMember(self, rebalanced)
        self.members.append(member)
        member.joining = asyncio.create_task(self.rebalance())
        return member

    async def rebalance(self) -> None:
        """Form the group anew, as the eager protocol does: all give back everything, then each is given its share."""
        async with self._forming:
            await self._form()

    async def _form(self) -> None:
        for member in list(self.members):
            member.forming = True
            await member.rebalanced.revoked()
        self.generation += 1
        shares: dict[SimulatedMember, list[TopicPartition]] = defaultdict(list)
        for place, partition in enumerate(sorted(self.logs)):
            if self.members:
                shares[self.members[place % len(self.members)]].append(partition)
        for member in list(self.members):
            member.generation = self.generation
            member.positions = {tp: self._begin(tp) for tp in shares[member]}
            await member.rebalanced.assigned(shares[member])
            member.forming = False

    def _begin(self, partition: TopicPartition) -> int:
        return len(self.logs[partition]) if self.overlooks else self.committed.get(partition, (0, ""))[0]

    async def lose(self, member: object) -> None:
        """A member that died: nobody asks it anything any more."""
        if isinstance(member, SimulatedMember) and member in self.members:
            self.members.remove(member)
            self._others = asyncio.create_task(self.rebalance())  # the group's own doing: it waits for nobody
            await asyncio.sleep(0)

    @property
    def done_with(self) -> bool:
        """Whether all that is in the logs is committed."""
        return all(self.committed.get(tp, (0, ""))[0] == len(log) for tp, log in self.logs.items())


@dataclass(eq=False)
class SimulatedMember:
    """What the source sees of it."""

    cluster: Cluster
    rebalanced: Rebalanced
    generation: int = -1
    positions: dict[TopicPartition, int] = field(default_factory=dict)
    forming: bool = True
    deaf: bool = False
    """It looks alive but gets nothing."""
    joining: asyncio.Task[None] | None = None

    async def poll(self, seconds: float, max_records: int) -> Batch:
        if (fault := self.cluster.faults.pop("poll", None)) is not None:
            raise fault
        while self.forming:  # noqa: ASYNC110 -- the loop's time is virtual
            await asyncio.sleep(0.1)
        if not self._more():
            await asyncio.sleep(seconds)
        return self._next(max_records) if self._more() and not self.forming else {}

    def _more(self) -> bool:
        reads = not self.cluster.down and not self.cluster.hangs and not self.deaf
        return reads and any(position < len(self.cluster.logs[tp]) for tp, position in self.positions.items())

    def _next(self, max_records: int) -> Batch:
        batch: dict[TopicPartition, list[ConsumerRecord]] = {}
        for tp, position in self.positions.items():
            values = self.cluster.logs[tp][position : position + max_records]
            if values:
                batch[tp] = [record(tp.partition, position + n, value) for n, value in enumerate(values)]
                self.positions[tp] = position + len(values)
        return batch

    async def stay(self) -> None:
        await asyncio.sleep(0)

    async def commit(self, positions: Mapping[TopicPartition, Position]) -> bool:
        await self.cluster.answer("commit")
        if self.generation != self.cluster.generation or not set(positions) <= set(self.positions):
            return False
        self.cluster.committed.update(positions)
        return True

    async def committed(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Position]:
        await self.cluster.answer("committed")
        return {tp: self.cluster.committed[tp] for tp in partitions if tp in self.cluster.committed}

    async def position(self, partition: TopicPartition) -> int:
        return self.positions[partition]

    async def begins(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    async def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        await self.cluster.answer("ends")
        return {tp: len(self.cluster.logs[tp]) for tp in partitions}

    def highwater(self, partition: TopicPartition) -> int | None:
        return len(self.cluster.logs[partition])

    def seek(self, partition: TopicPartition, offset: int) -> None:
        if partition in self.positions:
            self.positions[partition] = offset

    async def close(self) -> None:
        await self.cluster.lose(self)
