"""Genkit: actions of a type, with one JSON input and one JSON output each."""

from __future__ import annotations

from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.values import text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

ROLES = {
    "flow": Role.CHAIN,
    "agent": Role.AGENT,
    "retriever": Role.RETRIEVER,
    "reranker": Role.RERANKER,
    "model": Role.LLM,
    "background-model": Role.LLM,
    "tool": Role.TOOL,
    "tool.v2": Role.TOOL,
    "embedder": Role.EMBEDDING,
    "evaluator": Role.GUARDRAIL,
}


def read(sight: Sight) -> Reading:
    """A step of a flow that is no action of its own is a chain; what is around an action repeats it."""
    kind = sight.word("genkit:type")
    role = ROLES.get(sight.word("genkit:metadata:subtype") or kind, Role.CHAIN if kind == "flowStep" else Role.OTHER)
    name = text_of(sight.span.attributes.get("genkit:name")) or None
    return reading("genkit", role, sight.node("genkit:input"), sight.node("genkit:output"), name=name, json=True)


DIALECT = Dialect(
    name="genkit",
    title="Genkit",
    read=read,
    scopes=("genkit",),
    markers=("genkit:",),
    versions="by its source",
    reads=("genkit:type", "genkit:metadata:subtype", "genkit:name", "genkit:input", "genkit:output"),
    example={
        "genkit:type": "action",
        "genkit:metadata:subtype": "retriever",
        "genkit:input": '{"query": {"content": [{"text": "How long is the warranty?"}]}}',
        "genkit:output": '{"documents": [{"content": [{"text": "The warranty is 24 months."}], "metadata": {}}]}',
    },
)
