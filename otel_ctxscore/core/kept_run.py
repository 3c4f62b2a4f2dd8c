"""A kept run, read back: as a run that a judge can see again, and what a judge said of it."""

from __future__ import annotations

from otel_ctxscore.core.model import Context, Kind, Provenance, RagRun, Retrieval
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.records import Record

OPINION = ("outcome", "reason", "judge", "missing", "scores")


def judged_contexts(line: Record) -> list[Record]:
    """The distinct contexts of a record or of a line of `to_jsonl`, as one judge call saw them: in the order of
    `RagRun.judged`."""
    found = {context["index"]: context for retrieval in line["retrievals"] for context in retrieval["contexts"]}
    found.pop(None, None)
    return [found[index] for index in sorted(found)]


def opinion(line: Record) -> Record:
    """What a judge said of a run, without the run: `verdicts` in the order of `RagRun.judged`, scores and judge."""
    fields = ("index", "useful", "p_useful", "relevance", "used", "note")
    verdicts = [{name: context[name] for name in fields} for context in judged_contexts(line)]
    return {**{name: line[name] for name in OPINION}, "verdicts": verdicts}


def restored_run(kept: Record) -> RagRun:
    """The run of a record with its text, as the judge saw it; its probability is 1, for nobody drew it. Raises
    ValueError where the text is not kept."""
    if kept["content"] != "text":
        raise ValueError(f"the text of the run is not kept: {kept['content']}")
    return RagRun(
        kept["query"],
        [_retrieval(retrieval) for retrieval in kept["retrievals"]],
        kept["response"],
        history=kept.get("history") or (),
        trace_id=kept["trace_id"],
        span_id=kept["span_id"],
        service=kept["service"],
        session=kept["session"],
        convention=kept["convention"],
        query_read_from=_where(kept["query_read_from"]),
        response_read_from=_where(kept["response_read_from"]),
        complete=kept["complete"],
        incomplete_reason=_reason(kept["incomplete_reason"]),
        query_from=kept.get("query_from", "user"),
        precision_over=kept.get("precision_over", "each"),
    )


def _retrieval(kept: Record) -> Retrieval:
    contexts = [
        Context(one["text"], one["id"], one["document_score"], one["source"], _where(one["read_from"]))
        for one in kept["contexts"]
    ]
    return Retrieval(
        contexts,
        query=kept["query"],
        ranked=kept["ranked"],
        span_id=kept["span_id"],
        kind=Kind(kept["kind"]),
        refused=_reason(kept["refused"]),
        query_read_from=_where(kept["query_read_from"]),
    )


def _where(kept: Record | None) -> Provenance | None:
    return None if kept is None else Provenance(kept["span_id"], kept["attribute"])


def _reason(name: str | None) -> Reason | None:
    return None if name is None else Reason(name)
