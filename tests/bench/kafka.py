"""`python -m tests.bench.kafka`: what reading from Kafka costs beside a bare aiokafka loop, and commit lag.

* Spans a CPU-second from one topic of mixed traffic (records of 512 spans, 90 % short ones, 10 % retrievals): the real
  source, sampling, decoding and assembling, against a loop that only takes the records. Both in turn, best of nine.
* How long a run's record waits to be read, and how long after its evaluation is at the sink it is committed.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from aiokafka import AIOKafkaConsumer

from otel_ctxscore.config.intake import KafkaSource as Settings
from otel_ctxscore.core.assembly import Limits, TraceAssembler
from otel_ctxscore.core.codec import fuller
from otel_ctxscore.core.conventions import Extraction, extract
from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.core.sampling import Sampler
from otel_ctxscore.core.spans import Trace
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.io.kafka.source import KafkaSource
from otel_ctxscore.pipeline import Pipeline
from otel_ctxscore.ports import IntakeCounts
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.telemetry import Metrics
from tests.bench.codec import SPANS, batch
from tests.io.kafka.slow_judge import factory
from tests.otlp import rag, request
from tests.services.catalogue import lacking
from tests.services.kafka import Kafka, Record

RECORDS = 1200
ROUNDS = 9
TRACES, QUIET = 40, 1.0
"""Runs whose way is timed, and the quiet period of theirs in seconds."""
RATES = {0.05: 0.6, 0.01: 0.8}
"""Sampling rates, and the share of the bare loop's speed that is the goal."""


class Sink:
    """Notes when each evaluation came."""

    name = "memory"

    def __init__(self) -> None:
        self.at: list[float] = []

    async def emit(self, evaluation: Evaluation) -> None:
        self.at.append(time.monotonic())

    async def close(self) -> None:
        return


class Records:
    """Counts as the service does. `all` is set when all records are read."""

    def __init__(self, counts: IntakeCounts) -> None:
        self._counts = counts
        self._read = 0
        self.all = asyncio.Event()

    def counted(self, result: str, n: int) -> None:
        self._counts.counted(result, n)

    def request(self, result: str) -> None:
        self._counts.request(result)
        self._read += 1
        if self._read == RECORDS:
            self.all.set()


def line(rate: float, sink: Sink, limits: Limits) -> tuple[Pipeline, Metrics]:
    judge, metrics = factory(), Metrics(["context_precision"])

    async def read(trace: Trace) -> Extraction:
        return extract(trace)

    async def judged(run: RagRun) -> Evaluation:
        return await evaluate(run, judge, [ContextPrecision()])

    assembler = TraceAssembler(limits, fuller)
    return Pipeline(
        sampler=Sampler(rate), assembler=assembler, read=read, evaluate=judged, sinks=[sink], metrics=metrics
    ), metrics


async def bare(bootstrap: str, topic: str) -> float:
    """Spans a CPU-second of a loop that takes the records and does nothing."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    began, records = time.process_time(), 0
    while records < RECORDS:
        records += sum(map(len, (await consumer.getmany(timeout_ms=500)).values()))
    spent = time.process_time() - began
    await consumer.stop()
    return RECORDS * SPANS / spent


def ours(rate: float) -> Callable[[str, str], Awaitable[float]]:
    async def run(bootstrap: str, topic: str) -> float:
        pipeline, metrics = line(rate, Sink(), Limits(idle=600, max_size=8 << 30))
        chosen = Settings.model_validate(
            {"brokers": [bootstrap], "topics": [topic], "group_id": f"g{time.time_ns()}", "start": "earliest"}
        )
        counts = Records(metrics.intake("kafka"))
        source = KafkaSource(chosen, counts=counts)
        await source.start(pipeline)
        while not source.assigned_partitions():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        began = time.process_time()
        await counts.all.wait()
        spent = time.process_time() - began
        await source.stop()
        await source.close()
        return RECORDS * SPANS / spent

    return run


async def lags(kafka: Kafka, topic: str) -> tuple[list[float], list[float]]:
    """Seconds from a record that is sent to its evaluation at the sink, without the quiet period, and from there to the
    commit of the record. Records come one by one: there is never as much as a fetch waits for."""
    sink = Sink()
    pipeline, metrics = line(1.0, sink, Limits(quiet_period=QUIET))
    group = f"g{time.time_ns()}"
    chosen = Settings.model_validate(
        {"brokers": [kafka.bootstrap], "topics": [topic], "group_id": group, "start": "earliest"}
    )
    source = KafkaSource(chosen, counts=metrics.intake("kafka"))
    running = asyncio.create_task(pipeline.run())
    await source.start(pipeline)
    while not source.assigned_partitions():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    sent: list[float] = []
    committed: list[float] = []
    while len(committed) < TRACES:
        if len(sent) < TRACES:
            await asyncio.to_thread(kafka.send, topic, [Record(request(rag(len(sent) + 1)))])
            sent.append(time.monotonic())
        done = (await asyncio.to_thread(kafka.committed, group)).get((topic, 0), 0)
        committed += [time.monotonic() - at for at in sink.at[len(committed) : done]]
        await asyncio.sleep(0.1)
    running.cancel()
    await source.stop()
    await source.close()
    return [at - was - QUIET for at, was in zip(sink.at, sent, strict=True)], committed


def main() -> None:
    if missing := lacking("kafka"):
        sys.exit(missing)
    with tempfile.TemporaryDirectory() as folder, Kafka(Path(folder) / "kafka") as kafka:
        topic, slow = kafka.topic(), kafka.topic()
        body = [Record(batch("mix", seed)) for seed in range(40)]
        for _ in range(0, RECORDS, len(body)):
            kafka.send(topic, body, max_request_size=1 << 24)
        ways = {"bare": bare} | {str(rate): ours(rate) for rate in RATES}
        best = dict.fromkeys(ways, 0.0)
        for _ in range(ROUNDS):
            for name, way in ways.items():
                best[name] = max(best[name], asyncio.run(way(kafka.bootstrap, topic)))  # type: ignore[arg-type]
        waited, committed = asyncio.run(lags(kafka, slow))
    print("| from Kafka | spans a CPU-second | of the bare loop | goal |\n|---|---|---|---|")
    print(f"| bare aiokafka loop | {best['bare'] / 1e6:.2f} M | | |")
    for rate, goal in RATES.items():
        speed = best[str(rate)]
        print(f"| the source at {rate:.0%} sampling | {speed / 1e6:.2f} M | {speed / best['bare']:.2f}x | >= {goal}x |")
    for what, found in (("read, judged and at the sink", waited), ("committed after the sink has it", committed)):
        print(f"\n{what}: median {median(found):.2f} s, longest {max(found):.2f} s, of {len(found)}")


if __name__ == "__main__":
    main()
