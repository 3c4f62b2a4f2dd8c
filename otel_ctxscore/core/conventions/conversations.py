"""Several turns that lie flat side by side, told apart by the conversation that the models were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_ctxscore.core.conventions.questions import asked_in
from otel_ctxscore.core.conventions.reading import Seen
from otel_ctxscore.core.conventions.values import whole
from otel_ctxscore.core.conventions.vocabulary import Question, Role
from otel_ctxscore.core.spans import Span


@dataclass(frozen=True, slots=True)
class Step:
    """One of the parts that lie side by side: its spans, what it asked and what it answered."""

    spans: tuple[Span, ...]
    question: str
    answer: str
    speaks: bool


def parted(steps: Sequence[Step], seen: Seen) -> list[list[Step]]:
    """The steps of each turn, or all in one list where they are not known to be several.

    A new turn begins after an answer, where a later model was given that answer and its question as history. Steps in
    which no model speaks belong to the answer that follows them.
    """
    groups: list[list[Step]] = [[]]
    last: Step | None = None
    for step in steps:
        if step.speaks and last is not None and whole(step.question) != whole(last.question):
            if not _follows(step, last, seen):
                return [list(steps)]
            groups.append(_opening(groups, last))
        groups[-1].append(step)
        last = step if step.speaks else last
    return [group for group in groups if group]


def _opening(groups: list[list[Step]], last: Step) -> list[Step]:
    """The steps since the last answer, taken out of its turn: they open the next."""
    place = next(i for i, step in enumerate(groups[-1]) if step is last) + 1
    opening = groups[-1][place:]
    del groups[-1][place:]
    return opening


def _follows(step: Step, last: Step, seen: Seen) -> bool:
    """Whether the models of `step` were given question and answer of `last` as what was said before."""
    said = {whole(text) for question in _asked(step, seen) for _, text in question.history}
    return bool(last.answer) and {whole(last.question), whole(last.answer)} <= said


def _asked(step: Step, seen: Seen) -> list[Question]:
    readings = [seen.of(span.span_id) for span in step.spans]
    found = [asked_in(reading.heard) for reading in readings if reading.role is Role.LLM]
    return [question for question in found if question is not None]
