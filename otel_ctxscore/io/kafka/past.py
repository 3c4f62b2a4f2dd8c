"""A range of topics, read once and by no group: the live service's offsets are not touched."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

from otel_ctxscore.io.kafka.client import partitions_of
from otel_ctxscore.io.kafka.group import FETCH_BYTES

POLL_MS = 1000
POLL_RECORDS = 500


@dataclass(frozen=True, slots=True)
class Range:
    """What to read of `topics`: from `since` until `until` (Unix milliseconds by the records' own time, None: from the
    beginning, to the end as it is now), or the offsets of `offsets`: the first and the last, by partition number."""

    topics: Sequence[str]
    since: int | None = None
    until: int | None = None
    offsets: Mapping[int, tuple[int, int]] = field(default_factory=dict)


class Past:
    """The records of a range, all partitions as one stream in the order of the records' time.

    `begun` gives offsets to go on from, by partition. Raises KafkaError where a topic or the brokers are not there.
    """

    def __init__(self, chosen: Range, connection: Mapping[str, Any], begun: Mapping[TopicPartition, int]) -> None:
        self._chosen = chosen
        self._connection = connection
        self._begun = begun
        self.ends: dict[TopicPartition, int] = {}
        self._waiting: dict[TopicPartition, deque[ConsumerRecord]] = {}

    async def records(self) -> AsyncIterator[ConsumerRecord]:
        consumer = AIOKafkaConsumer(
            **self._connection,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=FETCH_BYTES,
        )
        partitions = [tp for topic in self._chosen.topics for tp in await partitions_of(topic, self._connection)]
        try:
            await consumer.start()
            consumer.assign(partitions)
            starts = await self._bounds(consumer, partitions)
            for tp, start in starts.items():
                consumer.seek(tp, start)
            async for record in self._merged(consumer, {tp for tp in partitions if starts[tp] < self.ends[tp]}):
                yield record
        finally:
            await consumer.stop()

    async def _bounds(self, consumer: AIOKafkaConsumer, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Where each partition begins; sets where it ends."""
        chosen, first = self._chosen, await consumer.beginning_offsets(partitions)
        last = await consumer.end_offsets(partitions)
        since, until = await _at(consumer, partitions, chosen.since), await _at(consumer, partitions, chosen.until)
        starts: dict[TopicPartition, int] = {}
        for tp in partitions:
            begin = since.get(tp, last[tp]) if chosen.since is not None else first[tp]
            self.ends[tp] = min(until.get(tp, last[tp]), last[tp])
            if chosen.offsets:
                begin, end = chosen.offsets.get(tp.partition, (0, -1))
                self.ends[tp] = min(end + 1, last[tp])
            starts[tp] = max(begin, first[tp], self._begun.get(tp, 0))
        return starts

    async def _merged(self, consumer: AIOKafkaConsumer, left: set[TopicPartition]) -> AsyncIterator[ConsumerRecord]:
        """The earliest record, as soon as one of every unfinished partition is there."""
        self._waiting = {tp: deque() for tp in left}
        ready: list[tuple[int, TopicPartition]] = []
        wanting = set(left)
        while wanting or ready:
            if wanting:
                await self._fill(consumer, wanting)
                for tp in list(wanting):
                    if self._waiting[tp]:
                        heapq.heappush(ready, (self._waiting[tp][0].timestamp, tp))
                    if self._waiting[tp] or await consumer.position(tp) >= self.ends[tp]:
                        wanting.discard(tp)
                continue
            _, tp = heapq.heappop(ready)
            yield self._waiting[tp].popleft()
            if self._waiting[tp]:
                heapq.heappush(ready, (self._waiting[tp][0].timestamp, tp))
            elif await consumer.position(tp) < self.ends[tp]:
                wanting.add(tp)

    async def _fill(self, consumer: AIOKafkaConsumer, wanting: set[TopicPartition]) -> None:
        batch = await consumer.getmany(*wanting, timeout_ms=POLL_MS, max_records=POLL_RECORDS)
        for tp, records in batch.items():
            self._waiting[tp].extend(record for record in records if record.offset < self.ends[tp])


async def _at(
    consumer: AIOKafkaConsumer, partitions: list[TopicPartition], when: int | None
) -> dict[TopicPartition, int]:
    """The first offset of each partition at or after a time; absent where there is none."""
    if when is None:
        return {}
    found = await consumer.offsets_for_times(dict.fromkeys(partitions, when))
    return {tp: one.offset for tp, one in found.items() if one is not None}
