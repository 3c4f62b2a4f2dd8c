"""LangSmith's own OpenTelemetry export: one JSON string of inputs and one of outputs on each span."""

from __future__ import annotations

from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

ROLES = {
    "chain": Role.CHAIN,
    "llm": Role.LLM,
    "retriever": Role.RETRIEVER,
    "tool": Role.TOOL,
    "prompt": Role.PROMPT,
    "embedding": Role.EMBEDDING,
    "agent": Role.AGENT,
    "parser": Role.OTHER,
}


def read(sight: Sight) -> Reading:
    role = ROLES.get(sight.word("langsmith.span.kind"), Role.OTHER)
    given = sight.filled("gen_ai.prompt", "langsmith.inputs", "gen_ai.input.messages")
    gave = sight.filled("gen_ai.completion", "langsmith.outputs", "gen_ai.output.messages")
    return reading("langsmith", role, given, gave, name=sight.span.name, silent=True)


DIALECT = Dialect(
    name="langsmith",
    title="LangSmith OpenTelemetry export",
    read=read,
    scopes=("langsmith",),
    markers=("langsmith.",),
    versions="langsmith 0.15.1",
    reads=("langsmith.span.kind", "gen_ai.prompt", "gen_ai.completion", "langsmith.metadata.thread_id"),
    switch="LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS must not be true",
    example={
        "langsmith.span.kind": "retriever",
        "gen_ai.prompt": '{"query": "How long is the warranty?"}',
        "gen_ai.completion": '{"documents": [{"id": "doc-1", "page_content": "The warranty is 24 months."}]}',
    },
)
