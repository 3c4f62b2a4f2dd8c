"""Where the fields of one retrieved document stand, in all the shapes that stores and frameworks write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.values import number_of, text_of

TEXT_KEYS = (
    "page_content", "pageContent", "content", "text", "document", "chunk", "passage", "snippet", "body",
    "chunk_text", "chunkText", "text_content", "textContent", "raw_content", "contents", "AMAZON_BEDROCK_TEXT_CHUNK",
    "AMAZON_BEDROCK_TEXT",
)  # fmt: skip
PATHS = (
    "node", "kwargs", "metadata", "payload", "properties", "entity", "_source", "segment", "data", "fields", "source",
    "text_resource", "_node_content",
)  # fmt: skip
"""Keys whose value is a map that may hold the text."""
ID_KEYS = (
    "id", "_id", "id_", "doc_id", "docId", "document_id", "documentId", "node_id", "nodeId", "chunk_id", "chunkId",
    "uuid", "pk", "file_id",
)  # fmt: skip
SCORE_KEYS = (
    "score", "_score", "relevance_score", "relevanceScore", "similarity", "similarity_score", "similarityScore",
    "@search.score", "certainty",
)  # fmt: skip
DISTANCE_KEYS = ("distance", "_distance", "vector_distance")
SOURCE_KEYS = ("source", "url", "uri", "doc_uri", "file_name", "filename", "file_path", "path", "title")
STRONG_KEYS = ("page_content", "pageContent")
"""Keys that no other thing than a document has."""
DESCRIBING_KEYS = frozenset({*SCORE_KEYS, *DISTANCE_KEYS, "metadata", "node", "document", "page_content"})
SPOKEN_KEYS = frozenset(
    {"role", "answer", "data", "response", "output", "message", "messages", "result", "question", "query"}
)
ODD_SHAPES = (
    ("name", frozenset({*SCORE_KEYS, *DISTANCE_KEYS})),
    ("Value", frozenset({"Name", "Link"})),
    ("value", frozenset({"name", "link"})),
)
"""What the AI SDK's guides select from a store, and the text search results of Semantic Kernel."""
MAX_NESTING = 4

_PRINTED = re.compile(
    r"<?(?=\w*?(?:Document|Node|Chunk|Point|Record|Passage|Hit|Match))\w++\(\s*+\w++[=:].*\)>?\s*", re.DOTALL
)
"""Looks at each character of a name once: a text that is one long word costs no more than another."""
_PRINTED_ID = re.compile(r"\b(?:id_?|doc_id|node_id)\s*[=:]\s*['\"]?([^,'\")\s]{1,200})")
_PRINTED_SCORE = re.compile(r"\bscore\s*[=:]\s*(-?\d[\d.eE+-]*)\)?>?\s*\Z")


@dataclass(frozen=True, slots=True)
class Document:
    """One document as read. `text` is None where no text field is there, '' where it is empty.

    `distance`: the score is one (smaller is better), so that no lower limit applies to it. `span`: the id of the
    span that the text was read in, where that is another than the list's.
    """

    text: str | None
    at: str
    id: str | None = None
    score: float | None = None
    source: str | None = None
    distance: bool = False
    span: bytes | None = None


def document_of(node: Node) -> Document:
    """The document in a map, or in a bare text."""
    node = node.opened()
    if isinstance(node.value, str) and (printed := _printed(node)) is not None:
        return printed
    if not isinstance(node.value, dict):
        return Document(None if isinstance(node.value, list) else text_of(node.value), node.at)
    found = _text(node, 0)
    score, distance = _score(node)
    return Document(
        text_of(found.value) if found else None,
        found.at if found else node.at,
        _id(node),
        score,
        _source(node),
        distance,
    )


def _printed(node: Node) -> Document | None:
    """What Python prints for a document object: no text to trust, but often its id."""
    text = text_of(node.value)
    if not _PRINTED.fullmatch(text):
        return None
    identity, score = _PRINTED_ID.search(text), _PRINTED_SCORE.search(text)
    return Document(None, node.at, identity[1] if identity else None, number_of(score[1]) if score else None)


def _odd_text(node: Node) -> Node | None:
    """A text of several words under a name that says nothing, in a map with nothing else but what goes with it."""
    for name, beside in ODD_SHAPES:
        entry = node.key(name)
        others = node.value.keys() - {name, *ID_KEYS} if entry is not None and isinstance(node.value, dict) else ()
        if entry is not None and others and others <= beside:
            return entry if isinstance(entry.value, str) and " " in entry.value.strip() else None
    return None


def has_text_field(node: Node) -> bool:
    """Whether a map holds a text where documents hold it."""
    found = _text(node.opened(), 0) if isinstance(node.opened().value, dict) else None
    return found is not None and bool(text_of(found.value).strip())


def is_strong(node: Node) -> bool:
    """Whether a map is a document beyond doubt, whatever it stands in."""
    value = node.opened().value
    if not isinstance(value, dict):
        return False
    inner = value.get("kwargs") if value.get("lc") else value.get("node")
    if isinstance(inner, dict) and (inner.keys() & {*STRONG_KEYS, "text", "text_resource"}):
        return True
    return bool(value.keys() & set(STRONG_KEYS))


def describes_document(node: Node) -> bool:
    """Whether a map is a document rather than a message, a question or an answer: by what only documents have."""
    value = node.value
    if not isinstance(value, dict) or value.keys() & SPOKEN_KEYS:
        return False
    return is_strong(node) or (bool(value.keys() & DESCRIBING_KEYS) and has_text_field(node))


def _text(node: Node, depth: int) -> Node | None:
    """The first text that is not blank; else the first that is there."""
    blank: Node | None = None
    for found in _texts(node, depth):
        if text_of(found.value).strip():
            return found
        blank = blank or found
    return blank or _odd_text(node)


def _texts(node: Node, depth: int) -> Iterator[Node]:
    if depth > MAX_NESTING:
        return
    for name in TEXT_KEYS:
        if (entry := _entry(node, name)) is not None:
            yield from _text_inside(entry, depth)
    for name in PATHS:
        entry = _entry(node, name)
        inner = entry.opened() if entry else None
        if inner is not None and isinstance(inner.value, dict):
            yield from _texts(inner, depth + 1)


def _entry(node: Node, name: str) -> Node | None:
    """The entry of a map, also under the dotted key that flattening leaves (`document.content`)."""
    return node.key(name) or node.key(f"document.{name}")


def _text_inside(entry: Node, depth: int) -> Iterator[Node]:
    if isinstance(entry.value, dict):
        yield from _texts(entry, depth + 1)
    elif isinstance(entry.value, list):
        yield from _part_texts(entry)
    else:
        yield entry


def _part_texts(entry: Node) -> Iterator[Node]:
    """The text of content parts, joined; any other list as its JSON."""
    parts = [part.value for part in entry.each()]
    texts = [text_of(part.get("text")) for part in parts if isinstance(part, dict) and "text" in part]
    yield Node("\n".join(texts), entry.at) if texts and len(texts) == len(parts) else entry


def _inner_maps(node: Node) -> Iterator[Node]:
    """The map and those inside it that describe the same document."""
    yield node
    for name in ("node", "document", "kwargs", "metadata", "meta", "payload", "segment", "properties", "entity"):
        entry = _entry(node, name)
        inner = entry.opened() if entry else None
        if inner is not None and isinstance(inner.value, dict):
            yield inner
            if name in ("node", "document", "kwargs") and (deeper := inner.dig("metadata")) is not None:
                yield deeper.opened()


def _first(node: Node, names: tuple[str, ...]) -> Node | None:
    for inner in _inner_maps(node):
        for name in names:
            entry = _entry(inner, name)
            if entry is not None and isinstance(entry.value, str | int | float) and text_of(entry.value).strip():
                return entry
    return None


def _id(node: Node) -> str | None:
    found = _first(node, ID_KEYS)
    return text_of(found.value) if found and not isinstance(found.value, bool) else None


def _score(node: Node) -> tuple[float | None, bool]:
    for names, distance in ((SCORE_KEYS, False), (DISTANCE_KEYS, True)):
        found = _first(node, names)
        if found is not None and (number := number_of(found.value)) is not None:
            return number, distance
    return None, False


def _source(node: Node) -> str | None:
    found = _first(node, SOURCE_KEYS)
    return text_of(found.value) if found and isinstance(found.value, str) else None
