"""Langfuse SDK: typed observations, text raw and everything else as JSON."""

from __future__ import annotations

from otel_ctxscore.core.conventions.spans import of_trace, reading
from otel_ctxscore.core.conventions.vocabulary import HOLDERS, Dialect, Reading, Role, Sight

ROLES = {
    "span": Role.CHAIN,
    "chain": Role.CHAIN,
    "agent": Role.AGENT,
    "generation": Role.LLM,
    "retriever": Role.RETRIEVER,
    "tool": Role.TOOL,
    "embedding": Role.EMBEDDING,
    "guardrail": Role.GUARDRAIL,
}


def read(sight: Sight) -> Reading:
    role = ROLES.get(sight.word("langfuse.observation.type"), Role.CHAIN)
    given = sight.node("langfuse.observation.input", "input.value")
    gave = sight.node("langfuse.observation.output", "output.value")
    found = reading("langfuse", role, given, gave, name=sight.span.name, silent=True)
    if role not in HOLDERS:
        return found
    return of_trace(found, sight.node("langfuse.trace.input"), sight.node("langfuse.trace.output"))


READS = (
    "langfuse.observation.type", "langfuse.observation.input", "langfuse.observation.output", "langfuse.trace.input",
    "langfuse.trace.output", "session.id",
)  # fmt: skip

DIALECT = Dialect(
    name="langfuse",
    title="Langfuse SDK",
    read=read,
    scopes=("langfuse",),
    markers=("langfuse.observation.", "langfuse.trace.input", "langfuse.trace.output"),
    versions="langfuse 5.0.4",
    reads=READS,
    switch="observe(capture_input=True, capture_output=True), and no mask function",
    example={
        "langfuse.observation.type": "retriever",
        "langfuse.observation.input": '{"args": ["How long is the warranty?"], "kwargs": {}}',
        "langfuse.observation.output": '[{"id": "doc-1", "content": "The warranty is 24 months.", "score": 0.91}]',
    },
)
