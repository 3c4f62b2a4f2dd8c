"""Azure AI Agents: messages of a thread in events of the operations on it, and traced functions."""

from __future__ import annotations

from otel_ctxscore.core.conventions.answers import told_in
from otel_ctxscore.core.conventions.dialects.otel_genai import turns_of
from otel_ctxscore.core.conventions.messages import Message, messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import asked_in
from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.tools import retrieves
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight
from otel_ctxscore.core.spans import Value

ROLES = {
    "create_message": Role.CHAIN,
    "process_thread_run": Role.LLM,
    "submit_tool_outputs": Role.LLM,
    "list_messages": Role.CHAIN,
}
PARAMETER = "code.function.parameter."
RETURNED = "code.function.return.value"
STEPS = "gen_ai.run_step.tool_calls"


def read(sight: Sight) -> Reading:
    """A message that is added to a thread asks; a run of the thread hears and says; a list of messages has both."""
    operation = sight.word("gen_ai.operation.name")
    role = ROLES.get(operation, Role.OTHER)
    if role is Role.OTHER:
        return _function(sight) if RETURNED in sight.span.attributes and not operation else Reading()
    told = (*turns_of(sight), *_steps(sight))
    if role is Role.LLM:
        last = told[-1:] if told and told[-1].role == "assistant" and not told[-1].pending else ()
        return Reading(dialect="azure_ai", role=role, heard=told[: len(told) - len(last)], said=last)
    answers = [message for message in told if message.role == "assistant"]
    answer = told_in(answers) if len(answers) == 1 else None
    return Reading(dialect="azure_ai", role=role, question=asked_in(told), answer=answer)


def _steps(sight: Sight) -> tuple[Message, ...]:
    """Calls of tools that the service runs itself, with what they found."""
    found = (event.node("gen_ai.event.content") for event in sight.named(STEPS))
    return tuple(message for node in found for message in messages_in(node, role="assistant"))


def _function(sight: Sight) -> Reading:
    """A function of the application under `trace_function`: a tool where it retrieves by its name, else a step."""
    attributes = sight.span.attributes
    given: Value = {k.removeprefix(PARAMETER): v for k, v in attributes.items() if k.startswith(PARAMETER)}
    role = Role.TOOL if retrieves(sight.span.name) else Role.CHAIN
    asked = Node(given, PARAMETER) if given else None
    return reading("azure_ai", role, asked, sight.node(RETURNED), name=sight.span.name)


READS = (
    "gen_ai.operation.name", "events gen_ai.user.message, gen_ai.assistant.message, gen_ai.tool.message and "
    "gen_ai.run_step.tool_calls: gen_ai.event.content", "code.function.parameter.*", "code.function.return.value",
    "and all of otel_genai",
)  # fmt: skip

DIALECT = Dialect(
    name="azure_ai",
    title="Azure AI Agents",
    read=read,
    markers=("gen_ai.thread.", STEPS, PARAMETER, RETURNED),
    versions="by the source of azure-ai-agents and azure-ai-projects",
    reads=READS,
    switch="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true "
    "(older: AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED=true)",
    off_by_default=True,
    example={
        "gen_ai.operation.name": "process_thread_run",
        "event": "gen_ai.run_step.tool_calls",
        "gen_ai.event.content": '{"tool_calls": [{"id": "1", "type": "file_search", "file_search": '
        '{"results": [{"content": [{"type": "text", "text": "The warranty is 24 months."}]}]}}]}',
    },
)
