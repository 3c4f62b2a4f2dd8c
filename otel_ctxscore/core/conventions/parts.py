"""The query, response and history of one turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from otel_ctxscore.core.conventions.answers import told_in
from otel_ctxscore.core.conventions.contexts import Candidate
from otel_ctxscore.core.conventions.fallbacks import is_made_of
from otel_ctxscore.core.conventions.questions import asked_in, holds_contexts, question_in_prompt
from otel_ctxscore.core.conventions.reading import Seen
from otel_ctxscore.core.conventions.signs import section_of
from otel_ctxscore.core.conventions.tools import words_of
from otel_ctxscore.core.conventions.turns import Turn, holds
from otel_ctxscore.core.conventions.values import whole
from otel_ctxscore.core.conventions.vocabulary import Question, Reading, Role
from otel_ctxscore.core.model import Kind
from otel_ctxscore.core.spans import Span

INNER = frozenset({Role.RERANKER, Role.RETRIEVER, Role.TOOL, Role.GUARDRAIL, Role.EMBEDDING, Role.VECTOR_DB})
"""Roles of spans below which a model says nothing to the user."""
SIDE_WORDS = frozenset({
    "judge", "judging", "grade", "grader", "grading", "evaluate", "evaluator", "evaluation", "rerank", "reranker",
    "guard", "guardrail", "guardrails", "moderation", "moderate", "classifier", "classify", "rewrite", "rewriter",
    "condense", "router", "routing", "hyde", "title", "summarizer",
})  # fmt: skip
"""Words in the names of steps whose model answers to the system and not to the user."""
ASKING = (Kind.RERANKER, Kind.RETRIEVER, Kind.VECTOR_DB)


@dataclass(frozen=True, slots=True)
class Read:
    """A text with the span and place it was read in."""

    text: str
    span: Span
    at: str
    dialect: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    query: Read | None
    response: Read | None
    history: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Chooser:
    turn: Turn
    seen: Seen
    retrievals: Sequence[Candidate]

    @property
    def contexts(self) -> list[str]:
        return [d.text for c in self.retrievals for d in c.listed.documents if d.text]

    def reading(self, span: Span) -> Reading:
        return self.seen.of(span.span_id)

    def speakers(self) -> list[Span]:
        """The models of the turn that may speak to the user, in order; the answering one is the last."""
        models = [s for s in self.turn.spans if self.reading(s).role is Role.LLM]
        found = [s for s in models if not self._is_aside(s)] or [
            s for s in models if not self._is_aside(s, frozenset())
        ]
        told = [(s, told_in(self.reading(s).said)) for s in found]
        asked = self._asked()
        return [s for s, text in told if text is None or whole(text.text) not in asked]

    def _asked(self) -> set[str]:
        return {whole(c.question.text) for c in self.retrievals if c.question is not None}

    def _is_rewritten(self) -> bool:
        """Whether a model of the turn gave the words that were searched for."""
        told = (told_in(self.reading(span).said) for span in self.turn.spans)
        return not self._asked().isdisjoint({whole(text.text) for text in told if text is not None})

    def _is_aside(self, span: Span, words: frozenset[str] = SIDE_WORDS) -> bool:
        """Whether a span stands in a step that serves the system, by its role or by `words` in its name."""
        tree, anchor = self.seen.tree, self.turn.anchor
        by_id = {s.span_id: s for s in self.turn.spans}
        for span_id in (span.span_id, *tree.above(span.span_id)):
            step = by_id.get(span_id)
            if step is None or step is anchor:
                return False
            if self.seen.of(span_id).role in INNER or words & set(words_of(step.name)):
                return True
        return False

    # ---- the query

    def questions(self) -> Iterator[tuple[Span, Question]]:
        """What was asked, the best place first. A prompt that holds the contexts as well is no question."""
        later: list[tuple[Span, Question]] = []
        for span, question in (*self._declared(), *self._held(), *self._heard()):
            if self._is_stuffed(question):
                later.append((span, question))
            else:
                yield span, question
        prompted = self._in_prompts(later)
        if later and self._is_rewritten():
            yield from prompted
        yield from self._retrieved(ASKING)
        yield from prompted
        yield from self._retrieved((Kind.TOOL,))

    def _in_prompts(self, asked: Sequence[tuple[Span, Question]]) -> Iterator[tuple[Span, Question]]:
        """The questions in prompts that hold the contexts as well."""
        for span, question in asked:
            if (text := question_in_prompt(question.text, self.contexts)) is not None:
                yield span, Question(text, question.at, question.history)

    def _declared(self) -> Iterator[tuple[Span, Question]]:
        for span in self.turn.spans:
            if (question := self.reading(span).declared) is not None:
                yield span, question

    def _held(self) -> Iterator[tuple[Span, Question]]:
        for span in self._holders():
            question = self.reading(span).question
            if question is not None:
                yield span, question

    def _holders(self) -> list[Span]:
        """The anchor, then whatever else holds a turn or a part of one."""
        anchor = self.turn.anchor
        first = [anchor] if anchor is not None and holds(self.reading(anchor)) else []
        rest = [s for s in self.turn.spans if s is not anchor and holds(self.reading(s)) and not self._is_aside(s)]
        return [*first, *rest]

    def _heard(self) -> Iterator[tuple[Span, Question]]:
        for span in reversed(self.speakers()):
            reading = self.reading(span)
            if reading.question is not None:
                yield span, reading.question
            if (asked := asked_in(reading.heard)) is not None:
                yield span, asked

    def _retrieved(self, kinds: Sequence[Kind]) -> Iterator[tuple[Span, Question]]:
        for candidate in self.retrievals:
            if candidate.kind in kinds and candidate.question is not None:
                yield candidate.span, candidate.question

    def _is_stuffed(self, question: Question) -> bool:
        return holds_contexts(question.text, self.contexts) or section_of(question.text) is not None

    # ---- the response

    def response(self) -> Read | None:
        told = next((r for r in self._declared_answers()), None) or self._anchored() or self._spoken()
        return told or self._handed_on() or self._generated()

    def _declared_answers(self) -> Iterator[Read]:
        for span in self.turn.spans:
            reading = self.reading(span)
            if reading.sure and reading.answer is not None:
                yield Read(reading.answer.text, span, reading.answer.at, reading.dialect)

    def _anchored(self) -> Read | None:
        anchor = self.turn.anchor
        return self._answer_of(anchor) if anchor is not None and holds(self.reading(anchor)) else None

    def _answer_of(self, span: Span) -> Read | None:
        reading = self.reading(span)
        return Read(reading.answer.text, span, reading.answer.at, reading.dialect) if reading.answer else None

    def _spoken(self) -> Read | None:
        for span in reversed(self.speakers()):
            reading = self.reading(span)
            if (told := told_in(reading.said)) is not None:
                return Read(told.text, span, told.at, reading.dialect)
        return None

    def _generated(self) -> Read | None:
        """The answer of a retriever that generates one too."""
        told = (self._answer_of(candidate.span) for candidate in reversed(self.retrievals))
        return next((read for read in told if read is not None), None)

    def _handed_on(self) -> Read | None:
        for span in reversed([s for s in self._holders() if s is not self.turn.anchor]):
            if (told := self._answer_of(span)) is not None and not is_made_of(told.text, self.contexts):
                return told
        return None


def parts_of(turn: Turn, seen: Seen, retrievals: Sequence[Candidate]) -> Parts:
    chooser = _Chooser(turn, seen, retrievals)
    found = next(chooser.questions(), None)
    query = Read(found[1].text, found[0], found[1].at, seen.of(found[0].span_id).dialect) if found else None
    return Parts(query, chooser.response(), _history(chooser, found[1]) if found else ())


def _history(chooser: _Chooser, question: Question) -> tuple[tuple[str, str], ...]:
    """What was said before: by the place of the question, else by the conversation that the model was given."""
    if question.history:
        return question.history
    for span in reversed(chooser.speakers()):
        asked = asked_in(chooser.reading(span).heard)
        if asked is not None and asked.history:
            return asked.history
    return ()
