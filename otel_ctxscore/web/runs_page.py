"""The view Runs, the worst first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aiohttp import web

from otel_ctxscore.core.history import RunPage, RunQuery
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.web.history_api import page_of
from otel_ctxscore.web.questions import BadQuestion, run_query
from otel_ctxscore.web.rendering import page, query
from otel_ctxscore.web.status import Status

RELATIVES = frozenset({"hit_rate", "reciprocal_rank", "share_useful"})
"""Scorers that say the same as precision in other words: a list of runs leaves them out unless asked for one."""
FIELDS = ("service", "segment", "value", "scorer", "below", "outcome", "reason", "since", "until", "sort", "limit")


def routes(status: Status) -> list[web.RouteDef]:
    """`/runs`, with the parameters of `GET /api/v1/runs`."""

    async def runs(request: web.Request) -> web.Response:
        given = {name: request.query.get(name, "") for name in FIELDS}
        try:
            asked = run_query(request.query)
            found, trouble = await page_of(status, asked), None
        except BadQuestion as refusal:
            asked, found, trouble = RunQuery(), RunPage([]), refusal
        return page(
            "runs.html",
            "runs",
            status=400 if trouble else 200,
            given=given,
            trouble=trouble,
            rows=[_row(run, asked.scorer) for run in found.runs],
            following=query({**given, "cursor": found.next}) if found.next else None,
            filters=query(given),
            exported=query({**given, "limit": ""}),
            exported_csv=query({**given, "limit": "", "format": "csv"}),
            inner=bool(asked.cursor),
            choices=_choices(status),
        )

    return [web.get("/runs", runs)]


def _row(run: dict[str, Any], scorer: str | None) -> dict[str, Any]:
    """A run with the lowest value of each scorer that is shown, 0 to 1."""
    shown: Callable[[str], bool] = (lambda name: name == scorer) if scorer else (lambda name: name not in RELATIVES)
    values: dict[str, float | None] = {}
    for score in run["scores"]:
        if shown(score["name"]):
            value = None if score["value"] is None else score["value"] / score["scale"]
            known = values.get(score["name"])
            values[score["name"]] = value if known is None else min(known, value if value is not None else known)
    contexts = sum(len(retrieval["contexts"]) for retrieval in run["retrievals"])
    return {"run": run, "values": values, "contexts": contexts}


def _choices(status: Status) -> dict[str, list[str]]:
    """What the selects offer, besides what is typed."""
    standings = status.snapshot().standings
    return {
        "service": sorted({standing.service for standing in standings}),
        "scorer": sorted({standing.scorer for standing in standings}),
        "outcome": list(TraceOutcome),
        "reason": list(Reason),
        "since": ["1h", "6h", "1d", "7d"],
        "sort": ["worst", "newest"],
    }
