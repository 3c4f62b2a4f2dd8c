"""Evaluations to a topic of a real broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from otel_ctxscore.config.outlets import KafkaSink as Section
from otel_ctxscore.io.kafka.sink import KafkaSink
from otel_ctxscore.ports import DroppedError, SinkError
from tests.io.evaluations import TRACE, evaluation
from tests.io.kafka.trial import spans_of
from tests.services.fixtures import need
from tests.services.kafka import Kafka
from tests.services.process import free_endpoint


@pytest.fixture(scope="module")
def broker(services_folder: Path) -> Iterator[Kafka]:
    need("kafka")
    with Kafka(services_folder / "sink") as server:
        yield server


def sink(broker: Kafka, topic: str) -> KafkaSink:
    return KafkaSink(Section.model_validate({"brokers": [broker.bootstrap], "topic": topic}))


async def test_an_evaluation_is_one_record_keyed_by_its_trace(broker: Kafka) -> None:
    topic = broker.topic(3)
    to = sink(broker, topic)
    await asyncio.gather(*(to.emit(evaluation()) for _ in range(5)))
    await to.close()
    records = await asyncio.to_thread(broker.read, topic, 5)
    assert {record.key for record in records} == {TRACE.encode()}
    assert len({record.partition for record in records}) == 1
    assert {span.trace_id for span in spans_of(records[0].value or b"")} == {TRACE}


async def test_brokers_that_are_away_are_waited_for(broker: Kafka) -> None:
    topic = broker.topic()
    to = sink(broker, topic)
    await to.emit(evaluation())
    await asyncio.to_thread(broker.stop)
    waiting = asyncio.create_task(to.emit(evaluation()))
    late = sink(broker, topic)
    first = asyncio.create_task(late.emit(evaluation()))
    await asyncio.sleep(2)
    assert not waiting.done()
    assert not first.done()
    await asyncio.to_thread(broker.start)
    await asyncio.wait_for(asyncio.gather(waiting, first), 60)
    await to.close()
    await late.close()
    assert len(await asyncio.to_thread(broker.read, topic, 3)) == 3


async def test_what_the_topic_will_never_take_is_no_outage(broker: Kafka) -> None:
    topic = f"small-{broker.topic()}"
    broker.create_topic(topic, 1, {"max.message.bytes": "200"})
    to = sink(broker, topic)
    with pytest.raises(DroppedError, match="takes no record"):
        await asyncio.wait_for(to.emit(evaluation()), 20)
    await to.close()


async def test_closed_while_the_brokers_are_away_it_gives_up() -> None:
    to = KafkaSink(Section.model_validate({"brokers": [free_endpoint()], "topic": "t"}))
    waiting = asyncio.create_task(to.emit(evaluation()))
    await asyncio.sleep(0.1)
    await to.close()
    with pytest.raises(SinkError, match="closed before the brokers took"):
        await asyncio.wait_for(waiting, 20)
