"""Which tools retrieve, and what they returned."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from otel_ctxscore.core.conventions.document_lists import Documents, lists_in, shaped_lists_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.wrappers import is_part, unwrap

RETRIEVAL_WORDS = frozenset({
    "search", "searches", "lookup", "kb", "knowledge", "doc", "docs", "document", "documents", "vector", "vectors",
    "rag", "query", "find", "knowledgebase", "searching", "websearch", "semanticsearch",
})  # fmt: skip
WRITING_WORDS = frozenset({
    "create", "add", "write", "update", "upsert", "insert", "delete", "remove", "save", "store", "index", "ingest",
    "upload", "edit", "send", "move", "rename", "publish", "append", "clear", "drop",
})  # fmt: skip
RANKING_WORDS = frozenset({"rerank", "reranker", "reranking", "postprocess", "postprocessor", "joiner", "fusion"})
FAULT_KEYS = frozenset({"error", "message", "code", "status", "type", "details", "success", "ok", "results", "isError"})
"""What stands beside `error` in a result that is nothing else."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(name: str) -> list[str]:
    """The words of a name in any notation: `searchKB_docs` is search, kb, docs."""
    return [word.lower() for word in _WORDS.findall(name)]


def retrieves(name: str | None, added: Iterable[str] = ()) -> bool:
    """Whether a tool retrieves by its name. `added` are names that the user declared."""
    if not name:
        return False
    if name in added:
        return True
    words = words_of(name)
    found = any(word in RETRIEVAL_WORDS or word.startswith("retriev") for word in words)
    return found and not (set(words) & WRITING_WORDS)


def reranks(name: str | None) -> bool:
    """Whether a step puts documents in their last order by its name."""
    return name is not None and not RANKING_WORDS.isdisjoint(words_of(name))


def failed(result: Node | None) -> bool:
    """Whether a result says that the call failed."""
    value = result.opened().value if result else None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return False
    inner = value.get("toolResult")
    marked = inner if isinstance(inner, dict) else value
    if marked.get("error") and marked.keys() <= FAULT_KEYS:
        return True
    return marked.get("isError") is True or marked.get("is_error") is True or marked.get("status") == "error"


def returned(result: Node, *, named: bool) -> tuple[Documents, ...] | None:
    """The documents in a tool's result, None where it holds none.

    `named`: the tool's name says that it retrieves; then plain text is a document too, and content parts are one
    each. A map that has neither documents nor text is a list without text of a tool that is named so.
    """
    if (found := shaped_lists_in(result)) is not None:
        return found
    if not named:
        return None
    found = _parts(result) or lists_in(result)
    return found or (replace_empty(result),)


def replace_empty(result: Node) -> Documents:
    """One document without text: something was returned, but no text in it is known."""
    from otel_ctxscore.core.conventions.document_fields import document_of

    return Documents((replace(document_of(result), text=None),), result.at)


def _parts(result: Node) -> tuple[Documents, ...] | None:
    """Several text parts, each a document of its own."""
    node = unwrap(result)
    parts = [element.opened() for element in node.each()]
    if len(parts) < 2 or not all(isinstance(part.value, dict) and is_part(part.value) for part in parts):
        return None
    return lists_in(node)
