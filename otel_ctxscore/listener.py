"""An aiohttp application on an address of its own, and whether an address is to be had. Who sends what is no HTTP is
told so in the form of the application."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

from aiohttp import http_exceptions, web

from otel_ctxscore.config.values import split_address
from otel_ctxscore.core.errors import ConfigError, in_words

log = logging.getLogger(__name__)

Refusal = Callable[[web.BaseRequest, int, str, str], web.StreamResponse]
"""The answer to a request that was not understood: its status, what is wrong, and what to do about it."""

LONGEST = 8190
"""Bytes of a request line, and of a header."""
_BACKLOG = 128
_TOO_LONG = (431, "the request line or a header is too long", f"shorten it: either has room for {LONGEST} bytes")
_NO_HTTP = (400, "the request is no HTTP that can be read", "send HTTP/1.1, and with TLS if the address has it")


def check_free(listen: str, key: str) -> None:
    """Raises ConfigError, under the configuration's `key`, for an address that is not to be had."""
    host, port = split_address(listen)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        known = "; does it run already?" if error.errno == errno.EADDRINUSE else ""
        raise ConfigError(f"{key}: cannot listen on {listen}: {in_words(error)}{known}") from error


class Listener:
    """Serves `app` once it is started; `port` is where. `refusal` makes the answers to what is no HTTP, which never
    reaches the application. `grace`: seconds that requests in work have when it stops. `options` are those of
    aiohttp's request handler."""

    port = 0

    def __init__(self, app: web.Application, refusal: Refusal, *, grace: float, **options: Any) -> None:
        self._runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=grace, access_log=None)
        self._refusal = refusal
        self._options = {"access_log": None, "max_line_size": LONGEST, "max_field_size": LONGEST, **options}
        self._sockets: asyncio.Server | None = None

    async def start(self, host: str, port: int, context: ssl.SSLContext | None = None) -> None:
        """Listen. Raises OSError where the address is not to be had."""
        await self._runner.setup()
        loop, server = asyncio.get_running_loop(), self._runner.server
        assert server is not None  # once it is set up
        requests = partial(_Requests, server, self._refusal, loop=loop, **self._options)
        try:
            self._sockets = await loop.create_server(requests, host, port, ssl=context, backlog=_BACKLOG)
        except OSError:
            await self.stop()
            raise
        self.port = self._sockets.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listen no more, and end what is in work."""
        if self._sockets is not None:
            self._sockets.close()
        await self._runner.cleanup()


class _Requests(web.RequestHandler):
    """One connection."""

    __slots__ = ("_refusal",)

    def __init__(self, server: web.Server, refusal: Refusal, **options: Any) -> None:
        super().__init__(server, **options)
        self._refusal = refusal

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """The sender's fault is one line of the log; a fault of our own is left to aiohttp."""
        if status >= 500 or request.writer.output_size > 0:
            return super().handle_error(request, status, exc, message)
        status, what, hint = _TOO_LONG if isinstance(exc, http_exceptions.LineTooLong) else _NO_HTTP
        log.info("%s: %s", request.remote, what)
        answer = self._refusal(request, status, what, hint)
        answer.force_close()
        return answer

    def log_exception(self, *said: Any, **how: Any) -> None:
        """A body that could not be read has been answered; what aiohttp still reads of it is no news."""
        if not isinstance(how.get("exc_info"), web.RequestPayloadError):
            super().log_exception(*said, **how)
