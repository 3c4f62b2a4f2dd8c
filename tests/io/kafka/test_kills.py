"""The service as processes: killed, joined by others, without brokers, refused by the sink. No run is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.io.kafka.receiver import Receiver
from tests.io.kafka.trial import Trial, spans_of
from tests.services.fixtures import need
from tests.services.kafka import Kafka


@pytest.fixture(scope="module")
def broker(services_folder: Path) -> Iterator[Kafka]:
    need("kafka")
    with Kafka(services_folder / "kills") as server:
        yield server


@pytest.mark.trouble("C27")
def test_kills_at_random_moments(broker: Kafka, tmp_path: Path) -> None:
    trial = Trial(broker, tmp_path, runs=1200, seconds=48)
    trial.run(Trial.kill_one, rounds=6)
    found = trial.judge(trial.at_the_topic())
    print(found)
    assert found.right, found


@pytest.mark.trouble("C07")
def test_replicas_come_and_go_while_judging_is_slow(broker: Kafka, tmp_path: Path) -> None:
    def come_and_go(trial: Trial) -> None:
        guest = trial.scorer(trial.replicas + len(trial.left)).start()
        trial.left.append(guest)
        time.sleep(trial.random.uniform(1, 4))
        guest.stop()
        guest.scrape()

    trial = Trial(broker, tmp_path, runs=300, seconds=12, judging_seconds=3)
    trial.run(come_and_go, rounds=2)
    found = trial.judge(trial.at_the_topic())
    print(found)
    assert found.right, found


def test_the_broker_stops_and_starts(broker: Kafka, tmp_path: Path) -> None:
    def restart(trial: Trial) -> None:
        time.sleep(trial.random.uniform(1, 3))
        broker.stop() if trial.random.random() < 0.5 else broker.kill()
        time.sleep(2)
        broker.start()

    trial = Trial(broker, tmp_path, runs=300, seconds=10, replicas=1)
    trial.run(restart, rounds=2)
    found = trial.judge(trial.at_the_topic())
    print(found)
    assert found.right, found


def test_the_sink_refuses_for_a_while(broker: Kafka, tmp_path: Path) -> None:
    with Receiver() as receiver:

        def refuse_and_kill(trial: Trial) -> None:
            receiver.refusing = True
            time.sleep(4)
            trial.kill_one()
            receiver.refusing = False

        sinks = {"otlp": {"endpoint": receiver.url, "protocol": "http/protobuf"}}
        trial = Trial(broker, tmp_path, runs=300, seconds=10, replicas=1, sinks=sinks)
        trial.run(refuse_and_kill, rounds=1)
    assert receiver.refused
    found = trial.judge([sent for body in receiver.taken for sent in spans_of(body)])
    print(found)
    assert found.right, found
