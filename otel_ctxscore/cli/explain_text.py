"""What `explain` prints of one trace: as JSON, and as a tree of its spans for people."""

from __future__ import annotations

from collections.abc import Iterator

from otel_ctxscore.cli.tables import plain
from otel_ctxscore.core.conventions import Considered, Extraction, SpanRead
from otel_ctxscore.core.conventions.tree import Tree, tree_of
from otel_ctxscore.core.counting import count
from otel_ctxscore.core.model import Context, Provenance, RagRun, Retrieval
from otel_ctxscore.core.spans import Span, Trace

MAX_SPANS = 200
"""Spans of a trace that the tree shows; those that nothing was read in are left out first."""
MAX_TEXT = 100


def to_json(trace: Trace, extraction: Extraction) -> dict[str, object]:
    """One object of `explain --format json`."""
    return {
        "trace_id": trace.trace_id.hex(),
        "convention": extraction.convention,
        "runs": [_run(run) for run in extraction.runs],
        "considered": [{"span_id": c.span_id, "what": c.what, "why_not": c.why_not} for c in extraction.considered],
        "outcome": extraction.outcome,
        "reason": extraction.reason,
    }


def _run(run: RagRun) -> dict[str, object]:
    return {
        "span_id": run.span_id,
        "query": _text(run.query, run.query_read_from),
        "retrievals": [_retrieval(retrieval) for retrieval in run.retrievals],
        "response": _text(run.response, run.response_read_from),
        "complete": run.complete,
        "incomplete_reason": run.incomplete_reason,
    }


def _text(text: str | None, read_from: Provenance | None) -> dict[str, object] | None:
    return None if text is None else {"text": text, **_where(read_from)}


def _where(read_from: Provenance | None) -> dict[str, object]:
    return {
        "span_id": read_from.span_id if read_from else None,
        "attribute": read_from.attribute if read_from else None,
    }


def _retrieval(retrieval: Retrieval) -> dict[str, object]:
    return {
        "span_id": retrieval.span_id,
        "kind": retrieval.kind,
        "ranked": retrieval.ranked,
        "query": retrieval.query,
        "contexts": [_context(context) for context in retrieval.contexts],
    }


def _context(context: Context) -> dict[str, object]:
    described = {"text": context.text, "id": context.id, "document_score": context.document_score}
    return {**described, **_where(context.read_from)}


def render(trace: Trace, extraction: Extraction) -> str:
    """A trace for people: the verdict, the runs, the tree with what was read where, what was put aside, a hint."""
    parts = [_headline(trace, extraction), *_runs(extraction), *_tree(trace, extraction), *_aside(extraction)]
    return "\n".join(parts) + "\n"


def _headline(trace: Trace, extraction: Extraction) -> str:
    verdict = "can be judged" if extraction.outcome is None else extraction.outcome.value
    reason = f" ({extraction.reason.value})" if extraction.reason else ""
    convention = f", read as {extraction.convention}" if extraction.convention else ""
    return f"trace {trace.trace_id.hex()}: {verdict}{reason}{convention}"


def _runs(extraction: Extraction) -> Iterator[str]:
    for number, run in enumerate(extraction.runs, 1):
        lacks = "" if run.incomplete_reason is None else f", incomplete: {run.incomplete_reason.value}"
        yield f"  run {number} of {len(extraction.runs)}, on span {run.span_id}{lacks}"
        yield f"    query     {_quoted(run.query)}{_from(run.query_read_from)}"
        for retrieval in run.retrievals:
            yield from _retrieval_lines(retrieval)
        yield f"    response  {_quoted(run.response)}{_from(run.response_read_from)}"


def _retrieval_lines(retrieval: Retrieval) -> Iterator[str]:
    order = "" if retrieval.ranked else ", not ranked"
    state = f", {retrieval.refused.value}" if retrieval.refused else f", {count(len(retrieval.contexts), 'context')}"
    asked = f" for {_quoted(retrieval.query)}" if retrieval.query else ""
    yield f"    {retrieval.kind.value}{asked} on span {retrieval.span_id}{state}{order}"
    for rank, context in enumerate(retrieval.contexts, 1):
        score = "" if context.document_score is None else f" score {context.document_score:g}"
        identity = "" if context.id is None else f" id {short(context.id)}"
        yield f"      {rank:>2} {_quoted(context.text)}{identity}{score}{_from(context.read_from)}"


def _quoted(text: str | None) -> str:
    return "-" if text is None else f"“{short(text)}”"


def short(text: str) -> str:
    flat = plain(text)
    return flat if len(flat) <= MAX_TEXT else flat[: MAX_TEXT - 1] + "…"


def _from(read_from: Provenance | None) -> str:
    return f"  <- {read_from.span_id} {short(read_from.attribute or '')}" if read_from else ""


def _tree(trace: Trace, extraction: Extraction) -> Iterator[str]:
    tree = tree_of(trace.spans)
    shown = _shown(tree, extraction)
    if shown:
        yield "  spans"
    for span in shown:
        depth = sum(1 for _ in tree.above(span.span_id))
        yield "    " + "  " * min(depth, 20) + _line(span, extraction.reads.get(span.span_id.hex()))
    if len(shown) < len(tree.order):
        yield f"    and {len(tree.order) - len(shown)} more in which nothing was read"


def _shown(tree: Tree, extraction: Extraction) -> list[Span]:
    """All spans of a small trace; of a large one those that were read and those above them."""
    if len(tree.order) <= MAX_SPANS:
        return list(tree.order)
    known = [span.span_id for span in tree.order if span.span_id.hex() in extraction.reads][:MAX_SPANS]
    wanted = {i for span_id in known for i in (span_id, *tree.above(span_id))}
    return [span for span in tree.order if span.span_id in wanted]


def _line(span: Span, read: SpanRead | None) -> str:
    known = f"  [{read.role or 'unknown'}, {read.dialect}]" if read else ""
    parts = "".join(f"  {what}: {short(attribute)};" for what, attribute in read.parts) if read else ""
    return f"{short(span.name)} {span.span_id.hex()}{known}{parts}".rstrip(";")


def _aside(extraction: Extraction) -> Iterator[str]:
    if extraction.considered:
        yield "  considered, and not taken"
    for one in extraction.considered:
        yield f"    {_aside_line(one)}"
    if extraction.hint:
        yield f"  to change that: {extraction.hint}"


def _aside_line(one: Considered) -> str:
    where = f" on span {one.span_id}" if one.span_id else ""
    return f"{short(one.what)}{where}: {one.why_not}"
