"""Strands Agents and Bedrock AgentCore: GenAI in span events, tool results in Bedrock's own notation."""

from __future__ import annotations

from otel_ctxscore.core.conventions.answers import answer_in, told_in
from otel_ctxscore.core.conventions.messages import messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import asked_in, question_in
from otel_ctxscore.core.conventions.vocabulary import Dialect, Occurrence, Reading, Role, Sight


def read(sight: Sight) -> Reading:
    operation = sight.word("gen_ai.operation.name")
    heard, said = _logged(sight, "input"), _logged(sight, "output")
    if operation == "execute_tool":
        return Reading(dialect="strands", question=question_in(_content(heard)), result=_content(said))
    told = Reading(dialect="strands", heard=messages_in(heard), said=messages_in(said, role="assistant"))
    if operation != "invoke_agent":
        return told
    found = [node for event in sight.named("gen_ai.choice") if (node := event.node("message")) is not None]
    answer = answer_in(found[-1]) if found else told_in(told.said)
    return Reading(role=Role.AGENT, question=asked_in(told.heard), answer=answer).filled(told)


def _logged(sight: Sight, side: str) -> Node | None:
    """The messages of one side in a log record that AWS's distribution makes of a span's events."""
    logs = (occurrence for occurrence in sight.occurrences if occurrence.source == "log")
    return next((messages for log in logs if (messages := _messages(log, side)) is not None), None)


def _messages(log: Occurrence, side: str) -> Node | None:
    entry = log.node(side)
    return entry.dig("messages") if entry is not None else None


def _content(messages: Node | None) -> Node | None:
    """What the last of the messages of a tool call holds."""
    listed = list(messages.opened().each()) if messages is not None else []
    inner = listed[-1].dig("content") if listed else None
    return inner and (inner.dig("message") or inner.dig("content") or inner)


READS = (
    "event gen_ai.user.message: content", "event gen_ai.choice: message", "event gen_ai.tool.message: content",
    "gen_ai.tool.name", "session.id", "log bodies with input.messages and output.messages", "and all of otel_genai",
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
