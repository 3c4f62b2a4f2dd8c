"""`/api/v1/alarms`: the alarms, what is known about one, taking note of it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from otel_ctxscore.core.history import RunQuery
from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus, Series
from otel_ctxscore.monitoring.findings import Count, Inquiry, OtherVersion, Part
from otel_ctxscore.monitoring.inquiry import inquire
from otel_ctxscore.web.access import user
from otel_ctxscore.web.errors import error
from otel_ctxscore.web.estimates import compared_of, estimate_of, window_of
from otel_ctxscore.web.history_api import summary
from otel_ctxscore.web.questions import known
from otel_ctxscore.web.rendering import rfc3339
from otel_ctxscore.web.status import Status

TIMES = ("rose", "began", "ended", "acknowledged")
MAX_NAME = 200
WORST = 5
"""Runs that are shown with an alarm."""


def routes(status: Status) -> list[web.RouteDef]:
    """`GET alarms`, `GET alarms/{id}`, `POST alarms/{id}/ack` with an optional `{"by": NAME}`."""

    async def alarms(request: web.Request) -> web.Response:
        known(request.query, ())
        series = [_series(*one) for one in status.alarm_statuses()]
        return web.json_response({"alarms": [shown(record) for record in status.alarms()], "series": series})

    async def alarm(request: web.Request) -> web.Response:
        known(request.query, ())
        asked = request.match_info["id"]
        found = alarm_of(status, asked)
        if found is None:
            return _unknown(asked)
        inquiry = await inquiry_of(status, found)
        body = {**shown(found), **_json(inquiry), "worst": await worst_of(status, inquiry)}
        return web.json_response({**body, "replica": status.replica})

    async def acknowledge(request: web.Request) -> web.Response:
        by = await _by(request)
        if by is None:
            return error(400, "by is no name", f'send {{"by": NAME}} of at most {MAX_NAME} characters, or nothing')
        asked = request.match_info["id"]
        record = await status.acknowledge(asked, by)
        return web.json_response(shown(record)) if record is not None else _unknown(asked)

    return [
        web.get("/api/v1/alarms", alarms),
        web.get("/api/v1/alarms/{id}", alarm),
        web.post("/api/v1/alarms/{id}/ack", acknowledge),
    ]


def alarm_of(status: Status, known: str) -> AlarmRecord | None:
    """The alarm of an id."""
    return next((record for record in status.alarms() if record.id == known), None)


async def inquiry_of(status: Status, record: AlarmRecord) -> Inquiry:
    """What is known about an alarm."""
    return await inquire(status.history.hours, record, status.circumstances(record), time.time())


async def worst_of(status: Status, found: Inquiry) -> Sequence[dict[str, Any]]:
    """The runs with the lowest scores since the change, in the short form of a list."""
    until = None if found.record.is_up else found.window.until
    query = RunQuery(
        service=found.record.service, scorer=found.record.scorer, since=found.split, until=until, limit=WORST
    )
    page = await status.history.runs(query)
    scored = [run for run in page.runs if value_of(run, found.record.scorer) is not None]
    return [summary(dict(run)) for run in scored]


def value_of(run: Mapping[str, Any], scorer: str) -> float | None:
    """The lowest score of a run by a scorer, 0 to 1."""
    scores = [score for score in run["scores"] if score["name"] == scorer and score["value"] is not None]
    return min((score["value"] / score["scale"] for score in scores), default=None)


# ---- JSON -------------------------------------------------------------------------------------------------------


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


def _json(found: Inquiry) -> dict[str, Any]:
    began = found.began
    return {
        "window": {**window_of(found.window), "parted_at": rfc3339(found.split)},
        "change": began
        and {
            "at": rfc3339(began.at),
            "earliest": rfc3339(began.earliest),
            "latest": rfc3339(began.latest),
            "probability": began.probability,
        },
        **compared_of(found.means),
        "course": [{"at": rfc3339(point.at), **estimate_of(point.now)} for point in found.course],
        "segments": {name: [_part(part) for part in parts] for name, parts in found.segments.items()},
        "retrieved": {measure: compared_of(compared) for measure, compared in found.measures.items()},
        "scores": {"before": found.scores.before, "after": found.scores.after},
        "unscored": [_count("reason", count) for count in found.unscored],
        "judge": {
            "tier": found.evaluator and found.evaluator.tier,
            "model": found.evaluator and found.evaluator.model,
            "anchors": found.anchors,
            "calls": [_count("judge", count) for count in found.calls],
            "other_versions": [_version(version) for version in found.versions],
        },
        "unknown": [{"what": one.what, "why": one.why} for one in found.unknown],
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "value": part.value or None,
        **compared_of(part.means),
        "share_before": part.contribution.share_before,
        "share_after": part.contribution.share_after,
        "contribution": part.contribution.change,
        "contribution_error": part.contribution.error,
    }


def _count(named: str, count: Count) -> dict[str, Any]:
    return {named: count.name, "before": count.before, "after": count.after}


def _version(version: OtherVersion) -> dict[str, Any]:
    return {
        "version": version.version,
        "tier": version.evaluator and version.evaluator.tier,
        "model": version.evaluator and version.evaluator.model,
        "first": rfc3339(version.first),
        "n": version.n,
    }


# ---- taking note ------------------------------------------------------------------------------------------------


async def _by(request: web.Request) -> str | None:
    """Who acknowledges: as the body says, else the user who is logged in, else nobody in particular."""
    try:
        body = await request.text() if request.content_type == "application/json" else ""
        said = json.loads(body).get("by") if body else user(request)
    except (ValueError, AttributeError, LookupError, RecursionError):  # of a character set that nobody knows, too
        return None
    said = "" if said is None else said
    return said if isinstance(said, str) and len(said) <= MAX_NAME else None


def _unknown(known: str) -> web.Response:
    return error(404, f"there is no alarm {known[:100]}", "GET /api/v1/alarms lists them")
