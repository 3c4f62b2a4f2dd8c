"""The page at `/`: how the service does, what came in, what became of it, the scores."""

from __future__ import annotations

from aiohttp import web

from otel_ctxscore.web.rendering import rendered, trace_link
from otel_ctxscore.web.status import Snapshot, Standing, Status

REFRESH = (5, 10, 60)
"""Seconds between reloads that can be chosen; without a choice the page stays as it is."""


def routes(status: Status, trace_url: str | None) -> list[web.RouteDef]:
    """`/`, with `?refresh=SECONDS`."""

    async def page(request: web.Request) -> web.Response:
        text = render(status.snapshot(), trace_url=trace_url, refresh=request.query.get("refresh", ""))
        return web.Response(text=text, content_type="text/html")

    return [web.get("/", page)]


def render(snapshot: Snapshot, *, trace_url: str | None = None, refresh: str = "") -> str:
    """The page of a snapshot. `trace_url` is `admin.trace_url`, a pattern with `{trace_id}` and `{span_id}`."""
    seconds = int(refresh) if refresh in map(str, REFRESH) else None

    def link(standing: Standing) -> str | None:
        return trace_link(trace_url, standing.trace_id, standing.span_id)

    return rendered("overview.html", "overview", it=snapshot, link=link, refresh=seconds, choices=REFRESH)
