"""A process that takes OTLP by our own receivers: `python -m tests.bench.ingest.server WAY GRPC HTTP FILE`.

WAY is a sampling rate: the real line up to closed traces whose kept spans are objects, with no judge and no sink. Or it
is `walk`: the receivers are the same, but a request is parsed by protobuf (or `json.loads`) and every span and attribute
is walked in Python. At its end (SIGTERM) it writes to FILE what it took.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from otel_ctxscore.core.assembly import Limits, TraceAssembler
from otel_ctxscore.core.codec import Encoding, Taken, fuller
from otel_ctxscore.core.conventions import Extraction
from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.sampling import Sampler
from otel_ctxscore.core.spans import Trace
from otel_ctxscore.io import otlp_intake, process
from otel_ctxscore.io.otlp_grpc import OtlpGrpc
from otel_ctxscore.io.otlp_http import OtlpHttp
from otel_ctxscore.pipeline import Pipeline
from otel_ctxscore.telemetry import Metrics
from tests.bench.codec import walk, walk_json

LIMIT = 64 << 20
AT_ONCE = Limits(quiet_period=0, idle=0, max_age=-1, late_window=0)
"""A trace closes as soon as its request is taken, and its id is forgotten: the load source sends the same ids again."""
UNREAD = Extraction(outcome=TraceOutcome.UNSCORED, reason=Reason.REDACTED)
"""What ends a trace after it is opened: extraction has no part in the measurement."""


class Opened:
    """Counts what the line opened."""

    def __init__(self) -> None:
        self.spans = self.traces = 0

    async def read(self, trace: Trace) -> Extraction:
        self.traces += 1
        self.spans += len(trace.spans)
        return UNREAD


async def _nothing_to_judge(run: RagRun) -> Evaluation:
    raise AssertionError(f"no run was read, but {run}")


def line(rate: float, opened: Opened, metrics: Metrics) -> Pipeline:
    """The line from accepted requests to opened traces."""
    return Pipeline(
        sampler=Sampler(rate),
        assembler=TraceAssembler(AT_ONCE, fuller),
        read=opened.read,
        evaluate=_nothing_to_judge,
        sinks=[],
        metrics=metrics,
    )


def walked(body: bytes, encoding: Encoding, keeps: Callable[[bytes], bool]) -> Taken:
    """What stands in for our own decoding: it looks at everything and keeps nothing."""
    (walk if encoding == "proto" else walk_json)(body)
    return Taken()


async def serve(rate: float, grpc: str, http: str) -> dict[str, float]:
    """Take requests until SIGTERM; the number of spans and traces that were opened, and of requests by result."""
    metrics, opened, ended = Metrics([]), Opened(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    pipeline = line(rate, opened, metrics)
    running = asyncio.create_task(pipeline.run())
    receivers = [
        kind(listen, max_request_size=LIMIT, counts=metrics.intake(kind.name))
        for kind, listen in ((OtlpGrpc, grpc), (OtlpHttp, http))
    ]
    for receiver in receivers:
        await receiver.start(pipeline)
    await ended.wait()
    for receiver in receivers:
        await receiver.stop()
    running.cancel()
    answers: Counter[str] = Counter()
    for metric, sample in metrics.samples():
        if metric.name == "requests_total":
            answers[sample.labels["result"]] += int(sample.value)
    return {"spans": opened.spans, "traces": opened.traces, **answers}


def main(way: str, grpc: str, http: str, file: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    rate = 0.0 if way == "walk" else float(way)
    takes = {"traces": walked} if way == "walk" else {}
    with mock.patch.dict(otlp_intake._TAKES, takes):
        counts = process.run(serve(rate, grpc, http))
    Path(file).write_text(json.dumps(counts))
    os._exit(0)  # gRPC's own threads take their time


if __name__ == "__main__":
    main(*sys.argv[1:])
