"""The page at `/`: how the service does, what came in, what became of it, the scores."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from urllib.parse import quote

from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

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

    return (
        templates()
        .get_template("overview.html")
        .render(
            it=snapshot,
            link=link,
            refresh=seconds,
            choices=REFRESH,
        )
    )


def trace_link(pattern: str | None, trace_id: str | None, span_id: str | None) -> str | None:
    """Where a trace is shown elsewhere; None without a pattern of http or https, or without a trace."""
    if not pattern or not trace_id or not pattern.startswith(("http://", "https://")):
        return None
    return pattern.replace("{trace_id}", quote(trace_id, safe="")).replace("{span_id}", quote(span_id or "", safe=""))


@cache
def templates() -> Environment:
    """The templates of the package; everything in them is escaped."""
    environment = Environment(
        loader=PackageLoader("otel_ctxscore.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "share": share, "moment": moment, "span": duration, "counts": counts}
    return environment


def number(value: float) -> str:
    """A count with thin spaces between thousands."""
    return f"{value:,.0f}".replace(",", "\u202f")


def share(value: float | None) -> str:
    """A score in 0..1, or a dash."""
    return "–" if value is None else f"{value:.2f}"


def moment(unix_seconds: float) -> str:
    """A moment in UTC."""
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(seconds: float) -> str:
    """A span of time in its two greatest units."""
    rest = int(max(seconds, 0))
    parts: list[str] = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def counts(by_name: Mapping[str, float]) -> list[tuple[str, float]]:
    """Names with their counts, the greatest first; without those that are 0."""
    return sorted(((name, n) for name, n in by_name.items() if n), key=lambda named: (-named[1], named[0]))
