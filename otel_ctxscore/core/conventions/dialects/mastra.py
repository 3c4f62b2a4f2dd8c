"""Mastra's exporter: GenAI attributes for models and tools, `mastra.TYPE.input` and `.output` for the rest."""

from __future__ import annotations

from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.vocabulary import HOLDERS, Dialect, Reading, Role, Sight

ROLES = {
    "agent_run": Role.AGENT,
    "workflow_run": Role.CHAIN,
    "workflow_step": Role.CHAIN,
    "model_generation": Role.LLM,
    "model_inference": Role.LLM,
    "llm_generation": Role.LLM,
    "tool_call": Role.TOOL,
    "mcp_tool_call": Role.TOOL,
    "provider_tool_call": Role.TOOL,
    "rag_embedding": Role.EMBEDDING,
    "rag_vector_operation": Role.VECTOR_DB,
    "rag_action": Role.OTHER,
    "generic": Role.CHAIN,
}


def read(sight: Sight) -> Reading:
    kind = sight.word("mastra.span.type", "mastra.span_type")
    role = ROLES.get(kind, Role.OTHER)
    given = sight.node(f"mastra.{kind}.input", "gen_ai.tool.input", "gen_ai.tool.call.arguments")
    gave = sight.node(f"mastra.{kind}.output", "gen_ai.tool.output", "gen_ai.tool.call.result")
    if role is Role.LLM:
        given, gave = given or sight.node("gen_ai.prompt"), gave or sight.node("gen_ai.completion")
    name = sight.span.name if role in HOLDERS else None
    return reading("mastra", role, given, gave, name=name)


READS = (
    "mastra.span.type", "mastra.agent_run.input", "mastra.agent_run.output", "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result", "gen_ai.output.messages", "mastra.metadata.threadId",
)  # fmt: skip

DIALECT = Dialect(
    name="mastra",
    title="Mastra",
    read=read,
    scopes=("@mastra/",),
    markers=("mastra.",),
    versions="@mastra/otel-exporter 1.4.0 with @mastra/core 1.71.0; attributes of 0.3",
    reads=READS,
    example={
        "mastra.span.type": "tool_call",
        "gen_ai.tool.name": "vectorQueryTool",
        "gen_ai.tool.call.arguments": '{"queryText": "warranty", "topK": 3}',
        "gen_ai.tool.call.result": '{"relevantContext": [{"text": "The warranty is 24 months."}]}',
    },
)
