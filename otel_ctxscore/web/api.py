"""What programs ask under `/api/v1`: alarms, and reading the configuration again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus, Series
from otel_ctxscore.web.access import user
from otel_ctxscore.web.errors import error
from otel_ctxscore.web.rendering import rfc3339
from otel_ctxscore.web.status import Status

TIMES = ("rose", "began", "ended", "acknowledged")
MAX_NAME = 200


def routes(status: Status) -> list[web.RouteDef]:
    """`GET alarms`, `GET alarms/{id}`, `POST alarms/{id}/ack` with an optional `{"by": NAME}`, `POST reload`."""

    async def alarms(request: web.Request) -> web.Response:
        series = [_series(*one) for one in status.alarm_statuses()]
        return web.json_response({"alarms": [shown(record) for record in status.alarms()], "series": series})

    async def alarm(request: web.Request) -> web.Response:
        known = request.match_info["id"]
        found = next((record for record in status.alarms() if record.id == known), None)
        return web.json_response(shown(found)) if found is not None else _unknown(known)

    async def acknowledge(request: web.Request) -> web.Response:
        by = await _by(request)
        if by is None:
            return error(400, "by is no name", f'send {{"by": NAME}} of at most {MAX_NAME} characters, or nothing')
        known = request.match_info["id"]
        record = await status.acknowledge(known, by)
        return web.json_response(shown(record)) if record is not None else _unknown(known)

    async def reload(request: web.Request) -> web.Response:
        try:
            done = status.reload()
        except ConfigError as fault:
            return error(400, "nothing has changed: the configuration cannot be read", "; ".join(fault.lines))
        return web.json_response({"applied": list(done.applied), "needs_restart": list(done.needs_restart)})

    return [
        web.get("/api/v1/alarms", alarms),
        web.get("/api/v1/alarms/{id}", alarm),
        web.post("/api/v1/alarms/{id}/ack", acknowledge),
        web.post("/api/v1/reload", reload),
    ]


def shown(record: AlarmRecord) -> dict[str, Any]:
    """An alarm as the API gives it: times as RFC 3339 has them."""
    fields: Mapping[str, Any] = record.as_dict()
    return {name: rfc3339(value) if name in TIMES else value for name, value in fields.items()}


def _series(series: Series, status: AlarmStatus) -> dict[str, Any]:
    return {
        **series._asdict(),
        "state": status.state,
        "ratio": status.ratio,
        "reference": status.reference,
        "traces": status.traces,
        "days": status.days,
        "alarm": status.record.id if status.record is not None else None,
    }


async def _by(request: web.Request) -> str | None:
    """Who acknowledges: as the body says, else the user who is logged in, else nobody in particular."""
    body = await request.text() if request.content_type == "application/json" else ""
    try:
        said = json.loads(body).get("by") if body else user(request)
    except (ValueError, AttributeError):
        return None
    said = "" if said is None else said
    return said if isinstance(said, str) and len(said) <= MAX_NAME else None


def _unknown(known: str) -> web.Response:
    return error(404, f"there is no alarm {known}", "GET /api/v1/alarms lists them")
