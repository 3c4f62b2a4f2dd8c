"""The view Why no score?: what became of a trace."""

from __future__ import annotations

from aiohttp import web

from otel_ctxscore.web.history_api import absent
from otel_ctxscore.web.meanings import meaning
from otel_ctxscore.web.questions import BadQuestion, trace_id
from otel_ctxscore.web.rendering import page
from otel_ctxscore.web.status import Status


def routes(status: Status) -> list[web.RouteDef]:
    """`/why`, with `?trace_id=`."""

    async def why(request: web.Request) -> web.Response:
        given = request.query.get("trace_id", "")
        found, trouble = None, None
        if given.strip():
            try:
                asked = trace_id(given)
                found = await status.history.trace(asked)
                trouble = absent(status, asked) if found is None else None
            except BadQuestion as refusal:
                trouble = (str(refusal), refusal.hint)
        return page("why.html", "why", given=given, it=found, trouble=trouble, meaning=meaning, replica=status.replica)

    return [web.get("/why", why)]
