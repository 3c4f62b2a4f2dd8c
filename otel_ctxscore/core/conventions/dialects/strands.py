"""Strands Agents and Bedrock AgentCore: GenAI in span events, tool results in Bedrock's own notation."""

from __future__ import annotations

from otel_ctxscore.core.conventions.answers import answer_in
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight


def read(sight: Sight) -> Reading:
    operation = sight.word("gen_ai.operation.name")
    if operation != "invoke_agent":
        return Reading(dialect="strands")
    found = [node for event in sight.named("gen_ai.choice") if (node := event.node("message")) is not None]
    return Reading(dialect="strands", role=Role.AGENT, answer=answer_in(found[-1]) if found else None)


READS = (
    "event gen_ai.user.message: content", "event gen_ai.choice: message", "event gen_ai.tool.message: content",
    "gen_ai.tool.name", "session.id", "and all of otel_genai",
)  # fmt: skip

DIALECT = Dialect(
    name="strands",
    title="Strands Agents and Bedrock AgentCore",
    read=read,
    scopes=("strands",),
    versions="strands-agents 1.62.0, default and gen_ai_latest_experimental",
    reads=READS,
    example={
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search_kb",
        "event": "gen_ai.choice",
        "message": '[{"text": "[{\\"id\\": \\"doc-1\\", \\"text\\": \\"The warranty is 24 months.\\"}]"}]',
    },
)
