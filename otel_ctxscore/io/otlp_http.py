"""OTLP over HTTP: POST /v1/traces and /v1/logs, protobuf and JSON. Answers: https://opentelemetry.io/docs/specs/otlp."""

from __future__ import annotations

import asyncio
import math

import msgspec
from aiohttp import web
from google.rpc import code_pb2, status_pb2

from otel_ctxscore.config.values import split_address
from otel_ctxscore.core.codec import Encoding, Malformed, Taken
from otel_ctxscore.core.errors import in_words
from otel_ctxscore.io.inflate import BadEncoding, TooLarge, UnknownEncoding
from otel_ctxscore.io.otlp_intake import BODY_SECONDS, OtlpIntake, OtlpReceiver, Signal, export_response
from otel_ctxscore.listener import Listener
from otel_ctxscore.ports import ConfigError, Full, Line
from otel_ctxscore.security import server_context

_PROTOBUF, _JSON = "application/x-protobuf", "application/json"
_ENCODINGS: dict[str, Encoding] = {_PROTOBUF: "proto", _JSON: "json"}
_SIGNALS: dict[str, Signal] = {"/v1/traces": "traces", "/v1/logs": "logs"}
_HINT = "OTLP/HTTP takes POST /v1/traces and POST /v1/logs"
_GRACE = 5.0
"""Seconds that requests in work have when the receiver stops."""
_READ_AHEAD = 1 << 20
"""Bytes of a body that are read before the reader has to catch up: most requests whole, without a pause."""
_LINGER_SECONDS = 5.0
"""Longest that the rest of a refused body is read, so that its sender comes to see the answer."""
_IDLE_SECONDS = 650.0
"""Longest that a connection may wait for the head of its next request: longer than load balancers keep theirs (600)."""


class OtlpHttp(OtlpReceiver):
    """Receives spans and logs over HTTP. `port` is the port it listens on, once started."""

    name = "otlp_http"
    _listener: Listener | None = None

    async def start(self, line: Line) -> None:
        self._token = self._expected_token()
        context = server_context(self._tls, "sources.otlp.tls") if self._tls else None
        self._intake = OtlpIntake(self.name, line, self._counts, self._limit)
        app = web.Application(client_max_size=self._limit)
        app.router.add_route("*", "/{path:.*}", self._answer)
        listener = Listener(
            app,
            _not_http,
            grace=_GRACE,
            auto_decompress=False,
            read_bufsize=_READ_AHEAD,
            keepalive_timeout=_IDLE_SECONDS,
            lingering_time=_LINGER_SECONDS,
        )
        host, port = split_address(self._listen)
        try:
            await listener.start(host, port, context)
        except OSError as error:
            raise ConfigError(f"sources.otlp.http: cannot listen on {self._listen}: {in_words(error)}") from error
        self._listener, self.port = listener, listener.port

    async def stop(self) -> None:
        """Listen no more and answer what is in work."""
        if self._listener is not None:
            await self._listener.stop()
            self._intake.close()

    async def _answer(self, request: web.Request) -> web.Response:
        signal = _SIGNALS.get(request.path)
        encoding = _ENCODINGS.get(request.content_type)
        if signal is None:
            return _refusal(404, code_pb2.NOT_FOUND, f"nothing is read at {request.path[:100]}: {_HINT}", encoding)
        if request.method != "POST":
            refusal = _refusal(405, code_pb2.UNIMPLEMENTED, _HINT, encoding)
            refusal.headers["Allow"] = "POST"
            return refusal
        if self._token is not None and not self._token.admits(request.headers.get("Authorization")):
            self._intake.refused("unauthenticated")
            refusal = _refusal(401, code_pb2.UNAUTHENTICATED, "the bearer token is missing or wrong", encoding)
            refusal.headers["WWW-Authenticate"] = "Bearer"
            return refusal
        if encoding is None:
            self._intake.refused("unsupported")
            detail = f"content type {request.content_type[:100]!r} is not read, but {_PROTOBUF} and {_JSON} are"
            return _refusal(415, code_pb2.INVALID_ARGUMENT, detail, None)
        return await self._take(request, signal, encoding)

    async def _take(self, request: web.Request, signal: Signal, encoding: Encoding) -> web.Response:
        try:
            body = await self._body(request)
            content_encoding = request.headers.get("Content-Encoding", "identity")
            taken = await self._intake.take(signal, body, content_encoding, encoding)
        except Full as full:
            refusal = _refusal(503, code_pb2.UNAVAILABLE, str(full), encoding)
            refusal.headers["Retry-After"] = str(max(1, math.ceil(full.retry_after)))
            return refusal
        except TimeoutError:
            self._intake.refused("too_slow")
            return _refusal(408, code_pb2.DEADLINE_EXCEEDED, f"the body took longer than {BODY_SECONDS:g} s", encoding)
        except TooLarge as error:
            return _refusal(413, code_pb2.RESOURCE_EXHAUSTED, str(error), encoding)
        except UnknownEncoding as error:
            return _refusal(415, code_pb2.INVALID_ARGUMENT, str(error), encoding)
        except (Malformed, BadEncoding) as error:
            return _refusal(400, code_pb2.INVALID_ARGUMENT, str(error), encoding)
        return web.Response(body=_response(signal, taken, encoding), content_type=request.content_type)

    async def _body(self, request: web.Request) -> bytes:
        """The body as it is on the wire. Raises TooLarge before more than the limit is held, TimeoutError for a sender
        that takes too long."""
        if (request.content_length or 0) > self._limit:
            self._intake.refused("too_large")
            raise TooLarge(self._limit)
        chunks, size = [], 0
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.content.iter_any():
                size += len(chunk)
                if size > self._limit:
                    self._intake.refused("too_large")
                    raise TooLarge(self._limit)
                chunks.append(chunk)
        return b"".join(chunks)


def _response(signal: Signal, taken: Taken, encoding: Encoding) -> bytes:
    if encoding == "proto":
        return export_response(signal, taken).SerializeToString()
    if not taken.invalid:
        return b"{}"
    rejected = "rejectedSpans" if signal == "traces" else "rejectedLogRecords"
    partial = {rejected: str(taken.invalid), "errorMessage": "; ".join(taken.complaints)}
    return msgspec.json.encode({"partialSuccess": partial})


def _not_http(request: web.BaseRequest, status: int, what: str, hint: str) -> web.Response:
    return _refusal(status, code_pb2.INVALID_ARGUMENT, f"{what}: {hint}", None)


def _refusal(http_status: int, code: int, message: str, encoding: Encoding | None) -> web.Response:
    """An error as OTLP/HTTP has it: a google.rpc.Status in the request's own encoding."""
    if encoding == "proto":
        body = status_pb2.Status(code=code, message=message).SerializeToString()
        return web.Response(status=http_status, body=body, content_type=_PROTOBUF)
    text = msgspec.json.encode({"code": code, "message": message})
    return web.Response(status=http_status, body=text, content_type=_JSON)
