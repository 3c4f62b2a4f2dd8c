"""Which spans belong to one user turn."""

from __future__ import annotations

from dataclasses import dataclass

from otel_ctxscore.core.conventions.answers import told_in
from otel_ctxscore.core.conventions.conversations import Step, parted
from otel_ctxscore.core.conventions.questions import asked_in
from otel_ctxscore.core.conventions.reading import Seen
from otel_ctxscore.core.conventions.tools import retrieves
from otel_ctxscore.core.conventions.values import whole
from otel_ctxscore.core.conventions.vocabulary import HOLDERS, Reading, Role
from otel_ctxscore.core.spans import Span

RETRIEVING = frozenset({Role.RETRIEVER, Role.RERANKER, Role.VECTOR_DB})
MAX_SPLIT_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Turn:
    """The spans of one turn, parents first. `anchor` is the one that holds it; None where several roots do."""

    anchor: Span | None
    spans: tuple[Span, ...]


def turns_in(seen: Seen, added: tuple[str, ...] = ()) -> tuple[Turn, ...]:
    """The turns of a trace, in order. `added` are declared names of retrieval tools.

    A chain or agent that says what was asked or answered holds one turn with all below it. Where nothing says so
    above two or more parts that each ask, retrieve and answer, each part is a turn; else all of it is one.
    """
    splitter = _Splitter(seen, added)
    roots = seen.tree.roots
    if not any(map(_says, seen.readings.values())):
        return (Turn(roots[0], seen.tree.below(roots[0])) if len(roots) == 1 else Turn(None, seen.tree.order),)
    return splitter.split(roots[0]) if len(roots) == 1 else splitter.join(roots, Turn(None, seen.tree.order))


def holds(reading: Reading) -> bool:
    """Whether a span says what a turn asked or answered."""
    return reading.role in HOLDERS and (reading.question is not None or reading.answer is not None)


def _says(reading: Reading) -> bool:
    """Whether a span can part turns. Most traces of a system have none that can: they are spared the walk."""
    return reading.role is Role.LLM or reading.question is not None or reading.declared is not None


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part of a trace has of a turn."""

    turn: Turn
    question: str
    answer: str
    retrieves: bool
    speaks: bool
    held: bool

    @property
    def words(self) -> tuple[str, str]:
        return whole(self.question), whole(self.answer)


@dataclass(frozen=True, slots=True)
class _Splitter:
    seen: Seen
    added: tuple[str, ...]

    def split(self, top: Span) -> tuple[Turn, ...]:
        """The turns at and below a span. An only child of a span that holds nothing is gone down to."""
        outer = Turn(top, self.seen.tree.below(top))
        while not holds(self.seen.of(top.span_id)):
            below = self.seen.tree.children.get(top.span_id, ())
            if len(below) != 1:
                return self.join(below, outer)
            top = below[0]
        return (Turn(top, outer.spans),)

    def join(self, tops: tuple[Span, ...], together: Turn) -> tuple[Turn, ...]:
        """The turns of parts that stand side by side."""
        parts = [self._part(turn) for top in tops for turn in self._below(top)]
        speaking = any(part.speaks for part in parts)
        complete = [p for p in parts if p.retrieves and p.question and p.answer and (p.speaks or not speaking)]
        distinct = _merged(complete)
        if len(distinct) > 1:
            return distinct
        if len(turns := self._conversation(parts)) > 1:
            return turns
        if not distinct or any(part.held and part.answer for part in parts[parts.index(complete[-1]) + 1 :]):
            return (together,)
        anchor = distinct[0].anchor
        alone = len(parts) == len(complete) or complete[0].held
        return (Turn(anchor, together.spans),) if alone and anchor is not None else (together,)

    def _conversation(self, parts: list[_Part]) -> tuple[Turn, ...]:
        """The turns of a conversation that lies flat below one span, each anchored where it was answered."""
        groups = parted([Step(p.turn.spans, p.question, p.answer, p.speaks) for p in parts], self.seen)
        return tuple(_turn_of(group) for group in groups)

    def _below(self, top: Span) -> tuple[Turn, ...]:
        deep = sum(1 for _ in self.seen.tree.above(top.span_id)) > MAX_SPLIT_DEPTH
        return (Turn(top, self.seen.tree.below(top)),) if deep else self.split(top)

    def _part(self, turn: Turn) -> _Part:
        readings = [self.seen.of(span.span_id) for span in turn.spans]
        models = [r for r in readings if r.role is Role.LLM]
        return _Part(
            turn,
            question=_question(readings),
            answer=_answer(readings, models),
            retrieves=any(self._retrieves(span) for span in turn.spans),
            speaks=bool(models),
            held=turn.anchor is not None and holds(self.seen.of(turn.anchor.span_id)),
        )

    def _retrieves(self, span: Span) -> bool:
        reading = self.seen.of(span.span_id)
        named = retrieves(reading.name, self.added) or retrieves(span.name)
        declared = reading.documents is not None or bool(reading.variables)
        return reading.role in RETRIEVING or declared or (reading.role is Role.TOOL and named)


def _turn_of(steps: list[Step]) -> Turn:
    answering = [step for step in steps if step.speaks] or steps
    return Turn(answering[-1].spans[0], tuple(span for step in steps for span in step.spans))


def _question(readings: list[Reading]) -> str:
    for reading in readings:
        held = reading.declared or (reading.question if reading.role in HOLDERS else None)
        if held is not None:
            return held.text
        if reading.role is Role.LLM and (asked := asked_in(reading.heard)) is not None:
            return asked.text
    return ""


def _answer(readings: list[Reading], models: list[Reading]) -> str:
    held = next((r.answer for r in readings if (r.role in HOLDERS or r.sure) and r.answer is not None), None)
    told = [t for r in models if (t := told_in(r.said)) is not None]
    return held.text if held else told[-1].text if told else ""


def _merged(parts: list[_Part]) -> tuple[Turn, ...]:
    """Parts with the same question and answer are one turn that was recorded twice."""
    by_words: dict[tuple[str, str], Turn] = {}
    for part in parts:
        kept = by_words.get(part.words)
        by_words[part.words] = Turn(kept.anchor, (*kept.spans, *part.turn.spans)) if kept else part.turn
    return tuple(by_words.values())
