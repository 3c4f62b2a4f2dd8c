"""What machines ask: metrics and health."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web.errors import Answerer
from otel_ctxscore.web.status import Status


def routes(status: Status, metrics: Metrics) -> list[web.RouteDef]:
    """`/metrics`, `/healthz`, `/readyz`."""

    async def page(request: web.Request) -> web.Response:
        body, content_type = await metrics.render(", ".join(request.headers.getall("Accept", [])))
        return web.Response(body=body, headers={"Content-Type": content_type})

    return [
        web.get("/metrics", page),
        web.get("/healthz", _probe(status.not_alive)),
        web.get("/readyz", _probe(status.not_ready)),
    ]


def _probe(why_not: Callable[[], str | None]) -> Answerer:
    """200 `{"status": "ok"}`, or 503 with the cause."""

    async def answer(request: web.Request) -> web.Response:
        cause = why_not()
        if cause is None:
            return web.json_response({"status": "ok"})
        return web.json_response({"status": "unavailable", "cause": cause}, status=503)

    return answer
