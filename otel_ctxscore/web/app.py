"""The admin address: one view a module, the checks around them, the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files

from aiohttp import web

from otel_ctxscore.config.outlets import Admin
from otel_ctxscore.config.values import split_address
from otel_ctxscore.core.errors import ConfigError, in_words
from otel_ctxscore.listener import Listener, Refusal
from otel_ctxscore.security import server_context
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web import (
    access,
    alarm_api,
    alarms_page,
    api,
    documents_page,
    errors,
    exports,
    history_api,
    overview,
    probes,
    run_api,
    run_page,
    runs_page,
    segments_page,
    why_page,
)
from otel_ctxscore.web.review import Review
from otel_ctxscore.web.status import Status

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
REPLICA_HEADER = "X-Ctxscore-Replica"
_GRACE = 2.0
"""Seconds that requests in work have when the server stops."""


def application(admin: Admin, status: Status, metrics: Metrics, review: Review) -> web.Application:
    """All views behind the checks."""
    app = web.Application(
        middlewares=[
            errors.told,
            access.host_check(admin.listen, admin.hosts),
            access.login(admin.auth),
            access.writes,
        ],
        client_max_size=1 << 20,
    )
    app[access.CSRF] = access.csrf_token()
    app[access.HAS_TOKEN] = admin.auth is not None and admin.auth.token_file is not None
    app.add_routes(probes.routes(status, metrics))
    app.add_routes(overview.routes(status))
    app.add_routes(segments_page.routes(status))
    app.add_routes(alarms_page.routes(status))
    app.add_routes(alarm_api.routes(status))
    app.add_routes(runs_page.routes(status))
    app.add_routes(run_page.routes(status, review, admin.trace_url))
    app.add_routes(documents_page.routes(status))
    app.add_routes(why_page.routes(status, admin.trace_url))
    app.add_routes(api.routes(status))
    app.add_routes(history_api.routes(status))
    app.add_routes(run_api.routes(status, review))
    app.add_routes(exports.routes(status))
    app.add_routes(_static())
    app.on_response_prepare.append(_headers)
    app.on_response_prepare.append(_replica(status))
    return app


class AdminServer:
    """Serves the admin address. `url` is where, once it is started."""

    def __init__(self, admin: Admin, status: Status, metrics: Metrics, review: Review) -> None:
        """Raises ConfigError where the address would be open to others without a login."""
        access.check(admin)
        self._admin = admin
        app = application(admin, status, metrics, review)
        self._listener = Listener(app, _refusal(status), grace=_GRACE)
        self.url = ""

    async def start(self) -> None:
        """Listen. Raises ConfigError where the address is taken, or TLS files cannot be read."""
        host, port = split_address(self._admin.listen)
        context = server_context(self._admin.tls, "admin.tls") if self._admin.tls else None
        try:
            await self._listener.start(host, port, context)
        except OSError as error:
            raise ConfigError(f"admin.listen: cannot listen on {self._admin.listen}: {in_words(error)}") from error
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'https' if context else 'http'}://{shown}:{self._listener.port}"

    async def stop(self) -> None:
        """Listen no more."""
        await self._listener.stop()


def _static() -> list[web.RouteDef]:
    style = files("otel_ctxscore.web").joinpath("static/style.css").read_text("utf-8")

    async def css(request: web.Request) -> web.Response:
        return web.Response(text=style, content_type="text/css")

    async def no_icon(request: web.Request) -> web.Response:
        return web.Response(status=204)

    return [web.get("/static/style.css", css), web.get("/favicon.ico", no_icon)]


def _replica(status: Status) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Says which process answered, where several stand behind one name."""

    async def named(request: web.Request, response: web.StreamResponse) -> None:
        response.headers[REPLICA_HEADER] = status.replica

    return named


def _refusal(status: Status) -> Refusal:
    """The answer to what is no HTTP. What its sender accepts is not known."""

    def refused(request: web.BaseRequest, code: int, what: str, hint: str) -> web.Response:
        answer = errors.error(code, what, hint)
        answer.headers.update({**HEADERS, REPLICA_HEADER: status.replica})
        return answer

    return refused


async def _headers(request: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
