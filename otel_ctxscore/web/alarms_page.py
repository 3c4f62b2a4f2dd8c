"""The views Alarms and Alarm: what an alert leads to."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from otel_ctxscore.monitoring.findings import Inquiry
from otel_ctxscore.web import access
from otel_ctxscore.web.alarm_api import MAX_NAME, alarm_of, inquiry_of, value_of, worst_of
from otel_ctxscore.web.chart import Chart, chart
from otel_ctxscore.web.errors import error
from otel_ctxscore.web.questions import known
from otel_ctxscore.web.rendering import page
from otel_ctxscore.web.status import Status

MEASURED = {
    "contexts": "Contexts a run",
    "context_characters": "Characters a context",
    "document_score": "Retriever's score of a document",
    "empty_retrievals": "Share of retrievals that found nothing",
}
"""What is compared before and after, besides scores."""

DONE = {"acknowledged": "The alarm is acknowledged."}
"""What is said on the page after something was done."""

PARTS = 20
"""Values of a segment that are shown: those that pull the mean down most. The API has all."""


def routes(status: Status) -> list[web.RouteDef]:
    """`/alarms`, `/alarms/{id}`, and the form there: `POST /alarms/{id}/ack`."""

    async def alarms(request: web.Request) -> web.Response:
        known(request.query, ())
        series = sorted(status.alarm_statuses(), key=lambda pair: pair[0])
        return page("alarms.html", "alarms", records=status.alarms(), series=series)

    async def alarm(request: web.Request) -> web.Response:
        asked = known(request.query, ("done",))
        record = alarm_of(status, request.match_info["id"])
        found = await inquiry_of(status, record) if record is not None else None
        worst = await worst_of(status, found) if found is not None else ()
        return page(
            "alarm.html",
            "alarms",
            root="../",
            status=200 if found else 404,
            it=found,
            done=DONE.get(asked.get("done", "")) if record is not None and record.acknowledged else None,
            chart=_drawn(found) if found else None,
            worst=[(run, value_of(run, found.record.scorer)) for run in worst] if found else (),
            measured=MEASURED,
            most=PARTS,
            why={one.what: one.why for one in found.unknown} if found else {},
            csrf=request.app[access.CSRF],
            by=access.user(request),
            longest=MAX_NAME,
            replica=status.replica,
        )

    async def acknowledge(request: web.Request) -> web.Response:
        asked, form = request.match_info["id"], await request.post()
        by = str(form.get("by", "")).strip() or access.user(request)
        if len(by) > MAX_NAME:
            return error(400, "by is no name", f"a name has at most {MAX_NAME} characters")
        record = await status.acknowledge(asked, by)
        if record is None:
            return error(404, f"there is no alarm {asked[:100]}", "/alarms lists them")
        return web.Response(status=303, headers={"Location": f"../{record.id}?done=acknowledged"})

    return [web.get("/alarms", alarms), web.get("/alarms/{id}", alarm), web.post("/alarms/{id}/ack", acknowledge)]


def _drawn(found: Inquiry) -> Chart | None:
    record, began = found.record, found.began
    known: dict[str, Any] = {"reference": record.reference, "reference_name": "reference when the alarm rose"}
    known |= {"change": found.split, "width": 900}
    if began is not None:
        known["doubt"] = (began.earliest, began.latest)
    return chart(f"{record.scorer} of {record.service}", found.course, found.window, found.piece, **known)
