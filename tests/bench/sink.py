"""Where evaluations arrive: an OTLP/HTTP receiver that notes of which trace, and when."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.services.process import HOST


class Arrivals:
    """A context manager. `at` has the steady clock's time of the first evaluation span of each trace; whoever reads it
    may take entries out."""

    def __init__(self) -> None:
        self.at: dict[bytes, float] = {}
        arrivals = self.at

        class Answer(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                message = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
                now = time.monotonic()
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                for resource in message.resource_spans:
                    for span in (span for scope in resource.scope_spans for span in scope.spans):
                        arrivals.setdefault(span.trace_id, now)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer((HOST, 0), Answer)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://{HOST}:{self._server.server_port}"

    def __enter__(self) -> Arrivals:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
