"""`/api/v1`: lists of runs, traces, documents, and deleting text."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from otel_ctxscore.core.assembly import Waiting
from otel_ctxscore.core.history import MAX_LIMIT, DocumentUse, RunPage, RunQuery
from otel_ctxscore.web.errors import error
from otel_ctxscore.web.questions import BadQuestion, known, moment, paged, run_query, trace_id
from otel_ctxscore.web.rendering import moment as moment_of
from otel_ctxscore.web.rendering import rfc3339
from otel_ctxscore.web.status import Status

WEEK = "7d"
DOCUMENT_PARAMETERS = ("by", "service", "since", "limit", "page")


def routes(status: Status) -> list[web.RouteDef]:
    """`GET runs`, `traces/{trace_id}`, `documents`; `DELETE traces/{trace_id}/content`."""
    history = status.history

    def told(body: dict[str, Any]) -> web.Response:
        return web.json_response({**body, "replica": status.replica})

    async def runs(request: web.Request) -> web.Response:
        found = await page_of(status, run_query(request.query))
        return told({"runs": [summary(run) for run in found.runs], "next": found.next})

    async def trace(request: web.Request) -> web.Response:
        known(request.query, ())
        asked = trace_id(request.match_info["trace_id"])
        found = await history.trace(asked)
        if found is None:
            return error(404, *absent(status, asked))
        runs = [shown(run) for run in found["runs"]]
        return told({**shown(found), "redelivered_at": rfc3339(found["redelivered_at"]), "runs": runs})

    async def documents(request: web.Request) -> web.Response:
        return told({"documents": [_document(row) for row in await documents_of(status, request)]})

    async def forget(request: web.Request) -> web.Response:
        asked = trace_id(request.match_info["trace_id"])
        if await history.trace(asked) is None:
            return error(404, *absent(status, asked))
        return told({"trace_id": asked.hex(), "runs": await history.forget_text(asked)})

    return [
        web.get("/api/v1/runs", runs),
        web.get("/api/v1/traces/{trace_id}", trace),
        web.get("/api/v1/documents", documents),
        web.delete("/api/v1/traces/{trace_id}/content", forget),
    ]


async def page_of(status: Status, query: RunQuery) -> RunPage:
    """The page of a question. Raises BadQuestion for a cursor that is none."""
    try:
        return await status.history.runs(query)
    except ValueError:
        raise BadQuestion("cursor is none of ours", "begin without a cursor, and go on with `next`") from None


async def documents_of(status: Status, request: web.Request, *, limit: int = 100) -> list[DocumentUse]:
    """The documents that a request asks for. Raises BadQuestion."""
    asked = {"by": "id", "since": WEEK, **known(request.query, DOCUMENT_PARAMETERS)}
    if asked["by"] not in ("id", "source"):
        raise BadQuestion(f"by is {asked['by']!r}", "by is id or source")
    limit, offset = paged(asked, limit, MAX_LIMIT)
    return list(
        await status.history.documents(
            "id" if asked["by"] == "id" else "source",
            service=asked.get("service"),
            since=moment(asked, "since") or 0.0,
            limit=limit,
            offset=offset,
        )
    )


def absent(status: Status, asked: bytes) -> tuple[str, str]:
    """Why the ledger does not know a trace, and what to do about it."""
    where, name = status.whereabouts(asked), asked.hex()
    if where == "open":
        return f"trace {name} is not finished", _still_to_come(status.waits_for(asked))
    if where == "sampled_out":
        return f"trace {name} is left out by sampling", "sampling.rate and sampling.rules decide it by the trace id"
    return (
        f"replica {status.replica} does not know trace {name}",
        "its spans have not come here, another replica has it, or it went with state.max_age",
    )


def _still_to_come(known: Waiting | None) -> str:
    """What is missing until a trace is finished, and when that ends."""
    if known is None:
        return "its spans are here, and it is judged or sent now: ask again later"
    since, until, latest = moment_of(known.since), moment_of(known.until), moment_of(known.latest)
    if known.late:
        return f"nothing in it could be judged yet; open since {since}, it waits for late spans until {until}"
    root = "its root span has come" if known.root_seen else "its root span has not come yet"
    more = f"; a further span puts that off, until {latest} at the latest" if latest != until else ""
    return f"{root}; it is open since {since}, and closes at {until} if nothing more comes{more}"


def shown(record: dict[str, Any]) -> dict[str, Any]:
    """A record as the API gives it."""
    return {**record, "at": rfc3339(record["at"])}


def summary(run: dict[str, Any]) -> dict[str, Any]:
    """A run in a list: without contexts and response, which `runs/{id}` has."""
    left_out = ("retrievals", "response", "history", "missing", "query_read_from", "response_read_from")
    contexts = sum(len(retrieval["contexts"]) for retrieval in run["retrievals"])
    return {**{name: value for name, value in shown(run).items() if name not in left_out}, "contexts": contexts}


def _document(row: DocumentUse) -> dict[str, Any]:
    return {
        "document": row.document,
        "service": row.service,
        "retrieved": row.retrieved,
        "judged": row.judged,
        "useful": row.useful,
        "used": row.used,
        "above": row.above,
    }
