"""A convention declared in the configuration, for spans that no dialect knows."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from dataclasses import dataclass

from otel_ctxscore.core.conventions.answers import verbatim
from otel_ctxscore.core.conventions.document_fields import Document, document_of
from otel_ctxscore.core.conventions.document_lists import Documents, lists_in
from otel_ctxscore.core.conventions.flattened import Row, has_gap, rows
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.selectors import (
    ANY,
    Path,
    Selector,
    declared_attributes,
    declared_known,
    declared_map,
    declared_optional,
    declared_path,
    declared_pattern,
    declared_selector,
    declared_text,
    searched,
)
from otel_ctxscore.core.conventions.values import number_of, text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Question, Reading, Role, Sight, Text
from otel_ctxscore.core.spans import Attributes, Span, Trace


@dataclass(frozen=True, slots=True)
class Part:
    """A text of the run: on which spans, and where there."""

    span: Selector
    path: Path


@dataclass(frozen=True, slots=True)
class RetrievalPart:
    """The documents of a retrieval. `text`, `id` and `score` are keys or JMESPath inside one document; without
    `text` the shapes are tried that dialects know."""

    span: Selector
    documents: Path
    text: str | None = None
    id: str | None = None
    score: str | None = None
    query: Path | None = None


@dataclass(frozen=True, slots=True)
class Mapping:
    """A declared convention. It applies to a trace in which some span matches `when` (any, where `when` is empty)."""

    name: str
    retrieval: RetrievalPart
    when: Selector = ANY
    query: Part | None = None
    response: Part | None = None

    @classmethod
    def from_dict(cls, declared: MappingOf[str, object]) -> Mapping:
        """The mapping that a configuration declares. Raises ValueError with one line that names the field."""
        return _mapping(declared)

    def applies(self, trace: Trace) -> bool:
        return any(self.when.matches(span) for span in trace.spans)

    def dialect(self) -> Dialect:
        """The mapping as a dialect that is tried on every span."""
        return Dialect(self.name, self.name, self.read)

    def selects(self, span: Span) -> bool:
        parts = (self.retrieval, self.query, self.response)
        return any(part is not None and part.span.matches(span) for part in parts)

    def read(self, sight: Sight) -> Reading:
        """What the mapping says of a span; nothing of one that it does not select."""
        span = sight.span
        if not self.selects(span):
            return Reading()
        found = _documents(self.retrieval, span.attributes) if self.retrieval.span.matches(span) else None
        question = _asked(self.query.path, span) if self.query and self.query.span.matches(span) else None
        answer = _told(self.response.path, span) if self.response and self.response.span.matches(span) else None
        own = _asked(self.retrieval.query, span) if found is not None and self.retrieval.query else None
        return Reading(
            dialect=self.name,
            role=Role.CHAIN if found is None else Role.RETRIEVER,
            question=own or question,
            answer=answer,
            documents=found,
            declared=question,
            sure=True,
        )


def _asked(path: Path, span: Span) -> Question | None:
    node = path.node(span.attributes)
    return question_in(node) if node is not None else None


def _told(path: Path, span: Span) -> Text | None:
    return verbatim(path.node(span.attributes))


def _documents(part: RetrievalPart, attributes: Attributes) -> tuple[Documents, ...]:
    """The list that the mapping names; an empty one where it is not there."""
    if part.documents.listed:
        listed = rows(attributes, part.documents.key)
        found = tuple(_from_row(row, part) for row in listed)
        return (Documents(found, part.documents.key, incomplete=has_gap(listed)),)
    node = part.documents.node(attributes)
    if node is None:
        return (Documents((), part.documents.key),)
    if part.text is None:
        return lists_in(node) or (Documents((), node.at),)
    if node.broken:
        return (Documents((), node.at, incomplete=True),)
    opened = node.opened()
    elements = list(opened.each()) if isinstance(opened.value, list) else [opened]
    return (Documents(tuple(_from_node(element, part) for element in elements), opened.at),)


def _from_row(row: Row, part: RetrievalPart) -> Document:
    if part.text is None:
        return document_of(Node(dict(row.values), f"{row.at}."))
    return _described(Node(dict(row.values), f"{row.at}."), part)


def _from_node(node: Node, part: RetrievalPart) -> Document:
    return _described(node.opened(), part)


def _described(node: Node, part: RetrievalPart) -> Document:
    text, identity, score = (_field(node, name) for name in (part.text, part.id, part.score))
    return Document(
        text=text_of(text.value) if text is not None else None,
        at=text.at if text is not None else node.at,
        id=text_of(identity.value) if identity is not None else None,
        score=number_of(score.value) if score is not None else None,
    )


def _field(node: Node, name: str | None) -> Node | None:
    """The entry of that very name, else what JMESPath finds."""
    return None if name is None else node.key(name) or searched(node, name)


def _mapping(declared: MappingOf[str, object]) -> Mapping:
    declared_known(declared, "mapping", ("name", "when", "query", "retrieval", "response"))
    name = declared_text(declared.get("name"), "name")
    where = f"mapping {name!r}"
    return Mapping(
        name,
        _retrieval(declared_map(declared.get("retrieval"), f"{where}: retrieval"), f"{where}: retrieval"),
        _when(declared.get("when"), f"{where}: when"),
        _part(declared.get("query"), f"{where}: query"),
        _part(declared.get("response"), f"{where}: response"),
    )


def _when(declared: object, where: str) -> Selector:
    if declared is None:
        return ANY
    given = declared_map(declared, where)
    declared_known(given, where, ("scope", "attribute"))
    attribute = given.get("attribute")
    attributes = (
        ((attribute, None),) if isinstance(attribute, str) else declared_attributes(attribute, f"{where}.attribute")
    )
    return Selector(scope=declared_pattern(given.get("scope"), f"{where}.scope"), attributes=attributes)


def _part(declared: object, where: str) -> Part | None:
    if declared is None:
        return None
    given = declared_map(declared, where)
    declared_known(given, where, ("span", "path"))
    return Part(
        declared_selector(given.get("span"), f"{where}.span"), declared_path(given.get("path"), f"{where}.path")
    )


def _retrieval(given: MappingOf[str, object], where: str) -> RetrievalPart:
    declared_known(given, where, ("span", "query", "documents", "text", "id", "score"))
    asked = given.get("query")
    text, identity, score = (declared_optional(given.get(name), f"{where}.{name}") for name in ("text", "id", "score"))
    return RetrievalPart(
        declared_selector(given.get("span"), f"{where}.span"),
        declared_path(given.get("documents"), f"{where}.documents", listed=True),
        text,
        identity,
        score,
        None if asked is None else declared_path(asked, f"{where}.query"),
    )
