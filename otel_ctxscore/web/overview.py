"""The view Overview and its API: how each service does, from spans to scores, and what that costs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from otel_ctxscore.core.hours import Window
from otel_ctxscore.monitoring import AlarmStatus
from otel_ctxscore.monitoring.overview import JudgeCost, Overview, SeriesView, ServiceView, overview
from otel_ctxscore.monitoring.past import kept_window
from otel_ctxscore.web.chart import Chart, chart
from otel_ctxscore.web.estimates import estimate_of, window_of
from otel_ctxscore.web.questions import BadQuestion, known, moment, paged, single
from otel_ctxscore.web.rendering import page, pages, query, rfc3339
from otel_ctxscore.web.runs_page import RELATIVES
from otel_ctxscore.web.status import Snapshot, Status

REFRESH = (5, 10, 60)
"""Seconds between reloads that can be chosen; without a choice the page stays as it is."""
PARAMETERS = ("service", "since", "limit", "page")
SINCE = ("1h", "6h", "1d", "7d", "30d")
DAY = "1d"
SERVICES, MOST_SERVICES = 20, 100


def routes(status: Status) -> list[web.RouteDef]:
    """`/` with `?refresh=SECONDS` and the parameters of `GET /api/v1/overview`."""

    async def shown(request: web.Request) -> web.Response:
        given = {name: request.query.get(name, "") for name in PARAMETERS}
        refresh = _refresh(request.query.get("refresh", ""))
        found, trouble = None, None
        try:
            asked = single(request.query)
            asked.pop("refresh", None)
            found = await overview_of(status, asked)
        except BadQuestion as refusal:
            trouble = refusal
        snapshot = status.snapshot()
        return page(
            "overview.html",
            "overview",
            status=400 if trouble else 200,
            it=snapshot,
            found=found,
            trouble=trouble,
            drawn=_charts(found) if found else {},
            relatives=RELATIVES,
            services=sorted({series.service for series, _ in status.alarm_statuses()}),
            given=given,
            choices=SINCE,
            refresh=refresh,
            refreshes=[(seconds, query({**given, "refresh": seconds})) for seconds in REFRESH],
            stop=query(given),
            **_pages(found, given),
        )

    async def api(request: web.Request) -> web.Response:
        found = await overview_of(status, request.query)
        return web.json_response({**_json(found, status.snapshot()), "replica": status.replica})

    return [web.get("/", shown), web.get("/api/v1/overview", api)]


def _refresh(given: str) -> int | None:
    return int(given) if given in map(str, REFRESH) else None


async def window_asked(status: Status, asked: Mapping[str, str]) -> Window:
    """The window of `since` and `service`, of what is kept. Raises BadQuestion."""
    now = time.time()
    since = moment({"since": DAY, **asked}, "since", now) or 0.0
    return await kept_window(status.history.hours, since, now, status.pace, asked.get("service"))


async def overview_of(status: Status, given: Mapping[str, str]) -> Overview:
    """The services that a request asks for. Raises BadQuestion."""
    asked = known(given, PARAMETERS)
    limit, offset = paged(asked, SERVICES, MOST_SERVICES)
    window = await window_asked(status, asked)
    alarms = dict(status.alarm_statuses())
    return await overview(
        status.history.hours,
        alarms.get,
        window,
        status.pace,
        first=frozenset(series.service for series, alarm in alarms.items() if alarm.state == "alarm"),
        limit=limit,
        offset=offset,
    )


def _pages(found: Overview | None, given: Mapping[str, str]) -> dict[str, Any]:
    if found is None:
        return {"first": None, "following": None}
    number, limit = int(given["page"] or 1), int(given["limit"] or SERVICES)
    return pages(given, more=number * limit < found.known)


def _charts(found: Overview) -> dict[SeriesView, Chart | None]:
    return {one: _chart(found, one) for service in found.services for one in service.series}


def _chart(found: Overview, one: SeriesView) -> Chart | None:
    reference = one.alarm.reference if one.alarm is not None else None
    name = f"{one.series.scorer} of {one.series.service}"
    known: dict[str, Any] = {"reference": reference, "reference_name": "reference of the present hour"}
    return chart(name, one.course, found.window, found.piece, width=240, **known)


# ---- JSON -------------------------------------------------------------------------------------------------------


def _json(found: Overview, snapshot: Snapshot) -> dict[str, Any]:
    return {
        **window_of(found.window),
        "state": snapshot.state,
        "cause": snapshot.cause,
        "services": [_service(one) for one in found.services],
        "known_services": found.known,
        "process": {
            "since": rfc3339(snapshot.started),
            "spans": {source.name: dict(source.spans) for source in snapshot.sources},
            "open_traces": snapshot.open_traces,
            "evaluations": dict(snapshot.evaluations),
        },
    }


def _service(one: ServiceView) -> dict[str, Any]:
    funnel = one.funnel
    return {
        "service": one.name,
        "series": [_series(series) for series in one.series],
        "funnel": {
            "spans": funnel.spans,
            "traces": funnel.traces,
            "runs": funnel.runs,
            "scores": funnel.scores,
            "unscored": funnel.unscored,
        },
        "empty_retrievals": {
            **estimate_of(one.empty.share),
            "empty": one.empty.empty,
            "retrievals": one.empty.retrievals,
        },
        "judges": [_judge(judge) for judge in one.judges],
    }


def _series(one: SeriesView) -> dict[str, Any]:
    return {
        "scorer": one.series.scorer,
        "version": one.series.version,
        "tier": one.evaluator and one.evaluator.tier,
        "model": one.evaluator and one.evaluator.model,
        **estimate_of(one.now, one.n),
        "truncated": one.truncated,
        "course": [{"at": rfc3339(point.at), **estimate_of(point.now)} for point in one.course],
        "alarm": _alarm(one.alarm),
    }


def _alarm(alarm: AlarmStatus | None) -> dict[str, Any] | None:
    if alarm is None:
        return None
    return {
        "state": alarm.state,
        "ratio": alarm.ratio,
        "reference": alarm.reference,
        "id": alarm.record.id if alarm.record is not None else None,
    }


def _judge(judge: JudgeCost) -> dict[str, Any]:
    """`cost_usd` is null where the price of any call is unknown; that of the others stands beside it."""
    return {
        "tier": judge.tier,
        "model": judge.model,
        "calls": judge.calls,
        "tokens": judge.tokens,
        "cost_usd": judge.whole_usd,
        "known_cost_usd": judge.usd,
        "unpriced_calls": judge.unpriced,
    }
