"""What `explain --trace-id` prints: a trace as a running service knows it afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from otel_ctxscore.cli.explain_text import short
from otel_ctxscore.core.counting import count
from otel_ctxscore.web.meanings import meaning

Known = dict[str, Any]
_LEDGER = ("at", "closed", "spans", "delivered", "redelivered_at", "hint", "replica")


def to_json(known: Known) -> dict[str, object]:
    """The object of `explain --format json`, with the outcome that the trace had and what the ledger says of it."""
    return {
        "trace_id": known["trace_id"],
        "convention": known["convention"],
        "runs": [_run(run) for run in known["runs"]],
        "considered": known["considered"],
        "outcome": known["outcome"],
        "reason": known["reason"],
        "service": known["service"],
        **{name: known[name] for name in _LEDGER},
    }


def _run(run: Known) -> Known:
    return {
        "span_id": run["span_id"],
        "query": _text(run["query"], run["query_read_from"]),
        "retrievals": [
            {
                **{name: retrieval[name] for name in ("span_id", "kind", "ranked", "query")},
                "contexts": [_context(context) for context in retrieval["contexts"]],
            }
            for retrieval in run["retrievals"]
        ],
        "response": _text(run["response"], run["response_read_from"]),
        "complete": run["complete"],
        "incomplete_reason": run["incomplete_reason"],
        "run_id": run["run_id"],
        "content": run["content"],
    }


def _text(text: str | None, read_from: Known | None) -> Known | None:
    """A part that was read somewhere is there, also where its text is not kept."""
    return None if text is None and read_from is None else {"text": text, **_where(read_from)}


def _context(context: Known) -> Known:
    return {**{name: context[name] for name in ("text", "id", "document_score")}, **_where(context["read_from"])}


def _where(read_from: Known | None) -> Known:
    return read_from or {"span_id": None, "attribute": None}


def render(known: Known) -> str:
    """The trace for people."""
    return "\n".join(_lines(known)) + "\n"


def _lines(known: Known) -> Iterator[str]:
    reason = f" ({known['reason']})" if known["reason"] else ""
    convention = f", read as {known['convention']}" if known["convention"] else ""
    yield f"trace {known['trace_id']}: {known['outcome']}{reason}{convention}"
    yield f"  {meaning(known['reason']) or meaning(known['outcome'])}"
    if not known["delivered"]:
        yield "  a sink did not take its evaluation"
    yield f"  {count(known['spans'], 'span')} of {short(known['service'])}, closed {known['closed']} at {known['at']}"
    yield f"  by replica {known['replica']}"
    for run in known["runs"]:
        yield from _run_lines(run)
    if known["considered"]:
        yield "  considered, and not taken"
    for one in known["considered"]:
        where = f" on span {one['span_id']}" if one["span_id"] else ""
        yield f"    {short(one['what'])}{where}: {short(one['why_not'])}"
    if known["hint"]:
        yield f"  to change that: {known['hint']}"


def _run_lines(run: Known) -> Iterator[str]:
    yield f"  run {run['run_id']} on span {run['span_id']}: {run['outcome']}"
    yield f"    query     {_quoted(run['query'])}{_from(run['query_read_from'])}"
    for retrieval in run["retrievals"]:
        state = retrieval["refused"] or count(len(retrieval["contexts"]), "context")
        yield f"    {retrieval['kind']} on span {retrieval['span_id']}, {state}"
        for rank, context in enumerate(retrieval["contexts"], 1):
            useful = {None: "", True: " useful", False: " not useful"}[context["useful"]]
            yield f"      {rank:>2}{useful} {_quoted(context['text'])}{_from(context['read_from'])}"
    yield f"    response  {_quoted(run['response'])}{_from(run['response_read_from'])}"
    for score in run["scores"]:
        value = f"unscored ({score['unscored']})" if score["value"] is None else f"{score['value']:g}"
        yield f"    {score['name']:<20} {value}"


def _quoted(text: str | None) -> str:
    return "-" if text is None else f"“{short(text)}”"


def _from(read_from: Known | None) -> str:
    return f"  <- {read_from['span_id']} {short(read_from['attribute'] or '')}" if read_from else ""
