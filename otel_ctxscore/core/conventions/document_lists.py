"""Ranked lists of documents in the values that retrievers, rerankers and tools return."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from otel_ctxscore.core.conventions.document_fields import Document, document_of, has_text_field, is_strong
from otel_ctxscore.core.conventions.flattened import Row, has_gap, rows
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.values import is_blank, says_nothing_found, stands_for_documents, text_of, whole
from otel_ctxscore.core.conventions.wrappers import CONTAINERS, containers, is_part, unwrap
from otel_ctxscore.core.spans import Attributes, Value

COLUMN_KEYS = {"ids": "id", "distances": "distance", "scores": "score", "metadatas": "metadata"}
MAX_NESTING = 8
_IDENTITY = re.compile(r"(?=[^ ]*\d)(?=[^ ]*[-_:/#]|[0-9a-f]{8})[\w.:/#-]{3,128}", re.ASCII)
"""Such as `doc-12`, `a/b#3` or a hash; a bare number or word may be a text."""


@dataclass(frozen=True, slots=True)
class Documents:
    """One list in the order of rank. `incomplete`: part of it was dropped or cut. `joined`: one text, which may
    be several documents in a row."""

    documents: tuple[Document, ...]
    at: str
    incomplete: bool = False
    joined: bool = False

    @property
    def has_text(self) -> bool:
        return any(d.text is not None and d.text.strip() for d in self.documents)

    @property
    def texts(self) -> frozenset[str]:
        return frozenset(whole(d.text) for d in self.documents if d.text and d.text.strip())

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(d.id for d in self.documents if d.id)


def flattened(attributes: Attributes, prefix: str, *, dropped: int = 0) -> Documents | None:
    """The list under `PREFIX.INDEX.document.KEY`; None where there is none. `dropped` attributes of the span may
    have been any."""
    listed = rows(attributes, prefix)
    if not listed:
        return None
    documents = tuple(_from_row(row) for row in listed)
    return Documents(documents, prefix, incomplete=bool(dropped) or has_gap(listed))


def _from_row(row: Row) -> Document:
    values = {name.removeprefix("document."): value for name, value in row.values.items()}
    found = document_of(Node(dict(values), row.at))
    name = next((name for name in row.values if name.removeprefix("document.") == "content"), None)
    if name is None:
        return replace(found, at=row.at)
    return replace(found, text=text_of(row.values[name]), at=f"{row.at}.{name}")


def lists_in(node: Node) -> tuple[Documents, ...] | None:
    """The lists that a retriever's value holds: usually one, one for each query of a batch.

    None where the value holds no list in a known shape. A value that says "nothing" is one empty list, one that
    is broken JSON one empty list that is incomplete.
    """
    if node.broken:
        return (Documents((), node.at, incomplete=True),)
    opened = node.opened()
    if opened.value is None or (isinstance(opened.value, str) and is_blank(opened.value)):
        return (Documents((), node.at),)
    return _lists(opened, 0)


def shaped_lists_in(node: Node) -> tuple[Documents, ...] | None:
    """The lists in a value of which nothing says that it is a retrieval: only what has the shape of one counts,
    a list of objects with a text key, bare or in one of the usual containers."""
    unwrapped = unwrap(node)
    if isinstance(unwrapped.value, list):
        return _if_all(unwrapped, has_text_field)
    for container in containers(unwrapped):
        if (found := _if_all(container, has_text_field)) is not None:
            return _enriched(found, unwrapped)
    return None


def passed_lists_in(node: Node, depth: int = 0) -> tuple[Documents, ...] | None:
    """Lists of what can only be documents, anywhere in what a step was given or handed on."""
    opened = node.opened()
    if depth > MAX_NESTING or not isinstance(opened.value, dict | list):
        return None
    if isinstance(opened.value, list) and (found := _if_all(opened, is_strong)) is not None:
        return found
    inner = opened.each() if isinstance(opened.value, list) else (entry for _, entry in opened.entries())
    return _first(passed_lists_in, inner, depth + 1)


def _first(
    look: Callable[[Node, int], tuple[Documents, ...] | None], nodes: Iterable[Node], depth: int
) -> tuple[Documents, ...] | None:
    for node in nodes:
        if (found := look(node, depth)) is not None:
            return found
    return None


def _if_all(node: Node, test: Callable[[Node], bool]) -> tuple[Documents, ...] | None:
    """The list, where it has elements and all are maps that pass the test."""
    elements = [element.opened() for element in node.opened().each()]
    if not elements or not all(isinstance(e.value, dict) and test(e) for e in elements):
        return None
    return (Documents(tuple(map(document_of, elements)), node.at),)


def _lists(node: Node, depth: int) -> tuple[Documents, ...] | None:
    if depth > MAX_NESTING:
        return None
    unwrapped = unwrap(node)
    if isinstance(unwrapped.value, list):
        return _of_list(unwrapped, depth)
    if not isinstance(unwrapped.value, dict):
        return _of_text(unwrapped)
    return (
        _of_columns(unwrapped)
        or _of_containers(unwrapped, depth)
        or _of_map(unwrapped)
        or _of_joined(unwrapped)
        or _of_only_list(unwrapped)
    )


def _of_text(node: Node) -> tuple[Documents, ...] | None:
    """One text: one document, or several joined."""
    if not isinstance(node.value, str):
        return None
    if is_blank(node.value) or says_nothing_found(node.value):
        return (Documents((), node.at),)
    if node.broken:
        return (Documents((), node.at, incomplete=True),)
    if stands_for_documents(node.value):
        return (Documents((Document(None, node.at),), node.at),)
    return (Documents((Document(node.value, node.at),), node.at, joined="\n\n" in node.value.strip()),)


def _of_list(node: Node, depth: int) -> tuple[Documents, ...] | None:
    elements = [_element(element) for element in node.each()]
    if elements and all(isinstance(e.value, list) and not _is_scored(e) for e in elements):
        inner = [_lists(element, depth + 1) for element in elements]
        return tuple(one for found in inner if found for one in found) or None
    if elements and all(map(_is_identity, elements)):
        return (Documents(tuple(map(_identity, elements)), node.at),)
    cut = any(element.broken for element in elements)
    return (Documents(tuple(map(_document, elements)), node.at, incomplete=cut),)


def _named(node: Node) -> Value:
    """What an element is told by: itself, or the first of a pair with a score."""
    return node.value[0] if isinstance(node.value, list) and _is_scored(node) else node.value


def _is_identity(node: Node) -> bool:
    """Whether an element of a bare list is an id: one word of what ids are made of, with a digit in it."""
    named = _named(node)
    return isinstance(named, str) and bool(_IDENTITY.fullmatch(named))


def _identity(node: Node) -> Document:
    score = _number(node.value[1]) if isinstance(node.value, list) else None
    return Document(None, node.at, id=text_of(_named(node)), score=score)


def _element(node: Node) -> Node:
    """An element with its string opened only where that holds a structure: a quoted text stays as it is."""
    opened = node.opened()
    if isinstance(opened.value, dict) and is_part(opened.value):
        inner = opened.key("text")
        opened = inner.opened() if inner and isinstance(inner.opened().value, dict) else opened
    return opened if isinstance(opened.value, dict | list) else node


def _is_scored(node: Node) -> bool:
    """A pair of document and score."""
    value = node.value
    return isinstance(value, list) and len(value) == 2 and not isinstance(value[0], list) and _is_number(value[1])


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _document(node: Node) -> Document:
    if _is_scored(node):
        pair = list(node.each())
        found = document_of(pair[0])
        return replace(found, score=found.score if found.score is not None else _number(pair[1].value))
    return document_of(node)


def _number(value: Value) -> float | None:
    return document_of(Node({"score": value}, "")).score


def _of_columns(node: Node) -> tuple[Documents, ...] | None:
    """Parallel columns, as Chroma returns them: `{documents: [[...]], ids: [[...]], distances: [[...]]}`."""
    texts = node.key("documents") or node.key("texts")
    if texts is None or not isinstance(node.value, dict) or not isinstance(node.value.get("ids"), list):
        return None
    table = list(texts.opened().each())
    if not table or not all(isinstance(cell.value, str | None) for cell in table):
        batches = [_batch(node, place, cells) for place, cells in enumerate(table) if isinstance(cells.value, list)]
        return tuple(batches) or None
    return (_columns(texts.at, table, {name: node.key(name) for name in COLUMN_KEYS}),)


def _batch(node: Node, place: int, cells: Node) -> Documents:
    columns = {name: _nth(node.key(name), place) for name in COLUMN_KEYS}
    return _columns(cells.at, list(cells.each()), columns)


def _nth(node: Node | None, place: int) -> Node | None:
    listed = list(node.each()) if node else []
    return listed[place] if place < len(listed) else None


def _columns(at: str, cells: list[Node], columns: dict[str, Node | None]) -> Documents:
    def described(place: int, cell: Node) -> Document:
        entries = {COLUMN_KEYS[name]: _nth(column, place) for name, column in columns.items()}
        values: dict[str, Value] = {name: entry.value for name, entry in entries.items() if entry is not None}
        return replace(
            document_of(Node(values, at)), text=text_of(cell.value) if cell.value is not None else None, at=cell.at
        )

    return Documents(tuple(described(place, cell) for place, cell in enumerate(cells)), at)


def _of_containers(node: Node, depth: int) -> tuple[Documents, ...] | None:
    """The first container that holds texts, else the first that is there; described by the others."""
    found = [lists for container in containers(node) if (lists := _of_list(container, depth)) is not None]
    best = next((lists for lists in found if any(one.has_text for one in lists)), None)
    if best is not None:
        return _enriched(best, node)
    return found[0] if found else None


def _of_map(node: Node) -> tuple[Documents, ...] | None:
    """A map that is itself one document."""
    return (Documents((document_of(node),), node.at),) if has_text_field(node) else None


def _of_joined(node: Node) -> tuple[Documents, ...] | None:
    """One text where other maps hold their list."""
    texts = (entry for name in CONTAINERS if (entry := node.key(name)) is not None and isinstance(entry.value, str))
    return next((_of_text(entry) for entry in texts if isinstance(entry.opened().value, str)), None)


def _of_only_list(node: Node) -> tuple[Documents, ...] | None:
    """The one list of documents that a map holds, under whatever name."""
    found = [lists for _, entry in node.entries() if (lists := _if_all(entry, has_text_field)) is not None]
    return found[0] if len(found) == 1 else None


def holds_text(node: Node, depth: int = 0) -> bool:
    """Whether words of somebody stand anywhere in a value: one word alone is a state or a name."""
    opened = node.opened()
    if isinstance(opened.value, str):
        return " " in opened.value.strip()
    inner = opened.each() if isinstance(opened.value, list) else (entry for _, entry in opened.entries())
    return depth < MAX_NESTING and any(holds_text(one, depth + 1) for one in inner)


def _enriched(lists: tuple[Documents, ...], node: Node) -> tuple[Documents, ...]:
    others = [d for c in containers(node) for d in map(document_of, c.each()) if d.text and (d.id or d.score)]
    return tuple(described_by(one, others) for one in lists)


def described_by(listed: Documents, others: Iterable[Document]) -> Documents:
    """`listed` with ids and scores that it lacks taken from documents of the same text: those at the same rank where
    all texts agree, else the first of that text."""
    given = list(others)
    known = {whole(d.text): d for d in reversed(given) if d.text}
    texts = [whole(d.text or "") for d in listed.documents]
    agree = texts == [whole(d.text or "") for d in given]
    twins = given if agree else [known.get(text) for text in texts]
    return replace(listed, documents=tuple(map(_described, listed.documents, twins)))


def _described(document: Document, twin: Document | None) -> Document:
    if twin is None or document.id is not None:
        return document
    score = document.score if document.score is not None else twin.score
    return replace(document, id=twin.id, score=score, source=document.source or twin.source)
