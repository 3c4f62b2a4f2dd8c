"""The requests that are sent: 512 spans in 100 traces, of which sampling at 1 % keeps one and at 5 % keeps five.

"short" has 8 short attributes a span; "rag" is OpenInference retrievers with documents of ~800 characters.
"""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_ctxscore.core.sampling import seed_of, uniform
from tests.bench.codec import GROUPS, NOISE, SPANS, put, retrieval, to_json

Kind = Literal["short", "rag"]
KINDS: tuple[Kind, ...] = ("short", "rag")
TRACES = 100
GZIP_LEVEL = 6
STRATA = ((0.0, 0.01, 1), (0.01, 0.05, 4), (0.05, 1.0, 95))
"""How many of a request's trace ids have their sampling number in which range."""


@dataclass(frozen=True)
class Request:
    """An ExportTraceServiceRequest in the forms in which it is sent, and how many spans of it sampling keeps."""

    proto: bytes
    kept: dict[float, int]

    @cached_property
    def json(self) -> bytes:
        return to_json(self.proto)

    def http(self, *, compressed: bool, json: bool = False) -> bytes:
        """The body of a POST."""
        body = self.json if json else self.proto
        return gzip.compress(body, GZIP_LEVEL) if compressed else body

    def grpc(self, *, compressed: bool) -> bytes:
        """The message of a call, with gRPC's prefix: whether it is compressed, and its length."""
        message = self.http(compressed=compressed)
        return bytes([compressed]) + len(message).to_bytes(4) + message


def requests(kind: Kind, count: int, seed: int = 1) -> list[Request]:
    """Requests of which each has trace ids of its own."""
    draw = random.Random(seed)
    message = ExportTraceServiceRequest()
    for _ in range(GROUPS):
        resource_spans = message.resource_spans.add()
        put(resource_spans.resource.attributes, "service.name", "shop")
        scope_spans = resource_spans.scope_spans.add()
        scope_spans.scope.name = "openinference.instrumentation.langchain"
        for _ in range(SPANS // GROUPS):
            span = scope_spans.spans.add(kind=2, name="GET /api/orders", span_id=draw.randbytes(8))
            span.start_time_unix_nano = 10**18 + draw.randrange(10**12)
            span.end_time_unix_nano = span.start_time_unix_nano + draw.randrange(10**9)
            _describe(span.attributes, kind, draw)
    return [_with_ids(message, draw) for _ in range(count)]


def _describe(attributes: Any, kind: Kind, draw: random.Random) -> None:
    if kind == "rag":
        retrieval(attributes, draw)
        return
    varied = {"url.path": f"/api/orders/{draw.randrange(10**5)}", "client.address": f"10.42.0.{draw.randrange(256)}"}
    for key, value in {**NOISE, **varied}.items():
        put(attributes, key, value)


def _with_ids(message: ExportTraceServiceRequest, draw: random.Random) -> Request:
    ids = trace_ids(draw)
    kept = dict.fromkeys((upper for _, upper, _ in STRATA), 0)
    number, last, root = 0, b"", b""
    for resource_spans in message.resource_spans:
        for span in resource_spans.scope_spans[0].spans:
            trace_id = ids[number * TRACES // SPANS]
            span.trace_id, span.parent_span_id = trace_id, root if trace_id == last else b""
            last, root = trace_id, root if trace_id == last else span.span_id
            number += 1
            for rate in kept:
                kept[rate] += uniform(trace_id, seed_of("")) < rate
    return Request(message.SerializeToString(), kept)


def trace_ids(draw: random.Random) -> list[bytes]:
    """The ids of a request's traces, in the proportions of STRATA."""
    found: list[bytes] = []
    for lower, upper, wanted in STRATA:
        while wanted:
            trace_id = draw.randbytes(16)
            if lower <= uniform(trace_id, seed_of("")) < upper:
                found.append(trace_id)
                wanted -= 1
    draw.shuffle(found)
    return found
