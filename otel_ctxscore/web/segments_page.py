"""The view Segments and its API: each value of a segment against the rest of the traffic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from otel_ctxscore.core.history import MAX_LIMIT
from otel_ctxscore.monitoring.segments import SegmentView, segments
from otel_ctxscore.web.estimates import difference_of, estimate_of, window_of
from otel_ctxscore.web.overview import SINCE, window_asked
from otel_ctxscore.web.questions import BadQuestion, known, paged
from otel_ctxscore.web.rendering import page, pages, query
from otel_ctxscore.web.status import Status

PARAMETERS = ("service", "scorer", "segment", "since", "limit", "page")
ROWS = 100


def routes(status: Status) -> list[web.RouteDef]:
    """`/segments`, with the parameters of `GET /api/v1/segments`."""

    async def shown(request: web.Request) -> web.Response:
        given = {name: request.query.get(name, "") for name in PARAMETERS}
        rows: list[SegmentView] = []
        more, trouble = False, None
        try:
            rows, more, _ = await segments_of(status, request.query)
        except BadQuestion as refusal:
            trouble = refusal
        series = [series for series, _ in status.alarm_statuses()]
        return page(
            "segments.html",
            "segments",
            status=400 if trouble else 200,
            given=given,
            rows=rows,
            trouble=trouble,
            configured=status.segments,
            services=sorted({one.service for one in series}),
            scorers=sorted({one.scorer for one in series}),
            choices=SINCE,
            filters=query(given),
            **({"first": None, "following": None} if trouble else pages(given, more=more)),
        )

    async def api(request: web.Request) -> web.Response:
        rows, more, window = await segments_of(status, request.query)
        body = {
            "segments": [_json(row) for row in rows],
            "more": more,
            "configured": list(status.segments),
            **window,
            "replica": status.replica,
        }
        return web.json_response(body)

    return [web.get("/segments", shown), web.get("/api/v1/segments", api)]


async def segments_of(status: Status, given: Mapping[str, str]) -> tuple[list[SegmentView], bool, dict[str, Any]]:
    """The rows that a request asks for, whether there are more, and the window. Raises BadQuestion."""
    asked = known(given, PARAMETERS)
    limit, skipped = paged(asked, ROWS, MAX_LIMIT)
    window = await window_asked(status, asked)
    found = await segments(status.history.hours, window, segment=asked.get("segment"), scorer=asked.get("scorer"))
    return found[skipped : skipped + limit], len(found) > skipped + limit, window_of(window)


def _json(row: SegmentView) -> dict[str, Any]:
    return {
        "service": row.series.service,
        "scorer": row.series.scorer,
        "version": row.series.version,
        "segment": row.segment,
        "value": row.value or None,
        "share": row.share,
        **estimate_of(row.now, row.n),
        "rest": estimate_of(row.rest),
        "difference": difference_of(row.difference),
    }
