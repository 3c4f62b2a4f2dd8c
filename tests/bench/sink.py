"""Where evaluations arrive: an OTLP/HTTP receiver that notes of which trace, and when."""

from __future__ import annotations

import time

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.posted import PostServer


class Arrivals(PostServer):
    """A context manager. `at` has the steady clock's time of the first evaluation span of each trace; whoever reads it
    may take entries out."""

    def __init__(self) -> None:
        self.at: dict[bytes, float] = {}
        super().__init__()

    def received(self, body: bytes) -> int:
        message = ExportTraceServiceRequest.FromString(body)
        now = time.monotonic()
        for resource in message.resource_spans:
            for span in (span for scope in resource.scope_spans for span in scope.spans):
                self.at.setdefault(span.trace_id, now)
        return 200
