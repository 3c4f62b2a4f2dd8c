"""`/api/v1/runs/{id}`: a run with what people say of it, and what can be done with it."""

from __future__ import annotations

import json
import time
from typing import Any

from aiohttp import web

from otel_ctxscore.core.history import Label
from otel_ctxscore.core.kept_run import opinion
from otel_ctxscore.core.records import Record
from otel_ctxscore.web.access import user
from otel_ctxscore.web.agreement import with_agreement
from otel_ctxscore.web.errors import Refused
from otel_ctxscore.web.label_body import read_label
from otel_ctxscore.web.questions import BadQuestion, known
from otel_ctxscore.web.rendering import rfc3339
from otel_ctxscore.web.review import Review
from otel_ctxscore.web.status import Status

MAX_PEOPLE = 20
"""People who label one run, at most."""


def routes(status: Status, review: Review) -> list[web.RouteDef]:
    """`GET runs/{id}`, `POST runs/{id}/judge`, `/label`, `/anchor`."""

    def told(body: Record) -> web.Response:
        return web.json_response({**body, "replica": status.replica})

    async def run(request: web.Request) -> web.Response:
        known(request.query, ())
        return told(whole(await found(status, request)))

    async def judge(request: web.Request) -> web.Response:
        run = await found(status, request)
        again = await review.judge_again(run)
        return told({"run_id": run["run_id"], "first": _dated(first(run)), "again": _dated(again)})

    async def label(request: web.Request) -> web.Response:
        run = await found(status, request)
        said = read_label(await _body(request), run, user=user(request), at=time.time())
        run = await labelled(status, review, run, said)
        [own] = [one for one in whole(run)["labels"] if one["who"] == said.who]
        return told({"run_id": run["run_id"], **own})

    async def anchor(request: web.Request) -> web.Response:
        run = await found(status, request)
        body = await _body(request)
        who = body.get("who") if isinstance(body, dict) and not body.keys() - {"who"} else body
        if not isinstance(who, str | None):
            raise BadQuestion("who is no name", 'send {"who": NAME} of a person who labelled the run, or nothing')
        return told((await review.anchor(run, who)).as_dict())

    return [
        web.get("/api/v1/runs/{id}", run),
        web.post("/api/v1/runs/{id}/judge", judge),
        web.post("/api/v1/runs/{id}/label", label),
        web.post("/api/v1/runs/{id}/anchor", anchor),
    ]


async def found(status: Status, request: web.Request) -> Record:
    """The run that a request speaks of. Raises Refused."""
    asked = request.match_info["id"]
    run = await status.history.run(asked)
    if run is None:
        what = f"replica {status.replica} does not know run {asked[:100]}"
        raise Refused(
            404, what, "another replica has it, or it went with state.max_age: GET /api/v1/runs lists its own"
        )
    return run


async def labelled(status: Status, review: Review, run: Record, label: Label) -> Record:
    """The run as it is once a label is kept. Raises Refused and StateError."""
    people = {one["who"] for one in run["labels"]}
    if label.who not in people and len(people) >= MAX_PEOPLE:
        raise Refused(409, f"{MAX_PEOPLE} people have labelled this run", "label another one")
    await review.label(run, label)
    after = await status.history.run(run["run_id"])
    if after is None or label.who not in {one["who"] for one in after["labels"]}:
        raise Refused(409, "the run went while it was labelled", "it was older than state.max_age")
    return after


def first(run: Record) -> Record:
    """What the judge said of a run when it came."""
    return {"at": run["at"], **opinion(run)}


def whole(run: Record) -> Record:
    """A run as the API gives it: moments as RFC 3339 has them."""
    labels = [_dated(label) for label in with_agreement(run)]
    return {**_dated(run), "labels": labels, "again": None if run["again"] is None else _dated(run["again"])}


def _dated(record: Record) -> Record:
    return {**record, "at": rfc3339(record["at"])}


async def _body(request: web.Request) -> Any:
    """The JSON of a request; an empty object for none. Raises BadQuestion."""
    try:
        text = await request.text()
        return json.loads(text) if text.strip() else {}
    except (ValueError, LookupError, RecursionError):  # of a character set that nobody knows, too
        raise BadQuestion("the body is no JSON", "send a JSON object in UTF-8") from None
