"""What programs ask under `/api/v1` of the service itself: reading the configuration again."""

from __future__ import annotations

from aiohttp import web

from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.web.errors import error
from otel_ctxscore.web.status import Status


def routes(status: Status) -> list[web.RouteDef]:
    """`POST reload`."""

    async def reload(request: web.Request) -> web.Response:
        try:
            done = status.reload()
        except ConfigError as fault:
            return error(400, "nothing has changed: the configuration cannot be read", "; ".join(fault.lines))
        return web.json_response({"applied": list(done.applied), "needs_restart": list(done.needs_restart)})

    return [web.post("/api/v1/reload", reload)]
