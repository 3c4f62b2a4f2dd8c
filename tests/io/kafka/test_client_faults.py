"""A Kafka client that fails in ways it should not: the source reads on, and leaves nothing out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError, KafkaError
from aiokafka.structs import OffsetAndMetadata

from otel_ctxscore.io.kafka import group
from otel_ctxscore.io.kafka.group import AiokafkaMember
from otel_ctxscore.telemetry import catalogue
from tests.io.kafka.reading import settings
from tests.io.kafka.replicas import Replica, World
from tests.io.kafka.simulated import TOPIC, Cluster
from tests.io.kafka.test_at_least_once import pieces
from tests.virtual_time import run

FIRST = TopicPartition(TOPIC, 0)


def write(cluster: Cluster, *traces: int) -> None:
    for trace in traces:
        for piece in pieces(trace):
            cluster.append(0, piece)


def emitted(world: World) -> list[int]:
    return sorted(int(evaluation.run.trace_id or "", 16) for evaluation in world.emitted)


@pytest.mark.parametrize("call", ["poll", "commit", "committed", "ends"])
@pytest.mark.parametrize("fault", [asyncio.CancelledError, ZeroDivisionError, KafkaConnectionError])
@pytest.mark.trouble("C52")
def test_it_reads_on_after_a_fault_of_the_client(call: str, fault: type[BaseException]) -> None:
    """A cancelled task of aiokafka's own cancels who waits for it, as if the service were told to end."""

    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        replica = await Replica(world, cluster.join).start()
        await asyncio.sleep(2)
        cluster.faults[call] = fault()
        write(cluster, 1)
        await asyncio.sleep(5)
        await cluster.rebalance()
        write(cluster, 2)
        await asyncio.sleep(60)
        assert not cluster.faults
        assert cluster.done_with
        assert set(emitted(world)) == {1, 2}
        assert replica.source.unhealthy() is None
        faults = replica.metrics.total(catalogue.KAFKA_RECONNECTS, "cause")
        # Only of a look at the ends that failed once nothing is thought.
        assert faults.get("fault", 0) == (0 if call == "ends" and fault is KafkaConnectionError else 1)
        await replica.stop()

    run(scenario())


def test_a_commit_of_an_old_assignment_holds_up_no_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        replica = await Replica(world, cluster.join).start()
        await asyncio.sleep(2)
        [member] = cluster.members
        with monkeypatch.context() as patched:
            patched.setattr(member, "commit", lambda positions: asyncio.Event().wait())
            write(cluster, 1)
            await asyncio.sleep(8)
            assert not emitted(world), "it waits for a commit that nobody answers"
        await cluster.rebalance()
        await asyncio.sleep(8)
        assert emitted(world) == [1]
        await asyncio.sleep(2)
        assert cluster.done_with
        await replica.stop()

    run(scenario())


def test_commits_that_are_refused_for_long_are_a_fault() -> None:
    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        replica = await Replica(world, cluster.join).start()
        await asyncio.sleep(1)
        [first] = cluster.members
        first.generation = -1  # the brokers know nothing of this member, and do not tell it
        write(cluster, 1)
        await asyncio.sleep(44)
        assert cluster.members == [first]
        await asyncio.sleep(20)
        assert first not in cluster.members
        assert cluster.done_with
        await replica.stop()

    run(scenario())


def test_an_assignment_without_a_revocation_ends_the_one_before() -> None:
    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        replica = await Replica(world, cluster.join).start()
        write(cluster, 1)
        await asyncio.sleep(3)
        [member] = cluster.members
        member.positions = {FIRST: 0}
        await replica.source.assigned([FIRST])
        await asyncio.sleep(60)
        assert cluster.done_with
        assert emitted(world) == [1]
        await replica.stop()

    run(scenario())


def test_it_begins_where_the_group_committed_whatever_the_consumer_believes() -> None:
    """A consumer that was told of no commit begins at the end."""

    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        write(cluster, 1, 2)
        cluster.committed[FIRST] = (3, "ctxscore:high=3")
        cluster.overlooks = True
        replica = await Replica(world, cluster.join).start()
        await asyncio.sleep(30)
        assert emitted(world) == [2]
        assert world.emitted[0].run.redelivered
        assert cluster.done_with
        await replica.stop()

    run(scenario())


# ---- the member on aiokafka -------------------------------------------------------------------------------------


class Answers:
    """A consumer and an admin client that answer as they are told."""

    offsets: dict[TopicPartition, OffsetAndMetadata]
    stopped: asyncio.Event

    def __init__(self, **_: Any) -> None:
        self.closed = False

    async def start(self) -> None: ...

    async def list_consumer_group_offsets(
        self, group_id: str, *, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        return {tp: offset for tp, offset in self.offsets.items() if tp in partitions}

    async def close(self) -> None:
        self.closed = True

    async def stop(self) -> None:
        await self.stopped.wait()
        self.closed = True


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> type[Answers]:
    for name in ("AIOKafkaConsumer", "AIOKafkaAdminClient"):
        monkeypatch.setattr(group, name, Answers)
    return Answers


def member() -> AiokafkaMember:
    return AiokafkaMember(settings("127.0.0.1:1", TOPIC), {})


async def test_an_untold_commit_is_none_and_one_that_the_brokers_keep_to_themselves_is_a_fault(
    answers: type[Answers],
) -> None:
    second = TopicPartition(TOPIC, 1)
    answers.offsets = {FIRST: OffsetAndMetadata(7, "ctxscore:high=9"), second: OffsetAndMetadata(-1, "")}
    assert await member().committed([FIRST, second]) == {FIRST: (7, "ctxscore:high=9")}
    answers.offsets = {}
    with pytest.raises(KafkaError, match=r"do not say what is committed of otlp_spans\[0\]"):
        await member().committed([FIRST])


async def test_a_consumer_that_takes_long_to_leave_leaves_all_the_same(
    answers: type[Answers], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group, "CLOSE_SECONDS", 0.01)
    answers.stopped = asyncio.Event()
    leaving = member()
    await leaving.close()
    assert not leaving._consumer.closed
    answers.stopped.set()
    await asyncio.gather(*group._leaving)
    assert leaving._consumer.closed
