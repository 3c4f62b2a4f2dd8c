"""`python -m tests.bench.memory`: memory against open traces, of 6 spans of about 330 bytes each, with the caps raised.

Each size in a process of its own; what it had before the first trace is subtracted. `assembly.max_size` is compared
with what the assembler counts, so that stands beside it.
"""

from __future__ import annotations

import subprocess
import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_ctxscore.core.assembly import Limits, TraceAssembler
from otel_ctxscore.core.codec import fuller, take_traces
from otel_ctxscore.core.receipts import Receipt
from otel_ctxscore.core.spans import Delivery
from tests.bench.codec import NOISE, put
from tests.bench.process import MIB, resident_mib

SIZES = (10_000, 50_000, 100_000)
SPANS = 6
TOGETHER = 100
"""Traces a request."""
GOAL = 1024
"""MiB, of the largest size."""


def measure(traces: int) -> tuple[float, float, float]:
    """MiB that open traces add to this process, MiB that the assembler counts, bytes of a span."""
    assembler = TraceAssembler(Limits(idle=600, max_traces=2 * traces, max_size=8 << 30), fuller)
    take_traces(request(0), "proto", lambda _: True)
    before, received = resident_mib(), 0
    for first in range(1, traces, TOGETHER):
        body = request(first)
        received += len(body)
        receipt = Receipt()
        assembler.add(Delivery(take_traces(body, "proto", lambda _: True).spans, receipt), 0)
        receipt.settle()
    assert assembler.open_traces == traces
    return resident_mib() - before, assembler.open_bytes / MIB, received / (traces * SPANS)


def request(first: int) -> bytes:
    """The spans of TOGETHER traces. None is a root: nothing falls due."""
    message = ExportTraceServiceRequest()
    scope = message.resource_spans.add().scope_spans.add()
    scope.scope.name = "shop"
    for trace in range(first, first + TOGETHER):
        for number in range(SPANS):
            span = scope.spans.add(trace_id=trace.to_bytes(16), span_id=(trace * 8 + number + 1).to_bytes(8))
            span.parent_span_id, span.name = b"p" * 8, "GET /api/orders"
            span.start_time_unix_nano, span.end_time_unix_nano = 10**18, 10**18 + 10**6
            for key, value in NOISE.items():
                put(span.attributes, key, value)
    return message.SerializeToString()


def main() -> None:
    """One line a size."""
    print(f"| open traces of {SPANS} spans | bytes a span | resident MiB | counted MiB | bytes a trace |")
    print("|--:|--:|--:|--:|--:|")
    for traces in SIZES:
        command = [sys.executable, "-m", "tests.bench.memory", str(traces)]
        said = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        resident, counted, size = map(float, said.split())
        print(f"| {traces:,} | {size:.0f} | {resident:.0f} | {counted:.0f} | {resident * MIB / traces:,.0f} |")
    print(f"\nGoal: at most {GOAL:,} MiB for {SIZES[-1]:,}.")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(*measure(int(sys.argv[1])))
    else:
        main()
