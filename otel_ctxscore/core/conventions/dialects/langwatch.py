"""LangWatch: typed spans, each value in JSON with the name of its type, contexts beside them."""

from __future__ import annotations

from dataclasses import replace

from otel_ctxscore.core.conventions.document_lists import lists_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

ROLES = {
    "span": Role.CHAIN,
    "chain": Role.CHAIN,
    "workflow": Role.CHAIN,
    "component": Role.CHAIN,
    "module": Role.CHAIN,
    "server": Role.CHAIN,
    "task": Role.CHAIN,
    "agent": Role.AGENT,
    "llm": Role.LLM,
    "tool": Role.TOOL,
    "rag": Role.RETRIEVER,
    "guardrail": Role.GUARDRAIL,
    "evaluation": Role.GUARDRAIL,
}
CONTEXTS = ("langwatch.rag.contexts", "langwatch.rag_contexts", "langwatch.contexts")


def read(sight: Sight) -> Reading:
    """A span with contexts retrieves, whatever type it has."""
    contexts = _value(sight.node(*CONTEXTS))
    role = ROLES.get(sight.word("langwatch.span.type"), Role.OTHER)
    found = reading(
        "langwatch", role, _value(sight.node("langwatch.input")), _value(sight.node("langwatch.output")),
        name=sight.span.name,
    )  # fmt: skip
    return found if contexts is None else replace(found, documents=lists_in(contexts))


def _value(node: Node | None) -> Node | None:
    """What stands in the envelope `{"type": ..., "value": ...}`."""
    opened = node.opened() if node is not None else None
    typed = opened is not None and isinstance(opened.value, dict) and opened.value.keys() == {"type", "value"}
    return opened.key("value") if opened is not None and typed else node


DIALECT = Dialect(
    name="langwatch",
    title="LangWatch",
    read=read,
    scopes=("langwatch",),
    markers=("langwatch.span.", "langwatch.input", "langwatch.output", *CONTEXTS),
    versions="by its source",
    reads=("langwatch.span.type", "langwatch.input", "langwatch.output", *CONTEXTS, "langwatch.thread.id"),
    example={
        "langwatch.span.type": "rag",
        "langwatch.input": '{"type": "text", "value": "How long is the warranty?"}',
        "langwatch.rag.contexts": '[{"document_id": "doc-1", "content": "The warranty is 24 months."}]',
    },
)
