"""LiveKit Agents: turns of a voice conversation, the model's context and the functions that it called."""

from __future__ import annotations

from otel_ctxscore.core.conventions.answers import answer_in
from otel_ctxscore.core.conventions.messages import messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.values import text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight


def read(sight: Sight) -> Reading:
    tool = text_of(sight.span.attributes.get("lk.function_tool.name"))
    if tool:
        asked = question_in(_content(sight, "function_tool.arguments"))
        gave = _content(sight, "function_tool.output")
        wrong = sight.span.attributes.get("lk.function_tool.is_error") is True
        return Reading(dialect="livekit", role=Role.TOOL, name=tool, question=asked, result=gave, failed=wrong)
    context, said = _content(sight, "chat_ctx"), _content(sight, "response.text")
    if context is not None:
        heard = messages_in(context.dig("items") or context)
        return Reading(dialect="livekit", role=Role.LLM, heard=heard, said=messages_in(said, role="assistant"))
    asked = question_in(_content(sight, "user_input") or _content(sight, "user_transcript"))
    if asked is None and said is None:
        return Reading(dialect="livekit")
    return Reading(dialect="livekit", role=Role.AGENT, question=asked, answer=answer_in(said))


def _content(sight: Sight, name: str) -> Node | None:
    """An attribute with content: under a name of its own since version 1.7."""
    return sight.node(f"lk.pii.{name}", f"lk.{name}")


READS = (
    "lk.user_input", "lk.user_transcript", "lk.response.text", "lk.chat_ctx", "lk.function_tool.name",
    "lk.function_tool.arguments", "lk.function_tool.output", "the same under lk.pii.",
)  # fmt: skip

DIALECT = Dialect(
    name="livekit",
    title="LiveKit Agents",
    read=read,
    scopes=("livekit",),
    markers=("lk.",),
    versions="livekit-agents 1.0 to 1.7 (by its attribute names)",
    reads=READS,
    example={
        "lk.function_tool.name": "search_docs",
        "lk.function_tool.arguments": '{"query": "warranty"}',
        "lk.function_tool.output": '[{"id": "doc-1", "text": "The warranty is 24 months."}]',
    },
)
