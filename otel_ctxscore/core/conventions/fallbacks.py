"""Contexts that no retrieval span holds: tool results in a conversation, documents passed on, parts of a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from otel_ctxscore.core.conventions.contexts import Candidate, reason_of
from otel_ctxscore.core.conventions.document_fields import Document
from otel_ctxscore.core.conventions.document_lists import Documents
from otel_ctxscore.core.conventions.message_parts import Call, Result
from otel_ctxscore.core.conventions.messages import Message
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.reading import Seen
from otel_ctxscore.core.conventions.signs import sections_in
from otel_ctxscore.core.conventions.tools import failed, retrieves, returned
from otel_ctxscore.core.conventions.turns import Turn
from otel_ctxscore.core.conventions.values import whole
from otel_ctxscore.core.conventions.vocabulary import HOLDERS, Reading, Role, Text
from otel_ctxscore.core.model import Kind
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.spans import Span

OPEN = frozenset({Reason.NO_CONTENT, Reason.DOCUMENTS_WITHOUT_TEXT})
"""What an unusable list may be for another place to stand in: it was not empty as far as is known."""


def stand_ins(
    turn: Turn, seen: Seen, found: Sequence[Candidate], added: tuple[str, ...], separator: str | None
) -> tuple[Candidate, ...]:
    """Contexts from elsewhere, where no retrieval span of the turn gives any and none says that there were none."""
    if any(c.usable or c.reason not in OPEN for c in found):
        return ()
    return _from_messages(turn, seen, added) or _passed(turn, seen) or _from_prompt(turn, seen, found, separator)


def _from_messages(turn: Turn, seen: Seen, added: tuple[str, ...]) -> tuple[Candidate, ...]:
    """Results of retrieval tools in the turn's conversation, from the span that holds most of them."""
    best: tuple[Candidate, ...] = ()
    for span in turn.spans:
        reading = seen.of(span.span_id)
        found = tuple(_in_conversation(span, reading, seen.tree.place[span.span_id], added))
        best = found if len(found) > len(best) else best
    return best


def _in_conversation(span: Span, reading: Reading, place: int, added: tuple[str, ...]) -> Iterator[Candidate]:
    messages = (*reading.heard, *reading.said)
    calls = {call.id: call for message in messages for call in message.calls}
    for result in _results_of_turn(messages):
        call = calls.get(result.id)
        named = retrieves(result.name or (call.name if call else None), added)
        lists = None if failed(result.value) else returned(result.value, named=named)
        for listed in lists or ():
            yield _of_result(span, reading, listed, call, place)


def _results_of_turn(messages: Sequence[Message]) -> list[Result]:
    """The tool results since the user last said something."""
    found: list[Result] = []
    for message in reversed(messages):
        if message.role == "user" and message.texts and not message.results:
            break
        found[:0] = message.results
    return found


def _of_result(span: Span, reading: Reading, listed: Documents, call: Call | None, place: int) -> Candidate:
    asked = question_in(call.arguments) if call else None
    return Candidate(
        span, Kind.TOOL, listed, asked, reading.dialect, place, reason_of(listed), ranked=not listed.joined
    )  # fmt: skip


def _passed(turn: Turn, seen: Seen) -> tuple[Candidate, ...]:
    """The first documents that a step was given or handed on."""
    for span in turn.spans:
        reading = seen.of(span.span_id)
        usable = [listed for listed in reading.passed or () if reason_of(listed) is None]
        if usable:
            place = seen.tree.place[span.span_id]
            asked = None if span is turn.anchor else reading.question
            return tuple(Candidate(span, Kind.RETRIEVER, one, asked, reading.dialect, place) for one in usable)
    return ()


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A joined text of contexts, and the span it was read in."""

    span: Span
    text: Text
    dialect: str


def _from_prompt(turn: Turn, seen: Seen, found: Sequence[Candidate], separator: str | None) -> tuple[Candidate, ...]:
    """The last joined text that a model was given: unranked, unless its parts are as many as the documents."""
    prompts = [*_sections(turn, seen), *_variables(turn, seen)]
    if not prompts:
        return ()
    prompt = prompts[-1]
    place = seen.tree.place[prompt.span.span_id]
    parts = _split(prompt.text.text, separator)
    if (ranked := _in_rank_order(found, parts, prompt)) is not None:
        return (ranked,)
    documents = tuple(Document(part, _at(prompt, number, len(parts))) for number, part in enumerate(parts))
    listed = Documents(documents, prompt.text.at)
    return (Candidate(prompt.span, Kind.PROMPT, listed, None, prompt.dialect, place, reason_of(listed), ranked=False),)


def _variables(turn: Turn, seen: Seen) -> Iterator[_Prompt]:
    for span in turn.spans:
        reading = seen.of(span.span_id)
        yield from (_Prompt(span, text, reading.dialect) for text in reading.variables)


def _sections(turn: Turn, seen: Seen) -> Iterator[_Prompt]:
    for span in turn.spans:
        reading = seen.of(span.span_id)
        if reading.role is Role.LLM or reading.role in HOLDERS:
            yield from (_Prompt(span, text, reading.dialect) for text in sections_in(reading.heard))


def _split(text: str, separator: str | None) -> list[str]:
    pieces = text.split(separator) if separator else [text]
    return [piece.strip() for piece in pieces if piece.strip()]


def _at(prompt: _Prompt, number: int, of: int) -> str:
    return f"{prompt.text.at}#part[{number}]" if of > 1 else prompt.text.at


def parted(kept: Sequence[Candidate], found: Sequence[Candidate], separator: str | None) -> tuple[Candidate, ...]:
    """Joined results of tools in parts, where a retriever of theirs has as many documents without text."""
    if not separator:
        return tuple(kept)
    return tuple(_parted(candidate, found, separator) if candidate.listed.joined else candidate for candidate in kept)


def _parted(joined: Candidate, found: Sequence[Candidate], separator: str) -> Candidate:
    (whole_text,) = joined.listed.documents
    prompt = _Prompt(joined.span, Text(whole_text.text or "", whole_text.at), joined.dialect)
    return _in_rank_order(found, _split(prompt.text.text, separator), prompt) or joined


def _in_rank_order(found: Sequence[Candidate], parts: list[str], prompt: _Prompt) -> Candidate | None:
    """The one retriever's documents with the parts of the prompt as their texts, in order.

    The provenance of each says so: it is the prompt's span and attribute, with the number of the part.
    """
    without = [c for c in found if c.reason is Reason.DOCUMENTS_WITHOUT_TEXT]
    if len(parts) < 2 or len(without) != 1 or len(without[0].listed.documents) != len(parts):
        return None
    documents = tuple(
        replace(document, text=part, at=_at(prompt, number, len(parts)), span=prompt.span.span_id)
        for number, (document, part) in enumerate(zip(without[0].listed.documents, parts, strict=True))
    )
    return replace(without[0], listed=Documents(documents, prompt.text.at), reason=None)


def is_made_of(text: str, contexts: Sequence[str]) -> bool:
    """Whether a text is no more than the contexts in a row: no answer, but what a formatting step handed on."""
    flat = whole(text)
    pieces = [piece for piece in map(whole, contexts) if piece]
    return (
        bool(pieces) and all(p in flat for p in pieces) and len(flat) <= sum(len(p) for p in pieces) + 20 * len(pieces)
    )
