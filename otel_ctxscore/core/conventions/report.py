"""What `explain` tells beside the runs: what was made of each span, what was put aside and why, what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from otel_ctxscore.core.conventions.contexts import MAX_CANDIDATES, Candidate
from otel_ctxscore.core.conventions.dialects import CATALOGUE
from otel_ctxscore.core.conventions.document_lists import shaped_lists_in
from otel_ctxscore.core.conventions.mapping import Mapping
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.parts import Read
from otel_ctxscore.core.conventions.reading import Seen
from otel_ctxscore.core.conventions.result import Considered, Options, SpanRead
from otel_ctxscore.core.conventions.runs import Found, passes
from otel_ctxscore.core.conventions.tools import retrieves
from otel_ctxscore.core.conventions.vocabulary import Reading, Role
from otel_ctxscore.core.model import Kind, RagRun
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.spans import Span

WHY = {
    Reason.NO_CONTEXTS: "it returned nothing",
    Reason.NO_CONTENT: "its instrumentation wrote no content",
    Reason.DOCUMENTS_WITHOUT_TEXT: "no text under a known name",
    Reason.DOCUMENTS_INCOMPLETE: "documents were dropped or cut",
    Reason.REDACTED: "placeholders stand in place of the texts",
}
HINTS = {
    Reason.DOCUMENTS_WITHOUT_TEXT: "declare a mapping with the name of the text field, or set extraction."
    "prompt_separator to part the contexts in the prompt",
    Reason.DOCUMENTS_INCOMPLETE: "raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT, OTEL_SPAN_EVENT_COUNT_LIMIT and "
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT (or the instrumentation's own limit) of the sender",
    Reason.REDACTED: "the sender hides content (OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS or a processor)",
    Reason.NO_CONTENT: "switch on the content of the instrumentation that retrieves, or declare a mapping",
}
MAX_UNKNOWN, LONGEST_UNKNOWN = 20, 64 * 1024
"""Attributes of a trace without a run that are looked at, and their length: most traces are none of ours."""
UNRANKED = "the contexts stand joined in a prompt: set extraction.prompt_separator to part them"


def considered_in(
    turns: Sequence[Found], seen: Seen, options: Options, mappings: Sequence[Mapping]
) -> tuple[Considered, ...]:
    """What might have been part of a run and is not, in the order of the tree."""
    found = [
        *(one for turn in turns for one in _of_turn(turn, seen, options)),
        *(
            Considered(span.span_id.hex(), "span of an evaluator", "evaluations are not read")
            for span in seen.evaluators
        ),
        *(() if any(turn.sorted.kept for turn in turns) else (*_unknown(seen), *_elsewhere(mappings, options))),
        *(Considered("", f"mapping {m.name!r}", why) for m in mappings for why in _unmatched(m, seen)),
    ]
    return tuple(dict.fromkeys(found))


def _unknown(seen: Seen) -> Iterator[Considered]:
    """Attributes that look like documents on spans that no dialect reads, in a trace without a run."""
    structures = (
        (span, name, value)
        for span in seen.tree.order
        if seen.of(span.span_id).role is Role.OTHER
        for name, value in sorted(span.attributes.items())
        if isinstance(value, str) and value[:1] in ("[", "{") and len(value) <= LONGEST_UNKNOWN
    )
    for span, name, value in islice(structures, MAX_UNKNOWN):
        if shaped_lists_in(Node(value, name)) is not None:
            why = "no dialect knows this attribute, which looks like documents: declare a mapping (extraction.mappings)"
            yield Considered(span.span_id.hex(), f"attribute {name!r}", why)


def _elsewhere(applied: Sequence[Mapping], options: Options) -> Iterator[Considered]:
    """Mappings that are for other traces, where nothing read this one: their `when` may be misspelt."""
    for mapping in options.mappings:
        if mapping not in applied:
            yield Considered("", f"mapping {mapping.name!r}", "no span of this trace matches its `when`")


def _unmatched(mapping: Mapping, seen: Seen) -> Iterator[str]:
    parts = {"retrieval": mapping.retrieval, "query": mapping.query, "response": mapping.response}
    for name, part in parts.items():
        if part is not None and not any(part.span.matches(span) for span in seen.tree.order):
            yield f"no span matches the selector of {name}"


def _of_turn(found: Found, seen: Seen, options: Options) -> Iterator[Considered]:
    kept = found.sorted.kept
    for rejected in found.sorted.rejected:
        yield _considered(rejected.candidate, rejected.why)
    if len(found.candidates) >= MAX_CANDIDATES:
        yield Considered(
            found.candidates[-1].span.span_id.hex(), "retrievals after this one", "there are too many in one turn"
        )
    known = [rejected.candidate for rejected in found.sorted.rejected]
    filled = {candidate.span.span_id for candidate in kept if candidate.usable}
    for candidate in found.candidates:
        if candidate.reason is not None and candidate not in known and candidate.span.span_id not in filled:
            yield _considered(candidate, _why(candidate, seen))
    for candidate in kept:
        yield from _left_out(candidate, options)
    for span in found.turn.spans:
        yield from _other_tools(span, seen.of(span.span_id), kept)


def _considered(candidate: Candidate, why: str) -> Considered:
    what = f"{candidate.kind.value} with {_counted(len(candidate.listed.documents), 'document')}"
    return Considered(candidate.span.span_id.hex(), what, why)


def _why(candidate: Candidate, seen: Seen) -> str:
    failing = candidate.reason is Reason.NO_CONTEXTS and seen.of(candidate.span.span_id).failed
    return "the call failed" if failing else WHY[candidate.reason or Reason.NO_CONTEXTS]


def _left_out(candidate: Candidate, options: Options) -> Iterator[Considered]:
    """Documents of a list that counts which do not: blank ones, and those with too low a score."""
    for rank, document in enumerate(candidate.listed.documents if candidate.usable else (), 1):
        why = (
            "" if passes(document, options) else f"its score {document.score:g} is below extraction.min_document_score"
        )
        why = why if (document.text or "").strip() else "it has no text"
        if why:
            yield Considered(candidate.span.span_id.hex(), f"document {rank}", why)


def _other_tools(span: Span, reading: Reading, kept: Sequence[Candidate]) -> Iterator[Considered]:
    if reading.role is Role.TOOL and reading.result is not None and not any(c.span is span for c in kept):
        name = reading.name or span.name
        if not retrieves(name):
            why = "neither its name nor its result is that of a retrieval (extraction.retrieval_tools adds names)"
            yield Considered(span.span_id.hex(), f"tool {name!r}", why)


def _counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def hint_for(runs: Sequence[RagRun], found: Sequence[Found], seen: Seen) -> str | None:
    """What to switch on or set for the first run that lacks something."""
    for run, one in zip(runs, found, strict=True):
        reason = run.refused or run.incomplete_reason
        if reason is Reason.NO_CONTENT:
            return _switch(one, seen) or HINTS[reason]
        if reason in HINTS:
            return HINTS[reason]
        if any(retrieval.kind is Kind.PROMPT for retrieval in run.retrievals):
            return UNRANKED
    return None


def _switch(found: Found, seen: Seen) -> str | None:
    switches = {dialect.name: dialect.switch for dialect in CATALOGUE}
    readings = [seen.of(c.span.span_id) for c in found.sorted.kept] or [seen.of(s.span_id) for s in found.turn.spans]
    silent = [reading for reading in readings if reading.silent and not reading.has_content]
    return next((f"switch content on: {switches[r.dialect]}" for r in silent if switches.get(r.dialect)), None)


def reads_of(found: Sequence[Found], seen: Seen) -> dict[str, SpanRead]:
    """What was made of each span that some dialect knows."""
    parts: dict[str, list[tuple[str, str]]] = {}
    for one in found:
        for span_id, what, at in _parts(one):
            parts.setdefault(span_id, []).append((what, at))
    readings = {span.span_id.hex(): seen.of(span.span_id) for span in seen.tree.order}
    return {
        span_id: SpanRead(reading.dialect, reading.role.value, tuple(parts.get(span_id, ())))
        for span_id, reading in readings.items()
        if reading.role is not Role.OTHER or span_id in parts
    }


def _parts(found: Found) -> Iterator[tuple[str, str, str]]:
    for what, read in (("query", found.parts.query), ("response", found.parts.response)):
        if isinstance(read, Read):
            yield read.span.span_id.hex(), what, read.at
    for candidate in found.sorted.kept:
        span_id = candidate.span.span_id.hex()
        if candidate.reason is None:
            yield span_id, _contexts_of(candidate), candidate.listed.at
        if candidate.question is not None:
            yield span_id, f"query of the {candidate.kind.value}", candidate.question.at


def _contexts_of(candidate: Candidate) -> str:
    number = len([d for d in candidate.listed.documents if (d.text or "").strip()])
    return f"{_counted(number, 'context')} of the {candidate.kind.value}"
