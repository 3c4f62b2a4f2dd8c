"""What a model's provider retrieved itself and sent along with the answer."""

from __future__ import annotations

from collections.abc import Iterator

from otel_ctxscore.core.conventions.document_fields import Document, document_of
from otel_ctxscore.core.conventions.document_lists import Documents
from otel_ctxscore.core.conventions.nested import Node

PLACES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("message", "context", "citations"), ""),
    (("context", "citations"), ""),
    (("groundingMetadata", "groundingChunks"), "retrievedContext"),
    (("grounding_metadata", "grounding_chunks"), "retrieved_context"),
)
"""Where lists of passages stand, and under which key of each element: Azure OpenAI on your data, Gemini's grounding.

Citations alone are none of these: what an answer does not cite was retrieved too, and is not there.
"""
CHOICES = ("choices", "candidates")


def grounded_in(node: Node | None) -> tuple[Documents, ...] | None:
    """The passages in a model's response, None where it has none with a text. Those of the web have an address only."""
    for holder in _holders(node):
        for path, inside in PLACES:
            listed = holder.dig(*path)
            found = tuple(_passages(listed, inside)) if listed is not None else ()
            if found and listed is not None:
                return (Documents(found, listed.at),)
    return None


def _holders(node: Node | None) -> Iterator[Node]:
    opened = node.opened() if node is not None else None
    if opened is None or not isinstance(opened.value, dict):
        return
    yield opened
    for name in CHOICES:
        alternatives = opened.key(name)
        listed = list(alternatives.opened().each()) if alternatives is not None else []
        yield from listed[:1]


def _passages(listed: Node, inside: str) -> Iterator[Document]:
    for element in listed.opened().each():
        passage = element.dig(inside) if inside else element.opened()
        document = document_of(passage) if passage is not None and isinstance(passage.opened().value, dict) else None
        if document is not None and document.text and document.text.strip():
            yield document
