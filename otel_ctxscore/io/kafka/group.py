"""Membership in a consumer group: what the source asks of its brokers, and the member on aiokafka."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import ConsumerRecord, OffsetAndMetadata

from otel_ctxscore.config.intake import KafkaSource as Settings

log = logging.getLogger(__name__)

ASSIGNORS = (StickyPartitionAssignor, RoundRobinPartitionAssignor, RangePartitionAssignor)
"""In the order of preference, which all members of the group have to share one of."""
TOGETHER = (RangePartitionAssignor, StickyPartitionAssignor, RoundRobinPartitionAssignor)
"""The same for several topics: partitions with one number go to one member, so spans and logs of a trace meet there."""
FETCH_BYTES = 1 << 20
"""Bytes that are fetched ahead of each partition. A larger record comes all the same, alone."""
HEARTBEATS = 5
"""Heartbeats a session time-out."""
CLOSE_SECONDS = 5.0
_NOWHERE = TopicPartition("", 0)

Batch = Mapping[TopicPartition, list[ConsumerRecord]]
Position = tuple[int, str]
"""An offset and the metadata that is committed with it."""


class Rebalanced(Protocol):
    """Hears what a member is given and has to give back. Between `revoked` and `assigned` no record comes."""

    async def revoked(self) -> None:
        """All that was assigned goes: what is to be committed must be so when this returns."""

    async def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """These are ours from now on. Records of them can come before this returns."""


class Member(Protocol):
    """One member of a consumer group. All that waits raises KafkaError or OSError."""

    async def poll(self, seconds: float, max_records: int) -> Batch:
        """Records, waiting for some; it waits longer while the group is being formed."""

    async def stay(self) -> None:
        """Keep the membership while no records are wanted."""

    async def commit(self, positions: Mapping[TopicPartition, Position]) -> bool:
        """Write positions down; False where a partition is no longer ours."""

    async def committed(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Position]:
        """What the group has written down of these partitions last; absent where nothing."""

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that will come."""

    async def begins(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The offset of the first record of each that is still there."""

    async def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The offset after the last record of each, asked of the brokers."""

    def highwater(self, partition: TopicPartition) -> int | None:
        """The same as of the last fetch; None before one."""

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read on from there; nothing where the partition is no longer ours."""

    async def close(self) -> None:
        """Leave the group."""


def names(partitions: Iterable[TopicPartition]) -> str:
    """Partitions as the log writes them."""
    return ", ".join(f"{tp.topic}[{tp.partition}]" for tp in sorted(partitions))


class AiokafkaMember:
    """A member on aiokafka, whose protocol is eager: all partitions are revoked before any is assigned."""

    def __init__(self, settings: Settings, connection: Mapping[str, Any]) -> None:
        self._group_id = settings.group_id
        self._connection = connection
        self._consumer = AIOKafkaConsumer(
            **connection,
            group_id=settings.group_id,
            enable_auto_commit=False,
            auto_offset_reset=settings.start,
            session_timeout_ms=int(settings.session_timeout * 1000),
            heartbeat_interval_ms=max(100, int(settings.session_timeout * 1000 / HEARTBEATS)),
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_min_bytes=settings.fetch_min_size,
            fetch_max_wait_ms=max(1, int(settings.fetch_max_wait * 1000)),
            partition_assignment_strategy=TOGETHER if _several(settings) else ASSIGNORS,
        )

    @classmethod
    async def join(cls, settings: Settings, connection: Mapping[str, Any], rebalanced: Rebalanced) -> AiokafkaMember:
        """A member that begins to join. Raises KafkaError or OSError where no broker answers."""
        member = cls(settings, connection)
        try:
            await member._consumer.start()
        except BaseException:
            await member.close()
            raise
        listener = _Listener(rebalanced)
        if settings.pattern is not None:
            topics = "|".join([settings.pattern, *map(_literally, settings.logs_topics)])
            member._consumer.subscribe(pattern=f"^(?:{topics})$", listener=listener)
        else:
            member._consumer.subscribe([*settings.topics, *settings.logs_topics], listener=listener)
        return member

    async def poll(self, seconds: float, max_records: int) -> Batch:
        batch: Batch = await self._consumer.getmany(timeout_ms=int(seconds * 1000), max_records=max_records)
        return batch

    async def stay(self) -> None:
        # Only asking for records counts as a sign of life; of no partition there are none.
        await self._consumer.getmany(_NOWHERE, timeout_ms=0)

    async def commit(self, positions: Mapping[TopicPartition, Position]) -> bool:
        try:
            await self._consumer.commit({tp: OffsetAndMetadata(*position) for tp, position in positions.items()})
        except (CommitFailedError, IllegalStateError) as error:
            log.info("kafka: not committed, the group is being formed anew: %s", error)
            return False
        return True

    async def committed(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Position]:
        # The consumer itself does not give the metadata.
        client = AIOKafkaAdminClient(**self._connection)
        try:
            await client.start()
            found = await client.list_consumer_group_offsets(self._group_id, partitions=list(partitions))
        finally:
            await client.close()
        if untold := set(partitions) - set(found):
            # aiokafka overlooks an error of the group as a whole, such as a coordinator that has just moved; taken for
            # "no commit" it would leave records out.
            raise KafkaError(f"the brokers do not say what is committed of {names(untold)}")
        return {tp: (one.offset, one.metadata or "") for tp, one in found.items() if one.offset >= 0}

    async def position(self, partition: TopicPartition) -> int:
        return int(await self._consumer.position(partition))

    async def begins(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        begins: Mapping[TopicPartition, int] = await self._consumer.beginning_offsets(list(partitions))
        return begins

    async def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        ends: Mapping[TopicPartition, int] = await self._consumer.end_offsets(list(partitions))
        return ends

    def highwater(self, partition: TopicPartition) -> int | None:
        try:
            end: int | None = self._consumer.highwater(partition)
        except IllegalStateError:
            return None
        return end

    def seek(self, partition: TopicPartition, offset: int) -> None:
        try:
            self._consumer.seek(partition, offset)
        except IllegalStateError as error:
            log.debug("kafka: %s", error)

    async def close(self) -> None:
        # Where it takes long it goes on by itself: a consumer that is stopped by half goes on with its heartbeats, and
        # the group would leave partitions to it that nobody reads.
        leaving = asyncio.create_task(self._consumer.stop(), name="kafka leaving")
        _leaving.add(leaving)
        leaving.add_done_callback(_left)
        await asyncio.wait({leaving}, timeout=CLOSE_SECONDS)


_leaving: set[asyncio.Task[None]] = set()


def _left(leaving: asyncio.Task[None]) -> None:
    _leaving.discard(leaving)
    if not leaving.cancelled() and (error := leaving.exception()) is not None:
        log.debug("kafka: leaving the group: %s", error)


def _several(settings: Settings) -> bool:
    return settings.pattern is not None or len({*settings.topics, *settings.logs_topics}) > 1


def _literally(topic: str) -> str:
    return topic.replace(".", r"\.")  # the only character of a topic's name that means something in a pattern


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, rebalanced: Rebalanced) -> None:
        self._rebalanced = rebalanced

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        await self._rebalanced.revoked()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        await self._rebalanced.assigned(list(assigned))
