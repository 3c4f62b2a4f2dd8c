"""Prompt flow and Azure AI: typed spans, all content in events with a JSON payload."""

from __future__ import annotations

from dataclasses import replace

from otel_ctxscore.core.conventions.document_lists import lists_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

ROLES = {
    "flow": Role.CHAIN,
    "function": Role.CHAIN,
    "chain": Role.CHAIN,
    "prompty": Role.CHAIN,
    "agent": Role.AGENT,
    "llm": Role.LLM,
    "langchain": Role.CHAIN,
    "tool": Role.TOOL,
    "retrieval": Role.RETRIEVER,
    "embedding": Role.EMBEDDING,
}
P = "promptflow."


def read(sight: Sight) -> Reading:
    role = ROLES.get(sight.word("span_type"), Role.OTHER)
    given, gave = _payload(sight, "function.inputs"), _payload(sight, "function.output")
    found = reading("promptflow", role, given, gave, name=sight.span.name)
    if role is not Role.RETRIEVER:
        return found
    listed = _payload(sight, "retrieval.documents")
    asked = question_in(_payload(sight, "retrieval.query")) or found.question
    return replace(found, question=asked, documents=lists_in(listed) if listed is not None else found.documents)


def _payload(sight: Sight, event: str) -> Node | None:
    return next((node for one in sight.named(f"{P}{event}") if (node := one.node("payload")) is not None), None)


DIALECT = Dialect(
    name="promptflow",
    title="Prompt flow",
    read=read,
    scopes=("promptflow",),
    markers=("promptflow.",),
    versions="by the source of promptflow-tracing",
    reads=(
        "span_type", "event promptflow.function.inputs: payload", "event promptflow.function.output: payload",
        "event promptflow.retrieval.query: payload", "event promptflow.retrieval.documents: payload",
    ),
    example={
        "span_type": "Retrieval",
        "event": "promptflow.retrieval.documents",
        "payload": '[{"document.id": "doc-1", "document.content": "The warranty is 24 months."}]',
    },
)  # fmt: skip
