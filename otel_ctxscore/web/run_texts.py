"""The texts of a run as its page shows them, each under the name that its part of the page has."""

from __future__ import annotations

from dataclasses import replace

from otel_ctxscore.core.kept_run import judged_contexts
from otel_ctxscore.core.records import Record
from otel_ctxscore.web.excerpts import MOST, READ, Excerpt, excerpt, room_of_each, sentence_at_issue, words
from otel_ctxscore.web.questions import BadQuestion
from otel_ctxscore.web.rendering import MAX_QUOTED

MAX_CONTEXTS = 200
"""Contexts of a run that its page shows."""
READ_TOGETHER = 3_000_000
"""Characters of all contexts in which a sentence is looked for."""


def shown_of(run: Record) -> dict[int, int]:
    """How many contexts of each list are shown, by its number from 1: the first of all."""
    found: dict[int, int] = {}
    room = MAX_CONTEXTS
    for number, retrieval in enumerate(run["retrievals"], 1):
        found[number] = min(len(retrieval["contexts"]), room)
        room -= found[number]
    return found


def texts_of(run: Record, whole: str | None, *, blind: bool = False) -> dict[str, Excerpt]:
    """`query`, `response`, `context-LIST-RANK` with both from 1, and `label-INDEX` for the form of a label, as far as
    their text is kept; that of the name `whole` as it is. `blind`: no verdict is shown, and no sentence that it is
    about. Raises BadQuestion where there is no such text."""
    texts = {name: run[name] for name in ("query", "response")}
    contexts = {
        f"context-{number}-{rank}": context
        for number, count in shown_of(run).items()
        for rank, context in enumerate(run["retrievals"][number - 1]["contexts"][:count], 1)
    }
    texts |= {name: context["text"] for name, context in contexts.items()}
    texts |= {f"label-{context['index']}": context["text"] for context in judged_contexts(run)[:MAX_CONTEXTS]}
    if whole is not None and texts.get(whole) is None:
        raise BadQuestion(
            f"there is no text {whole[:100]!r}", "whole is query, response or, as in context-1-3, a context"
        )
    room = room_of_each(len(contexts))
    found = {
        name: excerpt(text, MOST if name in run else room, whole=name == whole)
        for name, text in texts.items()
        if text is not None
    }
    return found if blind else found | _with_sentences(run, contexts, found)


def _with_sentences(run: Record, contexts: dict[str, Record], found: dict[str, Excerpt]) -> dict[str, Excerpt]:
    """Of contexts that are folded: their text beyond the line that stands open holds what the verdict is about."""
    folded = [name for name in contexts if name in found and found[name].folded and run["content"] == "text"]
    about = words(run["query"], run["response"])
    read = min(READ, READ_TOGETHER // max(len(folded), 1))
    return {
        name: replace(
            found[name],
            sentence=sentence_at_issue(contexts[name]["text"], MAX_QUOTED, about, [contexts[name]["note"] or ""], read),
        )
        for name in folded
    }
