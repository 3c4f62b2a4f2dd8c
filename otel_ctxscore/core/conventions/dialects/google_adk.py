"""Google's Agent Development Kit: its own JSON attributes beside GenAI ones."""

from __future__ import annotations

from otel_ctxscore.core.conventions.messages import messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.values import text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

P = "gcp.vertex.agent."


def read(sight: Sight) -> Reading:
    if f"{P}tool_response" in sight.span.attributes or sight.word("gen_ai.operation.name") == "execute_tool":
        name = text_of(sight.span.attributes.get("gen_ai.tool.name")) or None
        given, gave = sight.filled(f"{P}tool_call_args"), sight.filled(f"{P}tool_response")
        return reading("google_adk", Role.TOOL, given, _returned(gave), name=name)
    request, response = sight.filled(f"{P}llm_request"), sight.filled(f"{P}llm_response")
    if request is None and response is None:
        return Reading(dialect="google_adk")
    return reading("google_adk", Role.LLM, request, response)


def _returned(gave: Node | None) -> Node | None:
    """What the tool returned; first versions wrote the whole event with the model's function response in it."""
    content = gave.dig("content") if gave is not None else None
    results = [result for message in messages_in(content) for result in message.results]
    return results[-1].value if results else gave


READS = (
    "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response", "gcp.vertex.agent.tool_call_args",
    "gcp.vertex.agent.tool_response", "gen_ai.tool.name", "gen_ai.conversation.id", "and all of otel_genai",
)  # fmt: skip

DIALECT = Dialect(
    name="google_adk",
    title="Google Agent Development Kit",
    read=read,
    scopes=("gcp.vertex.agent",),
    markers=("gcp.vertex.agent.",),
    versions="google-adk 1.22.1 and 2.13.0",
    reads=READS,
    switch="OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT "
    "(older: ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true)",
    off_by_default=True,
    example={
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search_kb",
        "gcp.vertex.agent.tool_response": '{"result": [{"id": "doc-1", "text": "The warranty is 24 months."}]}',
    },
)
