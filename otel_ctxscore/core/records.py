"""An evaluation as the state keeps it: its JSON line with where each part was read, and its text apart, so that text
can go before the rest does."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

from otel_ctxscore.core.lines import Line, to_jsonl
from otel_ctxscore.core.model import Context, Evaluation, Provenance, RagRun, Retrieval

Record = dict[str, Any]
Store = Literal["text", "hash", "none"]
KEPT_HISTORY = 20
"""Messages of the conversation before a run that are kept with it, the last ones."""


def record(evaluation: Evaluation, segments: Mapping[str, str] | None = None) -> Record:
    """The line of `to_jsonl` without text, with provenance, sources, marks and the run's values of `segments` (names
    and the attributes that hold their values). Explanations are text: they may quote."""
    run = evaluation.run
    line: Record = to_jsonl(evaluation, content=False)
    for written, retrieval in zip(line["retrievals"], run.retrievals, strict=True):
        _extend(written, retrieval)
    for score in line["scores"]:
        score["explanation"] = None
    judged_by = evaluation.judged_by
    line["judge"]["version"] = judged_by and judged_by.version
    return {
        **line,
        "session": run.session,
        "convention": run.convention,
        "complete": run.complete,
        "incomplete_reason": run.incomplete_reason and run.incomplete_reason.value,
        "query_read_from": _where(run.query_read_from),
        "response_read_from": _where(run.response_read_from),
        "query_from": run.query_from,
        "precision_over": run.precision_over,
        "segments": {name: value for name, key in (segments or {}).items() if (value := segment_value(run, key))},
        "redelivered": run.redelivered,
        "backfill": evaluation.backfill,
        "revision": evaluation.revision,
    }


def segment_value(run: RagRun, attribute: str) -> str | None:
    """The run's value of a segment; None without the attribute, or with one that is no plain value."""
    value = run.attributes.get(attribute)
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None


def _extend(written: Record, retrieval: Retrieval) -> None:
    written["refused"] = retrieval.refused and retrieval.refused.value
    written["query_read_from"] = _where(retrieval.query_read_from)
    for one, context in zip(written["contexts"], retrieval.contexts, strict=True):
        one.update(_origin(context))


def _origin(context: Context) -> Record:
    return {"source": context.source, "read_from": _where(context.read_from)}


def _where(read_from: Provenance | None) -> Record | None:
    return None if read_from is None else {"span_id": read_from.span_id, "attribute": read_from.attribute}


# ---- text -------------------------------------------------------------------------------------------------------


def text_of(evaluation: Evaluation, store: Store) -> Record | None:
    """The text of an evaluation in the shape that `with_text` takes: as it is, each as its hash (notes and
    explanations are left out then), or none of it."""
    if store == "none":
        return None
    found = {**_text_parts(to_jsonl(evaluation)), "history": list(evaluation.run.history[-KEPT_HISTORY:])}
    return found if store == "text" else _hashed(found)


def with_text(kept: Record, text: Record | None) -> Record:
    """The record with its text put back; without any, nulls stay."""
    kept["history"] = None if text is None else text.get("history", [])
    if text is None:
        return kept
    kept |= {"query": text["query"], "response": text["response"], "missing": text["missing"]}
    for written, known in zip(kept["retrievals"], text["retrievals"], strict=True):
        written["query"] = known["query"]
        for context, (content, note) in zip(written["contexts"], known["contexts"], strict=True):
            context |= {"text": content, "note": note}
    for score, explanation in zip(kept["scores"], text["explanations"], strict=True):
        score["explanation"] = explanation
    return kept


def _text_parts(line: Line) -> Record:
    whole: Record = line
    return {
        "query": whole["query"],
        "response": whole["response"],
        "missing": whole["missing"],
        "retrievals": [
            {"query": r["query"], "contexts": [(c["text"], c["note"]) for c in r["contexts"]]}
            for r in whole["retrievals"]
        ],
        "explanations": [score["explanation"] for score in whole["scores"]],
    }


def _hashed(text: Record) -> Record:
    """Equal texts have equal hashes: SHA-256 of their UTF-8, so that anybody can tell whether it was a given text."""
    return {
        "query": hashed(text["query"]),
        "response": hashed(text["response"]),
        "missing": text["missing"] and [hashed(piece) for piece in text["missing"]],
        "retrievals": [
            {"query": hashed(r["query"]), "contexts": [(hashed(content), None) for content, _ in r["contexts"]]}
            for r in text["retrievals"]
        ],
        "explanations": [None for _ in text["explanations"]],
        "history": [(role, hashed(said)) for role, said in text["history"]],
    }


def hashed(text: str | None) -> str | None:
    """What stands for a text where only its hash is kept."""
    if text is None:
        return None
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
