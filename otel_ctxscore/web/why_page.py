"""The view Why no score?: what became of a trace."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from otel_ctxscore.web.history_api import absent
from otel_ctxscore.web.meanings import meaning
from otel_ctxscore.web.questions import BadQuestion, known, trace_id
from otel_ctxscore.web.rendering import page, trace_link
from otel_ctxscore.web.status import Status

PARAMETERS = ("trace_id",)
MOST = 100
"""Runs of a trace that are shown. The API has all."""


def routes(status: Status, trace_url: str | None) -> list[web.RouteDef]:
    """`/why`, with `?trace_id=`; its status is that of `GET /api/v1/traces/{trace_id}`."""

    async def why(request: web.Request) -> web.Response:
        given = request.query.get("trace_id", "")
        found: dict[str, Any] | None = None
        trouble: tuple[str, str] | None = None
        answer = 200
        try:
            if "trace_id" in known(request.query, PARAMETERS):
                asked = trace_id(given)
                found = await status.history.trace(asked)
                if found is None:
                    answer, trouble = 404, absent(status, asked)
        except BadQuestion as refusal:
            answer, trouble = 400, (str(refusal), refusal.hint)
        return page(
            "why.html",
            "why",
            status=answer,
            given=given,
            it=found,
            trouble=trouble,
            link=partial(trace_link, trace_url),
            meaning=meaning,
            replica=status.replica,
            most=MOST,
        )

    return [web.get("/why", why)]
