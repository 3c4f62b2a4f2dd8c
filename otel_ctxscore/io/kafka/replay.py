"""Dead letters once more: what can be read now goes back to the topic it came from, the rest stays."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from otel_ctxscore.config.intake import KafkaSource as Settings
from otel_ctxscore.core.codec import Malformed
from otel_ctxscore.io.kafka.client import connection, partitions_of, started
from otel_ctxscore.io.kafka.dead_letters import (
    MAX_BYTES,
    DeadLetter,
    DeadLetterFile,
    DeadLetterTopic,
    of_record,
    read_file,
)
from otel_ctxscore.io.kafka.records import RecordReader, reader_of

GROUP_SUFFIX = ".dead-letters"
"""The group that remembers which letters of a topic were tried: the live group's name and this."""
POLL_MS = 1000
UNDER_WAY = ".replaying"


@dataclass(slots=True)
class Replayed:
    """How many letters can be read now, and why not, by reason; `foreign` records are no dead letters."""

    readable: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)
    foreign: int = 0


class Replay:
    """Tries letters by the settings of a source. With `dry_run` nothing is sent, moved or remembered."""

    def __init__(self, settings: Settings, *, dry_run: bool) -> None:
        self._settings = settings
        self._connection = connection(settings.brokers, settings.security)
        self._reader: RecordReader = reader_of(settings)
        self._dry_run = dry_run
        self.result = Replayed()

    async def topic(self, name: str) -> None:
        """The letters that are in a topic now. One that cannot be read is put at its end again, with the reason of
        today, so that a later try finds it. Raises KafkaError."""
        consumer = AIOKafkaConsumer(
            **self._connection,
            group_id=self._settings.group_id + GROUP_SUFFIX,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        async with _opened(consumer), self._producer() as producer:
            kept = DeadLetterTopic(name, self._connection, producer)
            async for record in _until_now(consumer, await partitions_of(name, self._connection)):
                try:
                    letter = of_record(record)
                except ValueError:
                    self.result.foreign += 1
                else:
                    await self._try(letter, producer, kept)
                if not self._dry_run:
                    done = TopicPartition(record.topic, record.partition)
                    await consumer.commit({done: OffsetAndMetadata(record.offset + 1, "")})

    async def file(self, path: Path) -> None:
        """The letters of a file, to which a running service may go on writing. What cannot be read is in it again
        afterwards. Raises ValueError for a line that is no letter, OSError and KafkaError."""
        if self._dry_run:
            for letter in read_file(path):
                await self._try(letter, None, None)
            return
        under_way, letters = _set_aside(path)
        async with self._producer() as producer:
            for letter in letters:
                await self._try(letter, producer, DeadLetterFile(path))
        under_way.unlink()

    async def _try(
        self, letter: DeadLetter, producer: AIOKafkaProducer | None, kept: DeadLetterTopic | DeadLetterFile | None
    ) -> None:
        try:
            self._reader.read(letter.topic, letter.value, letter.headers, lambda _: True)
        except Malformed as error:
            self.result.unreadable[str(error)] += 1
            if kept is not None and not self._dry_run:
                await kept.put(replace(letter, error=str(error)))
            return
        self.result.readable += 1
        if producer is not None and not self._dry_run:
            await _send_back(producer, letter)

    @contextlib.asynccontextmanager
    async def _producer(self) -> AsyncIterator[AIOKafkaProducer]:
        producer = await started(self._connection, max_request_size=MAX_BYTES)
        try:
            yield producer
        finally:
            await producer.stop()


def _set_aside(path: Path) -> tuple[Path, list[DeadLetter]]:
    """The letters of a file that nobody writes to any more; one that an earlier try left behind comes first."""
    under_way = path.with_name(path.name + UNDER_WAY)
    if not under_way.exists():
        path.rename(under_way)
    return under_way, list(read_file(under_way))


async def _send_back(producer: AIOKafkaProducer, letter: DeadLetter) -> None:
    """To the partition it came from, where the other spans of its traces are; to any where that is no more."""
    partitions = await producer.partitions_for(letter.topic)
    partition = letter.partition if letter.partition in partitions else None
    headers = list(letter.headers)
    await producer.send_and_wait(letter.topic, letter.value, key=letter.key, partition=partition, headers=headers)


async def _until_now(consumer: AIOKafkaConsumer, partitions: list[TopicPartition]) -> AsyncIterator[Any]:
    """What was not yet consumed of these, up to where they end now."""
    consumer.assign(partitions)
    ends = await consumer.end_offsets(partitions)
    left = {tp for tp in partitions if await consumer.position(tp) < ends[tp]}
    while left:
        for tp, records in (await consumer.getmany(*left, timeout_ms=POLL_MS)).items():
            for record in records:
                if record.offset < ends[tp]:
                    yield record
        left = {tp for tp in left if await consumer.position(tp) < ends[tp]}


@contextlib.asynccontextmanager
async def _opened(consumer: AIOKafkaConsumer) -> AsyncIterator[AIOKafkaConsumer]:
    try:
        await consumer.start()
        yield consumer
    finally:
        await consumer.stop()
