"""Sends the demo's turns as an instrumented application would: spans of the SDK, in OpenInference's attributes,
through a real OTLP exporter."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer

from otel_ctxscore.demo.knowledge import Retriever, Turn

SERVICE = "docs-assistant"
FLUSH_SECONDS = 0.2
INDEX = "rag.index"
"""The attribute that names the index."""


class Traffic:
    """A thread that sends `rate` turns a second to OTLP/gRPC endpoints until stopped; every 25th finds nothing."""

    def __init__(self, endpoints: Sequence[str], *, rate: float, seed: int = 7) -> None:
        self.retriever = Retriever(seed)
        self.sent = 0
        self._pause = 1 / rate
        self._stopped = threading.Event()
        self._provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}), shutdown_on_exit=False)
        for endpoint in endpoints:
            exporter = OTLPSpanExporter(endpoint=endpoint, insecure=True, timeout=5)
            flush = int(FLUSH_SECONDS * 1000)
            self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=flush))
        self._thread = threading.Thread(target=self._run, name="demo-traffic", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Send no more, flush and wait for it."""
        self._stopped.set()
        self._thread.join()
        self._provider.shutdown()

    def _run(self) -> None:
        tracer = self._provider.get_tracer("openinference.instrumentation.demo", "1.0")
        while not self._stopped.wait(self._pause):
            send(tracer, self.retriever.turn(), empty=self.sent % 25 == 24)
            self.sent += 1


def send(tracer: Tracer, turn: Turn, *, empty: bool = False) -> None:
    """One trace of a chain, a retriever and a model call."""
    with tracer.start_as_current_span("answer question") as root:
        root.set_attributes({"openinference.span.kind": "CHAIN", "input.value": turn.question, INDEX: turn.index})
        with tracer.start_as_current_span("retrieve passages") as span:
            span.set_attributes({"openinference.span.kind": "RETRIEVER", "input.value": turn.question})
            found = () if empty else zip(turn.passages, turn.similarities, strict=True)
            for place, (fact, similarity) in enumerate(found):
                document = f"retrieval.documents.{place}.document"
                span.set_attributes({f"{document}.content": fact.passage, f"{document}.id": fact.id})
                span.set_attribute(f"{document}.score", similarity)
        with tracer.start_as_current_span("generate answer") as span:
            span.set_attributes({"openinference.span.kind": "LLM", "output.value": turn.response})
        root.set_attribute("output.value", turn.response)
