"""What a dialect says about a span: its role, and the parts of a turn that it holds, each with where it was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from operator import attrgetter

from otel_ctxscore.core.conventions.document_lists import Documents
from otel_ctxscore.core.conventions.messages import Message
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.spans import Attributes, Span


class Role(StrEnum):
    """What a span does in a turn."""

    AGENT = "agent"
    CHAIN = "chain"
    LLM = "llm"
    RETRIEVER = "retriever"
    RERANKER = "reranker"
    TOOL = "tool"
    VECTOR_DB = "vector_db"
    EMBEDDING = "embedding"
    PROMPT = "prompt"
    GUARDRAIL = "guardrail"
    OTHER = ""


HOLDERS = frozenset({Role.AGENT, Role.CHAIN})
"""Roles of spans that can hold a whole turn."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text and where in its span it was read."""

    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Question:
    """What a span was asked, and the turns of the conversation before it, oldest first."""

    text: str
    at: str
    history: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in one span. An empty reading says nothing.

    `question`, `answer`: what a holder, retriever or tool was asked and gave. `documents`: what a retriever,
    reranker or database returned; None where nothing says, () never: an empty result is one empty list.
    `candidates`: what a reranker was given. `passed`: documents that another step was given or handed on.
    `result`: what a tool returned. `variables`: texts that a prompt template was filled with.
    `silent`: the dialect writes content only where that is switched on, and this span has none.
    `sure`: read by the user's own mapping, which knows better than any dialect; `declared`: the user's question that
    the mapping names on this span.
    """

    dialect: str = ""
    role: Role = Role.OTHER
    name: str | None = None
    question: Question | None = None
    answer: Text | None = None
    heard: tuple[Message, ...] = ()
    said: tuple[Message, ...] = ()
    documents: tuple[Documents, ...] | None = None
    candidates: tuple[Documents, ...] | None = None
    passed: tuple[Documents, ...] | None = None
    result: Node | None = None
    variables: tuple[Text, ...] = ()
    session: str | None = None
    failed: bool = False
    redacted: bool = False
    silent: bool = False
    sure: bool = False
    declared: Question | None = None

    def filled(self, other: Reading) -> Reading:
        """This reading, with what it leaves open taken from `other`."""
        return Reading(
            *(theirs if _is_open(ours) else ours for ours, theirs in zip(_all(self), _all(other), strict=True))
        )

    @property
    def has_content(self) -> bool:
        parts = (self.question, self.answer, self.documents, self.result, self.passed)
        return any(part is not None for part in parts) or bool(self.heard or self.said or self.variables)


_all = attrgetter(*(f.name for f in fields(Reading)))
"""All parts of a reading, in the order in which one is made."""


def _is_open(value: object) -> bool:
    return value is None or value is False or value in ("", ())


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A span event or log record: its attributes (a map in the body of a log included) and how they are named."""

    name: str
    attributes: Attributes
    source: str = "event"

    def node(self, *names: str) -> Node | None:
        """The first of the attributes that is there."""
        for name in names:
            value = self.attributes.get(name)
            if value is not None:
                return Node(value, f"{self.source}:{self.name}/{name}")
        return None


@dataclass(frozen=True, slots=True)
class Sight:
    """A span as dialects see it: with its events and the log records that bear its id."""

    span: Span
    occurrences: tuple[Occurrence, ...] = ()

    def node(self, *names: str) -> Node | None:
        """The first of the attributes that is there; on the span, else in a log or event of its details."""
        for name in names:
            value = self.span.attributes.get(name)
            if value is not None:
                return Node(value, name)
        return None

    def filled(self, *names: str) -> Node | None:
        """As `node`, but not the empty map or text that some write where content is off."""
        node = self.node(*names)
        return node if node is not None and node.opened().value not in ({}, "", "<not serializable>") else None

    def word(self, *names: str) -> str:
        """A short attribute in lower case, unquoted; '' where there is none."""
        node = self.node(*names)
        value = node.opened().value if node else None
        return value.strip().lower() if isinstance(value, str) else ""

    def named(self, *names: str) -> tuple[Occurrence, ...]:
        return tuple(occurrence for occurrence in self.occurrences if occurrence.name in names)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of writing turns on spans. `name` is its module and the `convention` of what it reads.

    `scopes`: beginnings of instrumentation scope names. `markers`: beginnings of attribute keys or event names.
    `switch`: what turns content on where it is off, '' where nothing can turn it off. `off_by_default`: it is off
    unless switched on. `example`: attributes of one span, for the docs.
    """

    name: str
    title: str
    read: Callable[[Sight], Reading]
    scopes: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()
    versions: str = ""
    reads: tuple[str, ...] = ()
    switch: str = ""
    off_by_default: bool = False
    example: Mapping[str, str] = field(default_factory=dict)
