"""`/api/v1/export`: runs in the form that labels have, with the judge's word or with that of people: what `label` and
`calibrate --labels` read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace

from aiohttp import web

from otel_ctxscore.core.history import RunQuery
from otel_ctxscore.core.kept_run import judged_contexts
from otel_ctxscore.core.records import Record
from otel_ctxscore.monitoring.label_table import COLUMNS, cell
from otel_ctxscore.web.questions import BadQuestion, run_query, single
from otel_ctxscore.web.rendering import rfc3339
from otel_ctxscore.web.status import History, Status

FORMATS = {"jsonl": "application/x-ndjson", "csv": "text/csv"}
KINDS = ("runs", "labels")
VERDICTS = ("judge", "none")
CHUNK = 100


def routes(status: Status) -> list[web.RouteDef]:
    """`GET export`, with `kind`, `verdicts`, `format` and the filters of `GET runs`; all, the newest run first where
    nothing is said."""

    async def export(request: web.Request) -> web.StreamResponse:
        given = single(request.query)
        form = _one_of("format", given.pop("format", "jsonl"), tuple(FORMATS))
        kind = _one_of("kind", given.pop("kind", "runs"), KINDS)
        is_blank = _one_of("verdicts", given.pop("verdicts", "judge"), VERDICTS) == "none"
        if is_blank and kind == "labels":
            raise BadQuestion("labels without verdicts say nothing", "leave verdicts or kind=labels out")
        if {"limit", "cursor"} & given.keys():
            raise BadQuestion("an export has no pages", "leave limit and cursor out")
        query = run_query({"sort": "newest", **given, "limit": str(CHUNK)})
        query = replace(query, labelled=kind == "labels")
        lines = _lines(status.history, query, form, blank_line if is_blank else judge_line)
        return await _streamed(request, lines, f"{kind}.{form}")

    return [web.get("/api/v1/export", export)]


def _one_of(name: str, given: str, known: tuple[str, ...]) -> str:
    if given not in known:
        raise BadQuestion(f"{name} is {given!r}", f"{name} is one of {', '.join(known)}")
    return given


async def _streamed(request: web.Request, chunks: AsyncIterator[bytes], name: str) -> web.StreamResponse:
    content_type = FORMATS[name.rpartition(".")[2]]
    answer = web.StreamResponse(headers={"Content-Type": f"{content_type}; charset=utf-8"})
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    await answer.prepare(request)
    async for chunk in chunks:
        await answer.write(chunk)
    await answer.write_eof()
    return answer


async def _lines(
    history: History, query: RunQuery, form: str, run_line: Callable[[Record], Record]
) -> AsyncIterator[bytes]:
    if form == "csv":
        yield _csv([COLUMNS])
    async for run in _all(history, query):
        lines = [label_line(run, label) for label in run["labels"]] if query.labelled else [run_line(run)]
        for line in lines:
            yield _csv(_rows(line)) if form == "csv" else f"{json.dumps(line)}\n".encode()


async def _all(history: History, query: RunQuery) -> AsyncIterator[Record]:
    while True:
        page = await history.runs(query)
        for run in page.runs:
            yield dict(run)
        if page.next is None:
            return
        query = replace(query, cursor=page.next)


def judge_line(run: Record) -> Record:
    """A run as a label line: its distinct contexts with the judge's verdicts, and the judge as `who`."""
    judge = run["judge"]
    who = f"judge {judge['tier']} {judge['model']}" if judge["tier"] else None
    contexts = [_context(context, context) for context in judged_contexts(run)]
    return {**_line(run, who, run["at"], contexts), "scores": run["scores"]}


def blank_line(run: Record) -> Record:
    """A run as a label line in which nobody has said anything yet: what a person fills in without having seen what the
    judge says."""
    return _line(run, None, run["at"], [_context(context, {}) for context in judged_contexts(run)])


def label_line(run: Record, label: Record) -> Record:
    """A run as a label line with the verdicts of a person, null where they gave none."""
    said = {verdict["index"]: verdict for verdict in label["contexts"]}
    contexts = [_context(context, said.get(context["index"], {})) for context in judged_contexts(run)]
    return _line(run, label["who"], label["at"], contexts)


def _line(run: Record, who: str | None, at: float, contexts: list[Record]) -> Record:
    return {
        "run_id": run["run_id"],
        "trace_id": run["trace_id"],
        "service": run["service"],
        "who": who,
        "at": rfc3339(at),
        "outcome": run["outcome"],
        "reason": run["reason"],
        "query": run["query"],
        "response": run["response"],
        "contexts": contexts,
    }


def _context(context: Record, verdict: Record) -> Record:
    shown = {name: context[name] for name in ("index", "text", "id")}
    return {**shown, **{name: verdict.get(name) for name in ("useful", "relevance", "used", "note")}}


def _rows(line: Record) -> Iterable[list[object]]:
    """A row a context, or one for a run without any."""
    for context in line["contexts"] or [{}]:
        whole = {**line, **context}
        yield [cell(whole.get(column)) for column in COLUMNS]


def _csv(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
