"""`python -m tests.bench.codec`: what decoding a request costs, against parsing it whole and walking every span.

CPU time, best of many runs, batches of 512 spans: "noise" has 8 short attributes a span, "rag" is OpenInference
retrievers and LLM calls with documents of ~800 characters, "mix" is 90 % noise. Absolute figures move with the machine;
the ratios do not.
"""

from __future__ import annotations

import itertools
import json
import random
import time
from base64 import b64decode
from collections.abc import Callable
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from otel_ctxscore.core.codec import open_span, take_traces
from otel_ctxscore.core.codec.wire import Encoding

SPANS = 512
TRACE = 8  # spans
KEPT = 3  # of 64 traces: 4.7 %
GROUPS = 4  # resources a batch
WORDS = [
    "the",
    "of",
    "port",
    "ledger",
    "service",
    "listens",
    "retrieval",
    "evaluation",
    "system",
    "answer",
    "kettle",
    "guard",
    "boils",
    "water",
    "context",
]
NOISE: dict[str, str | int] = {
    "http.request.method": "GET",
    "url.path": "/api/orders/7443",
    "http.response.status_code": 200,
    "server.address": "orders.default.svc",
    "server.port": 8080,
    "network.protocol.version": "1.1",
    "user_agent.original": "python-httpx/0.28.1",
    "client.address": "10.42.0.37",
}


def batch(kind: str, seed: int = 1) -> bytes:
    """A request of SPANS spans in protobuf."""
    draw = random.Random(seed)
    request = ExportTraceServiceRequest()
    for _ in range(GROUPS):
        resource_spans = request.resource_spans.add()
        put(resource_spans.resource.attributes, "service.name", "shop")
        scope_spans = resource_spans.scope_spans.add()
        scope_spans.scope.name = "openinference.instrumentation.langchain"
        for n in range(SPANS // GROUPS):
            if n % TRACE == 0:
                trace_id, parent = draw.randbytes(16), b""
            span = scope_spans.spans.add(trace_id=trace_id, span_id=draw.randbytes(8), parent_span_id=parent, kind=2)
            span.name, span.start_time_unix_nano, span.end_time_unix_nano = "GET /api/orders", 10**18, 10**18 + 1
            parent = parent or span.span_id
            if kind == "rag" or (kind == "mix" and draw.random() < 0.1):
                retrieval(span.attributes, draw)
            else:
                for key, value in NOISE.items():
                    put(span.attributes, key, value)
    return request.SerializeToString()


def retrieval(attributes: Any, draw: random.Random) -> None:
    put(attributes, "openinference.span.kind", "RETRIEVER")
    put(attributes, "input.value", _text(draw, 60))
    for n in range(draw.choice((2, 3, 4))):
        put(attributes, f"retrieval.documents.{n}.document.id", f"doc-{n}")
        put(attributes, f"retrieval.documents.{n}.document.content", _text(draw, 800))


def _text(draw: random.Random, size: int) -> str:
    return " ".join(draw.choices(WORDS, k=size // 6))[:size]


def put(attributes: Any, key: str, value: str | int) -> None:
    written = attributes.add(key=key).value
    if isinstance(value, str):
        written.string_value = value
    else:
        written.int_value = value


def to_json(body: bytes) -> bytes:
    """The same request in OTLP/JSON."""
    document = MessageToDict(ExportTraceServiceRequest.FromString(body), use_integers_for_enums=True)
    for resource in document["resourceSpans"]:
        for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
            for key in ("traceId", "spanId", "parentSpanId"):
                if key in span:
                    span[key] = _hex(span[key])
    return json.dumps(document, separators=(",", ":")).encode()


def _hex(base64: str) -> str:

    return b64decode(base64).hex()


def walk(body: bytes) -> None:
    """Parse whole, then every span and attribute in Python."""
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for span in (span for scope in resource.scope_spans for span in scope.spans):
            _ = (span.trace_id, span.span_id, span.parent_span_id, span.name, span.start_time_unix_nano)
            _ = {pair.key: _value(pair.value) for pair in span.attributes}


def _value(value: AnyValue) -> object:
    which = value.WhichOneof("value")
    return getattr(value, which) if which else None


def walk_json(body: bytes) -> None:
    for resource in json.loads(body)["resourceSpans"]:
        for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
            _ = {pair["key"]: next(iter(pair["value"].values())) for pair in span["attributes"]}
            _ = bytes.fromhex(span["traceId"])


def lean(encoding: Encoding, kept: int, *, opened: bool) -> Callable[[bytes], None]:
    """Our way: keep some of the traces as bytes and, where asked, open what was kept."""

    def run(body: bytes) -> None:
        left = itertools.count(kept, -1)  # the decision is made once a trace
        taken = take_traces(body, encoding, lambda trace_id: next(left) > 0)
        if opened:
            for span in taken.spans:
                open_span(span)

    return run


def spans_a_second(run: Callable[[bytes], None], body: bytes, seconds: float = 0.4) -> float:
    run(body)
    best, until = float("inf"), time.process_time() + seconds
    while (start := time.process_time()) < until:
        run(body)
        best = min(best, time.process_time() - start)
    return SPANS / best


WAYS: list[tuple[str, Encoding, Callable[[bytes], None]]] = [
    ("protobuf: parse, walk every span", "proto", walk),
    ("protobuf: keep none", "proto", lean("proto", 0, opened=False)),
    ("protobuf: keep 4.7 %, open them", "proto", lean("proto", KEPT, opened=True)),
    ("protobuf: keep all, as bytes", "proto", lean("proto", SPANS, opened=False)),
    ("protobuf: keep all, open them", "proto", lean("proto", SPANS, opened=True)),
    ("JSON: json.loads, walk every span", "json", walk_json),
    ("JSON: keep none", "json", lean("json", 0, opened=False)),
    ("JSON: keep 4.7 %, open them", "json", lean("json", KEPT, opened=True)),
    ("JSON: keep all, open them", "json", lean("json", SPANS, opened=True)),
]


def main() -> None:
    kinds = ("noise", "mix", "rag")
    bodies: dict[tuple[str, Encoding], bytes] = {}
    for kind in kinds:
        body = batch(kind)
        bodies[kind, "proto"], bodies[kind, "json"] = body, to_json(body)
    sizes = ", ".join(f"{kind} {len(bodies[kind, 'proto']) // SPANS} B" for kind in kinds)
    print(f"thousand spans a CPU second (times parse-and-walk); a span of {sizes}\n")
    print(f"| {'way':34} |" + "".join(f" {kind:>14} |" for kind in kinds))
    print("|---|" + "---|" * len(kinds))
    base: dict[str, float] = {}
    for way, encoding, run in WAYS:
        cells = []
        for kind in kinds:
            rate = spans_a_second(run, bodies[kind, encoding])
            first = base.setdefault(f"{encoding} {kind}", rate)
            cells.append(f" {rate / 1000:7.0f} ({rate / first:4.1f}) |")
        print(f"| {way:34} |" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
