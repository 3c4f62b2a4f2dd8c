"""Brokers that stop, come back, answer nothing, or drop the member."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from otel_ctxscore.io.kafka import source as module
from tests.io.kafka.reading import Hearer, reading, settings
from tests.io.kafka.replicas import Replica, World
from tests.io.kafka.simulated import Cluster, SimulatedMember
from tests.io.kafka.test_at_least_once import pieces
from tests.io.requests import traces
from tests.services.fixtures import need
from tests.services.kafka import Kafka, Record
from tests.virtual_time import run


@pytest.fixture(scope="module")
def own_kafka(services_folder: Path) -> Iterator[Kafka]:
    """A broker that may be stopped."""
    need("kafka")
    with Kafka(services_folder / "outages") as server:
        yield server


def numbered(first: int, last: int) -> list[Record]:
    return [Record(traces((bytes([n]) * 16, b"1" * 8))) for n in range(first, last + 1)]


@pytest.mark.trouble("C52")
async def test_reading_goes_on_after_the_broker_was_away(own_kafka: Kafka) -> None:
    topic = own_kafka.topic(2)
    own_kafka.send(topic, numbered(1, 5))
    chosen = settings(own_kafka.bootstrap, topic, session_timeout="6s")
    async with reading(chosen) as now:
        await now.until(lambda it: len(it.line.spans) == 5)
        for kind in ("stop", "kill"):
            known = len(now.line.spans)
            await asyncio.to_thread(getattr(own_kafka, kind))
            await asyncio.sleep(2)
            await asyncio.to_thread(own_kafka.start)
            await asyncio.to_thread(own_kafka.send, topic, numbered(known + 1, known + 5))
            await now.until(lambda it: len({span.trace_id for span in it.line.spans}) == known + 5, 60)  # noqa: B023
        assert now.source.unhealthy() is None
    assert {span.trace_id[0] for span in now.line.spans} == set(range(1, 16))
    assert sum((await asyncio.to_thread(own_kafka.committed, chosen.group_id)).values()) == 15


async def test_brokers_that_answer_nothing_are_seen_and_a_start_without_them_ends_when_told(
    own_kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", 0.5)
    monkeypatch.setattr(module, "UNHEALTHY_SECONDS", 2.0)
    topic = own_kafka.topic()
    own_kafka.send(topic, numbered(1, 1))
    async with reading(settings(own_kafka.bootstrap, topic)) as now:
        await now.until(lambda it: len(it.line.spans) == 1)
        await asyncio.sleep(2.5)
        assert now.source.unhealthy() is None, "nothing to read is no trouble"
        os.kill(own_kafka.pid, signal.SIGSTOP)
        try:
            await now.until(lambda it: it.source.unhealthy() is not None, 20)
            assert "nothing could be read from Kafka" in str(now.source.unhealthy())
            began = asyncio.get_running_loop().time()
            async with reading(settings(own_kafka.bootstrap, topic)):
                await asyncio.sleep(0.1)
            assert asyncio.get_running_loop().time() - began < 10
        finally:
            os.kill(own_kafka.pid, signal.SIGCONT)
        await now.until(lambda it: it.source.unhealthy() is None, 30)


@pytest.mark.trouble("C52")
async def test_a_member_that_was_thrown_out_joins_again(own_kafka: Kafka) -> None:
    """As an operator does it, or as the broker does where a process stood still too long."""
    topic = own_kafka.topic()
    chosen = settings(own_kafka.bootstrap, topic, session_timeout="1s")
    line = Hearer(holds=True)
    async with reading(chosen, line) as now:
        await now.until(lambda it: it.source.assigned_partitions() == 1)
        own_kafka.send(topic, numbered(1, 2))  # blocks this loop: no heartbeat meanwhile
        own_kafka.tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server",
                       own_kafka.bootstrap, "--list")  # fmt: skip
        await now.until(lambda it: {span.trace_id[0] for span in it.line.spans} == {1, 2})
        line.holds = False
        for receipt in line.held:
            receipt.settle()
        async with asyncio.timeout(30):
            while await asyncio.to_thread(own_kafka.committed, chosen.group_id) != {(topic, 0): 2}:  # noqa: ASYNC110
                await asyncio.sleep(0.1)


def test_a_consumer_that_only_looks_alive_connects_anew() -> None:
    """It polls, its heartbeats are answered, the partition has more, and nothing comes."""

    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        replica = await Replica(world, cluster.join).start()
        await asyncio.sleep(1)
        [deaf] = cluster.members
        deaf.deaf = True
        for piece in pieces(1):
            cluster.append(0, piece)
        await asyncio.sleep(40)
        assert replica.source.unhealthy() is None
        [member] = cluster.members
        assert member is not deaf
        await asyncio.sleep(20)
        assert len(world.emitted) == 1
        await replica.stop()

    run(scenario())


def test_a_group_that_is_never_formed_is_unhealthy_and_given_up() -> None:
    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        replica = await Replica(world, cluster.join).start()
        await asyncio.sleep(1)
        stuck = cluster.members[0]
        stuck.forming = True
        await asyncio.sleep(44)
        assert cluster.members == [stuck]
        await asyncio.sleep(5)
        assert stuck not in cluster.members
        assert len(cluster.members) == 1
        cluster.down = True
        await asyncio.sleep(61)
        assert "nothing could be read" in str(replica.source.unhealthy())
        await replica.stop()

    run(scenario())


def test_what_waits_too_long_to_be_committed_is_closed() -> None:
    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        replica = await Replica(world, cluster.join, max_uncommitted_age="8s").start()
        cluster.append(0, pieces(1)[1])  # no root: it would wait for 20 s
        await asyncio.sleep(7)
        assert not world.emitted
        await asyncio.sleep(3)
        assert len(world.emitted) == 1
        assert replica.source.oldest_uncommitted_seconds() == 0
        await replica.stop()

    run(scenario())


@pytest.mark.trouble("C52")
def test_a_fault_in_the_loop_is_no_silent_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        polls = 0

        async def faulty(self: SimulatedMember, seconds: float, max_records: int) -> dict[object, object]:
            nonlocal polls
            polls += 1
            raise ZeroDivisionError("a fault of our own")

        with monkeypatch.context() as patched:
            patched.setattr(SimulatedMember, "poll", faulty)
            replica = await Replica(world, cluster.join).start()
            await asyncio.sleep(62)
            assert polls > 2
            assert "ZeroDivisionError" in str(replica.source.unhealthy())
        for piece in pieces(1):
            cluster.append(0, piece)
        await asyncio.sleep(60)
        assert replica.source.unhealthy() is None
        assert len(world.emitted) == 1
        await replica.stop()

    run(scenario())
