"""VoltAgent: typed spans with one input and one output each."""

from __future__ import annotations

from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.values import text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

ROLES = {
    "agent": Role.AGENT,
    "workflow": Role.CHAIN,
    "workflow-step": Role.CHAIN,
    "llm": Role.LLM,
    "tool": Role.TOOL,
    "retriever": Role.RETRIEVER,
    "vector": Role.VECTOR_DB,
    "embedding": Role.EMBEDDING,
    "guardrail": Role.GUARDRAIL,
}


def read(sight: Sight) -> Reading:
    role = ROLES.get(sight.word("span.type"), Role.OTHER)
    if role is Role.OTHER:
        return Reading()
    given, gave = sight.node("input", "tool.arguments", "llm.messages"), sight.node("output", "tool.result")
    name = text_of(sight.span.attributes.get("tool.name")) or sight.span.name
    return reading("voltagent", role, given, gave, name=name)


DIALECT = Dialect(
    name="voltagent",
    title="VoltAgent",
    read=read,
    scopes=("@voltagent/", "voltagent"),
    markers=("span.type", "voltagent."),
    versions="by its source",
    reads=("span.type", "input", "output", "tool.name", "tool.arguments", "tool.result", "llm.messages"),
    example={
        "span.type": "retriever",
        "input": "How long is the warranty?",
        "output": '[{"content": "The warranty is 24 months.", "metadata": {}}]',
    },
)
