"""Haystack's own tracer: one span a component, all of the same name, told apart by the component's class."""

from __future__ import annotations

from dataclasses import replace

from otel_ctxscore.core.conventions.messages import messages_in
from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.values import text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

CLASSES = (
    ("retriever", Role.RETRIEVER),
    ("websearch", Role.RETRIEVER),
    ("ranker", Role.RERANKER),
    ("documentjoiner", Role.RERANKER),
    ("embedder", Role.EMBEDDING),
    ("promptbuilder", Role.PROMPT),
    ("generator", Role.LLM),
    ("agent", Role.AGENT),
)
"""What the names of component classes end in. A tool invoker holds the spans of its tools, or their messages."""


def read(sight: Sight) -> Reading:
    name = sight.span.attributes.get("haystack.component.name") or sight.span.attributes.get("haystack.tool.name")
    role = _role(sight)
    given = sight.node(*(f"haystack.{part}" for part in GIVEN))
    gave = sight.node(*(f"haystack.{part}" for part in GAVE))
    found = reading("haystack", role, given, gave, name=text_of(name) or None, json=True, silent=True)
    if not sight.word("haystack.component.type").endswith("toolinvoker"):
        return found
    calls, results = (
        side.dig(name) if side is not None else None for side, name in ((given, "messages"), (gave, "tool_messages"))
    )
    return replace(found, heard=messages_in(calls), said=messages_in(results))


GIVEN = (
    "pipeline.input_data", "component.input", "agent.input", "tool.input", "tool.arguments", "agent.step.tool.input",
    "agent.step.llm.input",
)  # fmt: skip
GAVE = (
    "pipeline.output_data", "component.output", "agent.output", "tool.output", "tool.result", "agent.step.tool.output",
    "agent.step.llm.output",
)  # fmt: skip
NAMES = {
    "haystack.pipeline.run": Role.CHAIN,
    "haystack.async_pipeline.run": Role.CHAIN,
    "haystack.agent.run": Role.AGENT,
    "haystack.agent.step.llm": Role.LLM,
}
"""Roles of spans that are of no component."""


def _role(sight: Sight) -> Role:
    kind = sight.word("haystack.component.type")
    for ending, role in CLASSES:
        if kind.endswith(ending):
            return role
    if "haystack.tool.name" in sight.span.attributes:
        return Role.TOOL
    return NAMES.get(sight.span.name, Role.OTHER)


READS = (
    "haystack.component.type", "haystack.component.input", "haystack.component.output", "haystack.pipeline.input_data",
    "haystack.pipeline.output_data", "haystack.agent.input", "haystack.agent.output", "haystack.tool.name",
)  # fmt: skip

DIALECT = Dialect(
    name="haystack",
    title="Haystack tracing",
    read=read,
    scopes=("haystack",),
    markers=("haystack.",),
    versions="opentelemetry-haystack 2.0.0 with haystack-ai 3.4.1",
    reads=READS,
    switch="HAYSTACK_CONTENT_TRACING_ENABLED=true",
    off_by_default=True,
    example={
        "haystack.component.type": "InMemoryBM25Retriever",
        "haystack.component.input": '{"query": "How long is the warranty?"}',
        "haystack.component.output": '{"documents": [{"id": "doc-1", "content": "The warranty is 24 months."}]}',
    },
)
