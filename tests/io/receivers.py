"""OTLP receivers in this process, over both protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Received:
    """What a receiver was sent. `refuse` says of a request whether it is turned down for good; `leaves_out` is how many
    spans or records of each request it rejects by partial_success."""

    endpoint: str = ""
    traces: list[Any] = field(default_factory=list)
    logs: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    refuse: Callable[[Any], bool] = lambda request: False
    leaves_out: int = 0

    @property
    def spans(self) -> list[Span]:
        return [span for r in self.traces for rs in r.resource_spans for ss in rs.scope_spans for span in ss.spans]

    @property
    def span_names(self) -> set[str]:
        return {span.name.removeprefix("evaluation ") for span in self.spans}


def traces_answer(leaves_out: int) -> trace_service_pb2.ExportTraceServiceResponse:
    answer = trace_service_pb2.ExportTraceServiceResponse()
    if leaves_out:
        answer.partial_success.rejected_spans = leaves_out
        answer.partial_success.error_message = "too old"
    return answer


def logs_answer(leaves_out: int) -> logs_service_pb2.ExportLogsServiceResponse:
    answer = logs_service_pb2.ExportLogsServiceResponse()
    if leaves_out:
        answer.partial_success.rejected_log_records = leaves_out
        answer.partial_success.error_message = "too old"
    return answer


@contextmanager
def grpc_receiver(port: int = 0, credentials: grpc.ServerCredentials | None = None) -> Iterator[Received]:
    received = Received()

    def export(kept: list[Any], answer: Any) -> Callable[[Any, Any], Any]:
        def take(request: Any, context: grpc.ServicerContext) -> Any:
            received.headers.append({str(key): str(value) for key, value in context.invocation_metadata()})
            if received.refuse(request):
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no")
            kept.append(request)
            return answer(received.leaves_out)

        return take

    class Traces(trace_service_pb2_grpc.TraceServiceServicer):
        Export = staticmethod(export(received.traces, traces_answer))

    class Logs(logs_service_pb2_grpc.LogsServiceServicer):
        Export = staticmethod(export(received.logs, logs_answer))

    server = grpc.server(futures.ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Traces(), server)  # type: ignore[no-untyped-call]
    logs_service_pb2_grpc.add_LogsServiceServicer_to_server(Logs(), server)  # type: ignore[no-untyped-call]
    address = f"127.0.0.1:{port}"
    bound = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    received.endpoint = f"http://127.0.0.1:{bound}"
    server.start()
    yield received
    server.stop(None).wait()


@contextmanager
def http_receiver(status: int = 200) -> Iterator[Received]:
    received = Received()

    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.paths.append(self.path)
            received.headers.append({key.lower(): value for key, value in self.headers.items()})
            logs = self.path.endswith("logs")
            if logs:
                received.logs.append(logs_service_pb2.ExportLogsServiceRequest.FromString(body))
            else:
                received.traces.append(trace_service_pb2.ExportTraceServiceRequest.FromString(body))
            answer = (logs_answer if logs else traces_answer)(received.leaves_out).SerializeToString()
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Requests) as server:
        received.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield received
        server.shutdown()
