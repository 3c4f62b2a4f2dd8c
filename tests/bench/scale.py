"""`python -m tests.bench.scale [WAY...]`: the same work by 1, 2 and 4 replicas of `otel-ctxscore serve`.

From Apache Kafka as one consumer group, a record for each trace and batch with the trace id as its key, as the
Collector's exporter writes them with `partition_traces_by_id` (`kafka`), and the same in small, one record after the
other (`trickle`); and by OTLP/HTTP behind a splitter by trace id (`otlp`). One trace in ten has a run, its root comes
in a later record or request; the local judge judges. All replicas are on one core, the broker and the load on the
other: what counts is CPU time of the processes, not the wall clock.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.line import requests, send, served, until_idle
from tests.bench.process import MIB, OTHERS, cpu_seconds, on_core, resident_mib, written_bytes
from tests.bench.sink import Arrivals
from tests.bench.splitter import split
from tests.bench.traces import SPANS, Traces
from tests.exposition import sums
from tests.services.catalogue import lacking
from tests.services.kafka import Kafka, Record
from tests.services.process import wait_until
from tests.serving import Serving

REPLICAS = (1, 2, 4)
TRACES, RUN_IN = 16_000, 10
"""Traces, and in how many of them there is one with a run."""
RATE = 0.25
PARTITIONS = 12
SENT_TOGETHER = 1000
"""Records."""
TRICKLE, A_SECOND = 3_000, 100.0
"""Traces, and records a second."""
IDLE_SECONDS = 10.0


Parts = Sequence[tuple[bytes, bytes]]
"""Trace id and bytes of what is sent, in its order."""


@dataclass(frozen=True)
class Sent:
    """A trace's parts, in the order in which they are sent."""

    trace_id: bytes
    parts: Sequence[bytes]


@dataclass(frozen=True)
class Done:
    """What one replica did, and took."""

    cpu: float
    idle: float
    resident: float
    series: int
    seen: Mapping[str, float]

    @property
    def spans(self) -> int:
        return int(self.seen["ctxscore_spans_total:kept"] + self.seen["ctxscore_spans_total:sampled_out"])

    @property
    def traces(self) -> int:
        return int(self.seen["ctxscore_traces_total:not_rag"]) + self.runs

    @property
    def runs(self) -> int:
        return int(self.seen["ctxscore_traces_total:scored"])


@dataclass(frozen=True)
class Group:
    """What all replicas did, and in what time they were fed. `broker` is what the broker sent, and what it sends in a
    second with nothing to do."""

    name: str
    replicas: Sequence[Done]
    seconds: float
    broker: tuple[int, float] | None = None

    def row(self, alone: float) -> str:
        """`alone` is the CPU of one replica for the same work."""
        cpu = sum(done.cpu for done in self.replicas)
        cells = [
            self.name,
            str(len(self.replicas)),
            f"{self.seconds:.0f}",
            _each(f"{done.cpu:.2f}" for done in self.replicas),
            f"{cpu:.2f} ({cpu / alone:.2f}x)",
            _each(f"{done.idle:.1%}" for done in self.replicas),
            _each(f"{done.spans:,}" for done in self.replicas),
            _each(f"{done.traces:,}" for done in self.replicas),
            _each(f"{done.runs:,}" for done in self.replicas),
            _each(f"{done.resident:.0f}" for done in self.replicas),
            _each(f"{done.series:,}" for done in self.replicas),
            "" if self.broker is None else f"{self.broker[0] / MIB:.1f} MiB; {self.broker[1] / 1024:.1f} KiB",
        ]
        return f"| {' | '.join(cells)} |"


HEADER = """\
| from | replicas | fed in s | CPU s of each | together | idle, of a core | spans of each | traces kept | runs | resident MiB | series | broker sent; a second idle |
|---|--:|--:|---|--:|---|---|---|---|---|---|---|"""


def _each(values: Iterable[str]) -> str:
    """One after the other; once where all are alike."""
    found = list(values)
    return found[0] if len(set(found)) == 1 else ", ".join(found)


def work(count: int) -> list[Sent]:
    """The traces that every group gets."""
    traces, found = Traces(), []
    for number in range(count):
        trace_id = traces.trace_id()
        parts = (traces.plain(trace_id),) if number % RUN_IN else traces.rag(trace_id)
        found.append(Sent(trace_id, parts))
    return found


def in_time(sent: Sequence[Sent]) -> Parts:
    """Each part. The second part of a trace comes with the parts of a later one."""
    late: list[tuple[bytes, bytes]] = []
    found: list[tuple[bytes, bytes]] = []
    for one in sent:
        found.append((one.trace_id, one.parts[0]))
        found += late
        late = [(one.trace_id, part) for part in one.parts[1:]]
    return found + late


def measure(
    name: str,
    configs: Sequence[Mapping[str, Any]],
    feed: Callable[[Sequence[Serving]], None],
    kafka: Kafka | None = None,
) -> Group:
    """Start a replica for each configuration, feed them, wait until all is done."""
    with tempfile.TemporaryDirectory() as folder, Arrivals() as arrivals, ExitStack() as stack:
        common = {
            "assembly": {"quiet_period": "2s", "idle": "10s", "late_window": "1s"},
            "sampling": {"rate": RATE},
            "sinks": {"otlp": {"endpoint": arrivals.url, "protocol": "http/protobuf"}},
        }
        started = [
            stack.enter_context(served(Path(folder) / str(number), {**common, **config}))
            for number, config in enumerate(configs)
        ]
        services, pids = [service for service, _ in started], [pid for _, pid in started]
        if kafka is not None:
            wait_until(lambda: _dealt(services), 60, "partitions dealt out evenly")
        until_idle(pids)
        before, sent = [cpu_seconds(pid) for pid in pids], _written(kafka)
        began = time.monotonic()
        feed(services)
        seconds = time.monotonic() - began
        until_idle(pids)
        spent, sent = [cpu_seconds(pid) - was for pid, was in zip(pids, before, strict=True)], _written(kafka) - sent
        idle, quiet = [cpu_seconds(pid) for pid in pids], _written(kafka)
        time.sleep(IDLE_SECONDS)
        idle = [(cpu_seconds(pid) - was) / IDLE_SECONDS for pid, was in zip(pids, idle, strict=True)]
        broker = None if kafka is None else (sent, (_written(kafka) - quiet) / IDLE_SECONDS)
        return Group(name, [_done(*one) for one in zip(services, pids, spent, idle, strict=True)], seconds, broker)


def _done(service: Serving, pid: int, cpu: float, idle: float) -> Done:
    text = service.get("/metrics")
    series = sum(not line.startswith("#") for line in text.splitlines())
    return Done(cpu, idle, resident_mib(pid), series, sums(text))


def _dealt(services: Sequence[Serving]) -> bool:
    name = "ctxscore_kafka_assigned_partitions"
    return all(sums(service.get("/metrics"))[name] == PARTITIONS / len(services) for service in services)


def _written(kafka: Kafka | None) -> int:
    return 0 if kafka is None else written_bytes(kafka.pid)


def from_kafka(kafka: Kafka, parts: Parts, replicas: int) -> Group:
    """One consumer group, fed as fast as it goes."""

    def feed(topic: str, records: Sequence[Record]) -> None:
        for at in range(0, len(records), SENT_TOGETHER):
            kafka.send(topic, records[at : at + SENT_TOGETHER])

    return _grouped("Kafka", kafka, parts, replicas, feed)


def from_trickle(kafka: Kafka, parts: Parts, replicas: int) -> Group:
    """One consumer group, fed record by record."""
    return _grouped(f"Kafka, {A_SECOND:.0f} records/s", kafka, parts, replicas, partial(kafka.send, a_second=A_SECOND))


def _grouped(
    name: str, kafka: Kafka, parts: Parts, replicas: int, send: Callable[[str, Sequence[Record]], None]
) -> Group:
    """Of what the broker wrote its own log is taken off."""
    topic = kafka.topic(PARTITIONS)
    source = {"brokers": [kafka.bootstrap], "topics": [topic], "group_id": f"g-{topic}", "start": "earliest"}
    records = [Record(value, trace_id.hex().encode()) for trace_id, value in parts]
    configs = [{"sources": {"otlp": None, "kafka": source}}] * replicas
    group = measure(name, configs, lambda services: send(topic, records), kafka)
    assert group.broker is not None
    logged = sum(len(record.value or b"") + len(record.key or b"") for record in records)
    return replace(group, broker=(group.broker[0] - logged, group.broker[1]))


def from_otlp(kafka: Kafka, parts: Parts, replicas: int) -> Group:
    """Requests of many traces, each split by trace id."""
    bodies = requests([value for _, value in parts])

    def feed(services: Sequence[Serving]) -> None:
        divided = [split(body, replicas) for body in bodies]
        for number, service in enumerate(services):
            send(service.http, [own[number] for own in divided if own[number]])

    return measure("OTLP/HTTP", [{}] * replicas, feed)


def check(group: Group, sent: Sequence[Sent]) -> None:
    """All was taken once, nothing of a trace was split, and all replicas together did the same work."""
    assert sum(done.spans for done in group.replicas) == len(sent) * SPANS, group
    for name in ("unscored", "partly_scored", "redelivered"):
        assert not sum(done.seen[f"ctxscore_traces_total:{name}"] for done in group.replicas), (name, group)
    assert not sum(done.seen.get("ctxscore_split_traces_total", 0) for done in group.replicas), group


WAYS = {"kafka": (from_kafka, TRACES), "trickle": (from_trickle, TRICKLE), "otlp": (from_otlp, TRACES)}


def main(ways: Sequence[str]) -> int:
    """A table of three groups each way. Exit 1 where the groups of one did not do the same work."""
    if missing := lacking("kafka"):
        sys.exit(missing)
    differ = 0
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder, on_core(OTHERS), Kafka(Path(folder) / "kafka") as kafka:
        for way, traces in (WAYS[name] for name in ways):
            sent = work(traces)
            parts, alone, done = in_time(sent), 0.0, set()
            for replicas in REPLICAS:
                group = way(kafka, parts, replicas)
                check(group, sent)
                alone = alone or group.replicas[0].cpu
                print(group.row(alone), flush=True)
                done.add((sum(one.traces for one in group.replicas), sum(one.runs for one in group.replicas)))
            differ += len(done) > 1
    size = sum(len(part) for _, part in in_time(work(TRACES)))
    print(
        f"\n{TRACES:,} traces of {SPANS} spans, {size / MIB:.0f} MiB, {RATE:.0%} of them kept; {TRICKLE:,} as a trickle."
    )
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(WAYS)))
