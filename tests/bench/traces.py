"""Traces as requests of OTLP in protobuf. Requests may be joined by joining their bytes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.bench.codec import NOISE, put

SPANS = 8
"""Spans of each trace."""
CONTEXTS, CHARACTERS = 5, 800
TEXTS = Path(__file__).parents[2] / "docs"
ROOT = (1).to_bytes(8)
RAG_SCOPE, WEB_SCOPE = "openinference.instrumentation.langchain", "opentelemetry.instrumentation.asgi"
Attributes = dict[str, str | int]


class Traces:
    """Draws traces. Documents are pieces of this project's pages and come again as in a real index; queries and answers
    are sentences out of them, each with a number of its own."""

    def __init__(self, seed: int = 1, services: int = 1) -> None:
        self._draw = random.Random(seed)
        self._services = [f"shop-{number}" for number in range(services)]
        text = " ".join(" ".join(page.read_text().split()) for page in sorted(TEXTS.glob("*.md")))
        self._documents = [text[at : at + CHARACTERS] for at in range(0, len(text) - CHARACTERS, CHARACTERS)]
        self._asked = 0

    def trace_id(self) -> bytes:
        """A new one."""
        return self._draw.randbytes(16)

    def rag(self, trace_id: bytes) -> tuple[bytes, bytes]:
        """A run: the retriever, the model and six other spans; then the root, which comes last."""
        self._asked += 1
        query = f"Question {self._asked}: {self._draw.choice(self._documents)[100:160]}?"
        answer = f"{self._asked}: {self._draw.choice(self._documents)[100:400]}"
        found: Attributes = {"openinference.span.kind": "RETRIEVER", "input.value": query}
        for rank, number in enumerate(self._draw.sample(range(len(self._documents)), CONTEXTS)):
            found[f"retrieval.documents.{rank}.document.id"] = f"doc-{number}"
            found[f"retrieval.documents.{rank}.document.content"] = self._documents[number]
        model: Attributes = {"openinference.span.kind": "LLM", "input.value": query, "output.value": answer}
        root: Attributes = {"openinference.span.kind": "CHAIN", "input.value": query, "output.value": answer}
        service, inner = self._draw.choice(self._services), [found, model]
        rest = _request(service, trace_id, RAG_SCOPE, inner, first=2)
        web = _request(service, trace_id, WEB_SCOPE, [NOISE] * (SPANS - 3), first=4)
        return rest + web, _request(service, trace_id, RAG_SCOPE, [root], first=1)

    def plain(self, trace_id: bytes) -> bytes:
        """A trace without a retrieval: spans of eight short attributes."""
        return _request(self._draw.choice(self._services), trace_id, WEB_SCOPE, [NOISE] * SPANS, first=1)


def _request(service: str, trace_id: bytes, name: str, spans: Iterable[Attributes], first: int) -> bytes:
    """Spans of one scope, numbered from `first`; number 1 is the root."""
    message = ExportTraceServiceRequest()
    resource = message.resource_spans.add()
    put(resource.resource.attributes, "service.name", service)
    scope = resource.scope_spans.add()
    scope.scope.name = name
    now = time.time_ns()
    for number, attributes in enumerate(spans, start=first):
        span = scope.spans.add(trace_id=trace_id, span_id=number.to_bytes(8), kind=2, name="GET /api/orders")
        span.parent_span_id = b"" if number == 1 else ROOT
        span.start_time_unix_nano, span.end_time_unix_nano = now, now + 10**6
        for key, value in attributes.items():
            put(span.attributes, key, value)
    return message.SerializeToString()
