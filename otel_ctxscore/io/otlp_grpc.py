"""OTLP over gRPC. Messages are taken as bytes: inflated by isal within our own limit, decoded by our own codec."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import grpc
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc import aio

from otel_ctxscore.config.section import Tls
from otel_ctxscore.core.codec import Malformed, Taken
from otel_ctxscore.core.errors import with_its_file
from otel_ctxscore.io.inflate import BadEncoding, TooLarge
from otel_ctxscore.io.otlp_intake import BODY_SECONDS, OtlpIntake, OtlpReceiver, Signal, export_response
from otel_ctxscore.listener import check_free
from otel_ctxscore.ports import ConfigError, Full, Line

_SERVICES: dict[str, Signal] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
    "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
}
_CODES: dict[type[Exception], Any] = {
    TooLarge: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Malformed: grpc.StatusCode.INVALID_ARGUMENT,
    BadEncoding: grpc.StatusCode.INVALID_ARGUMENT,
}
_COMPRESSIONS = {b"\x1f": "gzip", b"\x78": "deflate"}
_GRACE = 5.0
"""Seconds that calls in work have when the receiver stops."""
_NANOS = 1_000_000_000


class OtlpGrpc(OtlpReceiver):
    """Receives spans and logs over gRPC. `port` is the port it listens on, once started."""

    name = "otlp_grpc"
    _server: aio.Server | None = None

    async def start(self, line: Line) -> None:
        self._token = self._expected_token()
        self._intake = OtlpIntake(self.name, line, self._counts, self._limit)
        server = aio.server(
            options=[
                ("grpc.per_message_decompression", 0),
                ("grpc.max_receive_message_length", self._limit),
                ("grpc.so_reuseport", 0),
            ]
        )
        server.add_generic_rpc_handlers([self._service(name, signal) for name, signal in _SERVICES.items()])
        self.port = self._bind(server)
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """Take no more calls and answer what is in work."""
        if self._server is not None:
            await self._server.stop(_GRACE)
            self._intake.close()

    def _service(self, name: str, signal: Signal) -> Any:
        # A stream of requests, of which there is one: so the caller is known before its message is read, and a
        # message that gRPC itself refuses for its size is still heard of, as a stream without one.
        export = grpc.stream_unary_rpc_method_handler(partial(self._export, signal))
        return grpc.method_handlers_generic_handler(name, {"Export": export})

    def _bind(self, server: aio.Server) -> int:
        check_free(self._listen, "sources.otlp.grpc")  # gRPC tells why in a log of its own only
        try:
            if self._tls is None:
                return int(server.add_insecure_port(self._listen))
            return int(server.add_secure_port(self._listen, _credentials(self._tls)))
        except RuntimeError as error:
            raise ConfigError(f"sources.otlp.grpc: cannot listen on {self._listen}: {error}") from error

    async def _export(self, signal: Signal, _: object, call: Any) -> Any:
        if self._token is not None and not self._token.admits(_authorization(call)):
            self._intake.refused("unauthenticated")
            return await call.abort(grpc.StatusCode.UNAUTHENTICATED, "the bearer token is missing or wrong")
        try:
            taken = await self._take(signal, call)
        except Full as full:
            return await _abort_full(call, full)
        except TimeoutError:
            self._intake.refused("too_slow")
            detail = f"the request took longer than {BODY_SECONDS:g} s"
            return await call.abort(grpc.StatusCode.DEADLINE_EXCEEDED, detail)
        except tuple(_CODES) as error:
            return await call.abort(_CODES[type(error)], str(error))
        return export_response(signal, taken).SerializeToString()

    async def _take(self, signal: Signal, call: Any) -> Taken:
        # Not from the iterator that gRPC gives: it refers to itself, and keeps its message until garbage is collected.
        async with asyncio.timeout(BODY_SECONDS):
            message = await call.read()
        if message is aio.EOF:
            self._intake.refused("too_large")
            raise TooLarge(self._limit)
        return await self._intake.take(signal, message, _compression(message), "proto")


def _compression(message: bytes) -> str:
    """How a message is compressed, by its first byte: gRPC does not hand the flag on, and no OTLP request starts so."""
    return _COMPRESSIONS.get(message[:1], "identity")


def _authorization(call: Any) -> str | None:
    for key, value in call.invocation_metadata():
        if key == "authorization":
            return str(value)
    return None


async def _abort_full(call: Any, full: Full) -> None:
    """UNAVAILABLE with the pause that is asked for, as OTLP wants it for a request to be sent again."""
    pause = error_details_pb2.RetryInfo()
    pause.retry_delay.FromNanoseconds(round(full.retry_after * _NANOS))
    status = status_pb2.Status(code=code_pb2.UNAVAILABLE, message=str(full))
    status.details.add().Pack(pause)
    call.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    await call.abort(grpc.StatusCode.UNAVAILABLE, str(full))


def _credentials(tls: Tls) -> Any:
    try:
        chain = [(tls.key.read_bytes(), tls.cert.read_bytes())]
        client_ca = tls.client_ca.read_bytes() if tls.client_ca else None
    except OSError as error:
        raise ConfigError(f"sources.otlp.tls: {with_its_file(error)}") from error
    return grpc.ssl_server_credentials(chain, root_certificates=client_ca, require_client_auth=client_ca is not None)
