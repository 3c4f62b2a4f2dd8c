"""DeepEval and Confident AI: typed spans, contexts as a list of texts."""

from __future__ import annotations

from dataclasses import replace

from otel_ctxscore.core.conventions.document_lists import lists_in
from otel_ctxscore.core.conventions.spans import of_trace, reading
from otel_ctxscore.core.conventions.vocabulary import HOLDERS, Dialect, Reading, Role, Sight

ROLES = {
    "base": Role.CHAIN,
    "custom": Role.CHAIN,
    "agent": Role.AGENT,
    "llm": Role.LLM,
    "tool": Role.TOOL,
    "retriever": Role.RETRIEVER,
}
P = "confident."


def read(sight: Sight) -> Reading:
    """A span with contexts retrieves, whatever type it has."""
    contexts = sight.node(f"{P}span.retrieval_context", f"{P}trace.retrieval_context")
    role = ROLES.get(sight.word(f"{P}span.type"), Role.CHAIN)
    given, gave = sight.node(f"{P}span.input"), sight.node(f"{P}span.output")
    found = reading("deepeval", role, given, gave, name=sight.span.name)
    if role in HOLDERS:
        found = of_trace(found, sight.node(f"{P}trace.input"), sight.node(f"{P}trace.output"))
    return found if contexts is None else replace(found, documents=lists_in(contexts))


DIALECT = Dialect(
    name="deepeval",
    title="DeepEval and Confident AI",
    read=read,
    scopes=("deepeval", "confident"),
    markers=("confident.span.", "confident.trace."),
    versions="by the source of DeepEval",
    reads=(
        "confident.span.type", "confident.span.input", "confident.span.output", "confident.span.retrieval_context",
        "confident.trace.input", "confident.trace.output", "confident.trace.retrieval_context",
        "confident.trace.thread_id",
    ),
    example={
        "confident.span.type": "retriever",
        "confident.span.input": "How long is the warranty?",
        "confident.span.retrieval_context": '["The warranty is 24 months."]',
    },
)  # fmt: skip
