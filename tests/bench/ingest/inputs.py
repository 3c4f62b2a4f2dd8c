"""Kafka and files, each read by a process of its own on the server core: `python -m tests.bench.ingest.inputs INPUT ...`.

The Kafka source is the real one. A file is read as `otel-ctxscore score` reads it, up to opened traces.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from otel_ctxscore.batch import traces
from otel_ctxscore.config import Config
from otel_ctxscore.config.intake import KafkaSource as Settings
from otel_ctxscore.core.codec import Encoding, Taken
from otel_ctxscore.core.sampling import Sampler
from otel_ctxscore.io import file, process
from otel_ctxscore.io.file import Report
from otel_ctxscore.io.kafka import records
from otel_ctxscore.io.kafka.source import KafkaSource
from otel_ctxscore.telemetry import Metrics
from tests.bench.codec import SPANS
from tests.bench.ingest.server import Opened, line, walked
from tests.bench.ingest.sinks import SERVER_CORE
from tests.bench.ingest.traffic import KINDS, Kind, requests
from tests.services.kafka import Kafka, Record

COUNT: dict[Kind, int] = {"short": 300, "rag": 100}
"""Requests of each input, of which none share a trace."""
WAYS = ("0.01", "0.05", "1", "walk")
Read = dict[str, dict[str, list[float]]]


def run(folder: Path, rounds: int) -> Read:
    """Spans a CPU-second by input and way, one a round."""
    found: Read = defaultdict(lambda: defaultdict(list))
    with Kafka(folder / "kafka", settings={"message.max.bytes": str(16 << 20)}) as kafka:
        asked = {}
        for kind in KINDS:
            sent = requests(kind, COUNT[kind])
            topic, path = kafka.topic(), folder / f"{kind}.jsonl"
            kafka.send(topic, [Record(request.proto) for request in sent], max_request_size=16 << 20)
            path.write_bytes(b"\n".join(request.json for request in sent))
            asked[f"Kafka {kind}"] = ["kafka", kind, kafka.bootstrap, topic]
            asked[f"file of JSON lines, {kind}"] = ["file", kind, str(path)]
        for number in range(rounds):
            for name, arguments in asked.items():
                for way in WAYS:
                    found[name]["parse and walk" if way == "walk" else f"{float(way):.0%}"].append(
                        _read(way, arguments)
                    )
                print(f"round {number + 1}, {name}", file=sys.stderr, flush=True)
    return found


def _read(way: str, arguments: list[str]) -> float:
    command = ["taskset", "-c", str(SERVER_CORE), sys.executable, "-m", "tests.bench.ingest.inputs", way, *arguments]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main(way: str, source: str, kind: str, *place: str) -> None:
    """Print how many spans a CPU-second of this process reads."""
    rate, count = 0.0 if way == "walk" else float(way), COUNT["rag" if kind == "rag" else "short"]
    with ExitStack() as stack:
        if way == "walk":
            stack.enter_context(mock.patch.object(records, "take_traces", walked))
            stack.enter_context(mock.patch.object(file, "take_any", _walked_file))
        print(_from_file(rate, count, *place) if source == "file" else process.run(_consume(rate, count, *place)))


def _walked_file(body: bytes, encoding: Encoding, keeps: Callable[[bytes], bool], *, keep_own: bool) -> Taken:
    return walked(body, encoding, keeps)


async def _consume(rate: float, count: int, bootstrap: str, topic: str) -> float:
    metrics, opened = Metrics([]), Opened()
    pipeline = line(rate, opened, metrics)
    running = asyncio.create_task(pipeline.run())
    asked = {"brokers": [bootstrap], "topics": [topic], "group_id": f"g{time.time_ns()}", "start": "earliest"}
    source = KafkaSource(Settings.model_validate(asked), counts=metrics.intake("kafka"))
    await source.start(pipeline)
    while not source.assigned_partitions():  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    began = time.process_time()
    while _taken(metrics) < count or pipeline.assembler.open_traces or pipeline.waiting:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    spent = time.process_time() - began
    running.cancel()
    await source.stop()
    await source.close()
    return count * SPANS / spent


def _taken(metrics: Metrics) -> float:
    return sum(sample.value for metric, sample in metrics.samples() if metric.name == "requests_total")


def _from_file(rate: float, count: int, path: str) -> float:
    began = time.process_time()
    for _ in traces([path], Sampler(rate).keeps, Report(), Config()):
        pass
    return count * SPANS / (time.process_time() - began)


if __name__ == "__main__":
    main(*sys.argv[1:])
