"""`/api/v1/export`: runs in the form that labels have. Once people have put their word in place of the judge's, it is
what `calibrate --labels` reads."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from typing import Any

from aiohttp import web

from otel_ctxscore.core.history import RunQuery
from otel_ctxscore.web.questions import BadQuestion, run_query
from otel_ctxscore.web.rendering import rfc3339
from otel_ctxscore.web.status import History, Status

FORMATS = {"jsonl": "application/x-ndjson", "csv": "text/csv"}
COLUMNS = (
    "run_id", "trace_id", "service", "who", "at", "outcome", "reason", "query", "response", "index", "id", "text",
    "useful", "relevance", "used", "note",
)  # fmt: skip
CHUNK = 100
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def routes(status: Status) -> list[web.RouteDef]:
    """`GET export`, with `format` and the filters of `GET runs`; all runs, the newest first where nothing is said."""

    async def export(request: web.Request) -> web.StreamResponse:
        given = dict(request.query)
        form = given.pop("format", "jsonl")
        if form not in FORMATS:
            raise BadQuestion(f"format is {form!r}", f"format is one of {', '.join(FORMATS)}")
        if {"limit", "cursor"} & given.keys():
            raise BadQuestion("an export has no pages", "leave limit and cursor out")
        query = run_query({"sort": "newest", **given, "limit": str(CHUNK)})
        return await _streamed(request, _lines(status.history, query, form), form)

    return [web.get("/api/v1/export", export)]


async def _streamed(request: web.Request, chunks: AsyncIterator[bytes], form: str) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": f"{FORMATS[form]}; charset=utf-8"})
    answer.headers["Content-Disposition"] = f'attachment; filename="runs.{form}"'
    await answer.prepare(request)
    async for chunk in chunks:
        await answer.write(chunk)
    await answer.write_eof()
    return answer


async def _lines(history: History, query: RunQuery, form: str) -> AsyncIterator[bytes]:
    if form == "csv":
        yield _csv([COLUMNS])
    async for run in _all(history, query):
        line = labelled(run)
        yield _csv(_rows(line)) if form == "csv" else f"{json.dumps(line)}\n".encode()


async def _all(history: History, query: RunQuery) -> AsyncIterator[dict[str, Any]]:
    while True:
        page = await history.runs(query)
        for run in page.runs:
            yield dict(run)
        if page.next is None:
            return
        query = replace(query, cursor=page.next)


def labelled(run: dict[str, Any]) -> dict[str, Any]:
    """A run as a label line: its distinct contexts with the judge's verdicts, and the judge as `who`."""
    judge = run["judge"]
    return {
        "run_id": run["run_id"],
        "trace_id": run["trace_id"],
        "service": run["service"],
        "who": f"judge {judge['tier']} {judge['model']}" if judge["tier"] else None,
        "at": rfc3339(run["at"]),
        "outcome": run["outcome"],
        "reason": run["reason"],
        "query": run["query"],
        "response": run["response"],
        "contexts": [_context(context) for context in judged(run)],
        "scores": run["scores"],
    }


def judged(run: dict[str, Any]) -> list[dict[str, Any]]:
    """The distinct contexts of a run, as one judge call saw them."""
    found = {context["index"]: context for retrieval in run["retrievals"] for context in retrieval["contexts"]}
    found.pop(None, None)
    return [found[index] for index in sorted(found)]


def _context(context: dict[str, Any]) -> dict[str, Any]:
    return {name: context[name] for name in ("text", "id", "useful", "relevance", "used", "note")}


def _rows(line: dict[str, Any]) -> Iterable[list[object]]:
    """A row a context, or one for a run without any."""
    for index, context in enumerate(line["contexts"] or [{}]):
        whole = {**line, **context, "index": index if context else None}
        yield [_cell(whole.get(column)) for column in COLUMNS]


def _cell(value: object) -> object:
    """A quotation mark before what a spreadsheet would take for a formula: the text comes from anybody's traffic."""
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode()
        return f"'{text}" if text.startswith(_FORMULA) else text
    return value


def _csv(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
