"""What stands around the documents of a result: message dumps, content parts, wrappers and containers."""

from __future__ import annotations

from otel_ctxscore.core.conventions.document_fields import has_text_field
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.spans import Value

CONTAINERS = (
    "documents", "relevantContext", "results", "matches", "sources", "hits", "source_documents", "sourceDocuments",
    "source_nodes", "nodes", "contexts", "context", "retrieved_documents", "retrieved_contexts", "retrievalResults",
    "retrieval_results", "chunks", "passages", "records", "points", "objects", "docs", "retrievedReferences",
    "retrieved_chunks", "search_results", "searchResults", "memories",
)  # fmt: skip
WRAPPERS = (
    "structuredContent", "structured_content", "output", "outputs", "result", "response", "data", "kwargs",
    "content", "messages", "update", "value", "body", "return", "toolResult", "return_value", "artifact", "answers",
)  # fmt: skip
"""Keys around a result that say nothing of it."""
PART_KEYS = frozenset({"type", "text", "annotations", "_meta", "meta", "citations", "cache_control", "id"})
MAX_NESTING = 8


def unwrap(node: Node) -> Node:
    """The value inside message dumps, content parts and result wrappers."""
    for _ in range(MAX_NESTING):
        opened = node.opened()
        inner = _one_part(opened) or _wrapped(opened)
        if inner is None:
            return opened
        node = inner
    return node.opened()


def _one_part(node: Node) -> Node | None:
    """The text of the only content part, or the only message, of a list."""
    if not isinstance(node.value, list) or len(node.value) != 1:
        return None
    only = node.index(0).opened()
    if not isinstance(only.value, dict):
        return None
    if is_part(only.value):
        return only.key("text")
    return only if "toolResult" in only.value or _is_message(only.value) else None


def is_part(value: dict[str, Value]) -> bool:
    """A content part as MCP and model APIs write it: a text and nothing that describes a document.

    A map with nothing but a text and an id is a document: parts of these have a type.
    """
    if "text" not in value or not value.keys() <= PART_KEYS:
        return False
    return value.get("type") in ("text", "output_text", None) and ("type" in value or len(value) == 1)


def _is_message(value: dict[str, Value]) -> bool:
    return bool(value.get("lc")) or "tool_call_id" in value or (value.get("type") == "tool" and "data" in value)


def _wrapped(node: Node) -> Node | None:
    """What the one wrapper of a map holds. A map that has a container or is a document itself is no wrapper."""
    if not isinstance(node.value, dict) or any(_is_container(entry) for _, entry in _container_entries(node)):
        return None
    if _is_message(node.value):
        return node.dig("kwargs", "content") or node.dig("data", "content") or node.key("content")
    names = [name for name in WRAPPERS if name in node.value]
    described = has_text_field(node) and "isError" not in node.value and not _is_structure(node.key("content"))
    if not names or (described and names == ["content"]):
        return None
    inner = node.key(names[0])
    return inner if inner and isinstance(inner.opened().value, dict | list | str) else None


def _is_structure(node: Node | None) -> bool:
    return node is not None and isinstance(node.opened().value, dict | list)


def _container_entries(node: Node) -> list[tuple[str, Node]]:
    return [(name, entry) for name in CONTAINERS if (entry := node.key(name)) is not None]


def _is_container(node: Node) -> bool:
    return isinstance(node.opened().value, list)


def containers(node: Node) -> list[Node]:
    """The lists that a map holds under a usual name, also one level further down (`hits.hits`)."""
    found: list[Node] = []
    for _, entry in _container_entries(node):
        opened = entry.opened()
        found += [opened] if isinstance(opened.value, list) else []
        found += [e.opened() for _, e in _container_entries(opened) if _is_container(e)]
    return found
