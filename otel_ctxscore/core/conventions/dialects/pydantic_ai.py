"""pydantic-ai and logfire: GenAI attributes, with names of its own for tools and for the whole conversation."""

from __future__ import annotations

from otel_ctxscore.core.conventions.answers import told_in, verbatim
from otel_ctxscore.core.conventions.messages import Message, messages_in
from otel_ctxscore.core.conventions.questions import asked_in, question_in
from otel_ctxscore.core.conventions.values import text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight


def read(sight: Sight) -> Reading:
    role = _role(sight)
    told = messages_in(sight.node("pydantic_ai.all_messages", "all_messages_events"))
    final = sight.node("final_result")
    heard, said = _events(sight)
    is_run = role is Role.AGENT
    return Reading(
        dialect="pydantic_ai",
        role=role,
        name=text_of(sight.span.attributes.get("gen_ai.tool.name")) or None,
        question=question_in(sight.node("tool_arguments")) if role is Role.TOOL else asked_in(told),
        answer=(verbatim(final) or told_in(told)) if is_run else None,
        heard=told or heard,
        said=said,
        result=sight.node("tool_response") if role is Role.TOOL else None,
    )


def _role(sight: Sight) -> Role:
    names = sight.span.attributes
    if "tool_response" in names or "tool_arguments" in names or sight.span.name.startswith("running tool"):
        return Role.TOOL if sight.span.name != "running tools" else Role.OTHER
    if {"final_result", "pydantic_ai.all_messages", "all_messages_events"} & names.keys():
        return Role.AGENT
    return Role.LLM if "events" in names else Role.OTHER


def _events(sight: Sight) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """The first version's one attribute with all messages of a model call: the last choice is its answer."""
    node = sight.node("events")
    if node is None:
        return (), ()
    listed = list(node.opened().each())
    said = [e for e in listed if text_of(getattr(e.dig("event.name"), "value", None)) == "gen_ai.choice"]
    heard = [e for e in listed if e not in said]
    return (
        tuple(message for event in heard for message in messages_in(event)),
        tuple(message for event in said for message in messages_in(event, role="assistant")),
    )


READS = (
    "pydantic_ai.all_messages", "all_messages_events", "events", "final_result", "tool_arguments", "tool_response",
    "gen_ai.tool.name", "gen_ai.conversation.id", "and all of otel_genai",
)  # fmt: skip

DIALECT = Dialect(
    name="pydantic_ai",
    title="pydantic-ai and logfire",
    read=read,
    scopes=("pydantic-ai", "logfire.pydantic_ai"),
    markers=("pydantic_ai.", "all_messages_events", "tool_response", "tool_arguments"),
    versions="pydantic-ai-slim 2.68.0, instrumentation versions 1, 2 and 5",
    reads=READS,
    switch="InstrumentationSettings(include_content=True)",
    example={
        "gen_ai.tool.name": "retrieve",
        "tool_arguments": '{"search_query": "warranty"}',
        "tool_response": '[{"id": "doc-1", "content": "The warranty is 24 months."}]',
    },
)
