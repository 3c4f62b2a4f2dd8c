"""Blocking calls of a Kafka client, each on an event loop and a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from tests.services.errors import ServiceError

T = TypeVar("T")
PROBE = "ctxscore-readiness"
NO_SUCH_GROUP = 69


@dataclass(frozen=True)
class Record:
    """What is sent and read. `partition` None: by key, or any."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    partition: int | None = None


def blocking(work: Callable[[], Awaitable[T]]) -> T:
    """Run it to its end on a loop of its own, in a thread, since the caller's may have a running loop."""

    async def run() -> T:
        return await work()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(run())).result()


@contextlib.asynccontextmanager
async def opened(client: Any) -> AsyncIterator[Any]:
    """Start a client and end it, also one whose start failed."""
    end = getattr(client, "stop", None) or client.close
    try:
        await client.start()
        yield client
    finally:
        await end()


def with_admin(bootstrap: str, work: Callable[[Any], Awaitable[T]]) -> T:
    """The result of `work(admin client)`."""

    async def run() -> T:
        async with opened(AIOKafkaAdminClient(bootstrap_servers=bootstrap)) as client:
            return await work(client)

    return blocking(run)


def port_open(bootstrap: str) -> bool:
    """Whether something listens; OSError if not."""
    host, port = bootstrap.split(":")
    socket.create_connection((host, int(port)), timeout=1).close()
    return True


def usable(bootstrap: str) -> bool:
    """Whether the broker answers metadata and its group coordinator serves groups.

    An open port is not enough: for a second or so after it a first join would get an error. To describe a group
    asks the coordinator itself; it says no until it has loaded the offsets topic.
    """

    async def ask(client: Any) -> bool:
        coordinator = await client.find_coordinator(PROBE)
        answer = (await client.describe_consumer_groups([PROBE], group_coordinator_id=coordinator))[0]
        return all(group[0] in {0, NO_SUCH_GROUP} for group in answer.groups)

    try:
        return with_admin(bootstrap, ask)
    except KafkaError:
        return False


def create_topic(bootstrap: str, name: str, partitions: int, settings: Mapping[str, str]) -> None:
    """ServiceError if the broker refuses."""

    async def create(client: Any) -> None:
        topic = NewTopic(name, partitions, 1, topic_configs=dict(settings))
        answer = await client.create_topics([topic])
        if refused := [error for error in answer.topic_errors if error[1]]:
            raise ServiceError(f"topic {name} was not created: {refused}")

    with_admin(bootstrap, create)


def partitions(bootstrap: str, topic: str) -> int:
    """How many partitions of the topic have a leader; 0 as well if there is no such topic."""

    async def count(client: Any) -> int:
        described = await client.describe_topics([topic])
        return sum(part["leader"] >= 0 for part in described[0]["partitions"])

    return with_admin(bootstrap, count)


def committed(bootstrap: str, group: str) -> dict[tuple[str, int], int]:
    """See Kafka.committed."""

    async def offsets(client: Any) -> dict[tuple[str, int], int]:
        found = await client.list_consumer_group_offsets(group)
        return {(part.topic, part.partition): offset.offset for part, offset in found.items()}

    return with_admin(bootstrap, offsets)


def send(bootstrap: str, topic: str, records: Sequence[Record], options: Mapping[str, object], a_second: float) -> None:
    """See Kafka.send."""

    async def run() -> None:
        async with opened(AIOKafkaProducer(bootstrap_servers=bootstrap, **options)) as producer:
            began, waiting = time.monotonic(), []
            for number, record in enumerate(records):
                if (early := began + number / a_second - time.monotonic()) > 0:
                    await asyncio.sleep(early)
                waiting.append(await producer.send(topic, **_fields(record)))
            await asyncio.gather(*waiting)

    blocking(run)


def _fields(record: Record) -> dict[str, object]:
    return {
        "value": record.value,
        "key": record.key,
        "headers": list(record.headers),
        "partition": record.partition,
    }


def _reader(bootstrap: str, topic: str) -> Any:
    # Without a group it is given all partitions of the topic at its start.
    return AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest")


def read(bootstrap: str, topic: str, count: int, timeout: float) -> list[Record]:
    """See Kafka.read."""
    records: list[Record] = []

    async def run() -> None:
        async with opened(_reader(bootstrap, topic)) as consumer, asyncio.timeout(timeout):
            while len(records) < count:
                records.append(_record(await consumer.getone()))

    try:
        blocking(run)
    except TimeoutError as error:
        raise ServiceError(f"{len(records)} of {count} records in {topic} after {timeout:.0f} s") from error
    return records


def _record(message: Any) -> Record:
    return Record(message.value, message.key, tuple(message.headers), message.partition)


def end_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """See Kafka.end_offsets."""

    async def run() -> dict[int, int]:
        async with opened(_reader(bootstrap, topic)) as consumer:
            ends = await consumer.end_offsets(consumer.assignment())
            return {part.partition: offset for part, offset in ends.items()}

    return blocking(run)
