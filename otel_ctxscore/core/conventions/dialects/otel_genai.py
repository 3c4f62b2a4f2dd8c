"""The OpenTelemetry GenAI conventions, every released shape since 1.28: attributes, span events, log events."""

from __future__ import annotations

import re
from itertools import chain

from otel_ctxscore.core.conventions.answers import answer_in, told_in
from otel_ctxscore.core.conventions.document_lists import Documents, lists_in
from otel_ctxscore.core.conventions.message_parts import Said
from otel_ctxscore.core.conventions.messages import Message, messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import asked_in, question_in
from otel_ctxscore.core.conventions.signs import is_context_name
from otel_ctxscore.core.conventions.spans import conversation_in, spoken_in
from otel_ctxscore.core.conventions.transcripts import prompt_in
from otel_ctxscore.core.conventions.values import is_said, number_of, text_of
from otel_ctxscore.core.conventions.vocabulary import HOLDERS, Dialect, Occurrence, Question, Reading, Role, Sight, Text
from otel_ctxscore.core.spans import Value

SWITCH = (
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT (EVENT_ONLY loses the documents)"
)
ROLES = {
    "retrieval": Role.RETRIEVER, "search_memory": Role.RETRIEVER, "vector_db_retrieve": Role.RETRIEVER,
    "retriever": Role.RETRIEVER, "framework_retriever": Role.RETRIEVER, "retrieve": Role.RETRIEVER,
    "rerank": Role.RERANKER, "reranker": Role.RERANKER, "reranking": Role.RERANKER,
    "execute_tool": Role.TOOL, "tool": Role.TOOL, "chat": Role.LLM, "text_completion": Role.LLM,
    "generate_content": Role.LLM, "generatetext": Role.LLM, "completion": Role.LLM, "streamtext": Role.LLM,
    "embeddings": Role.EMBEDDING, "embedding": Role.EMBEDDING, "invoke_agent": Role.AGENT, "create_agent": Role.OTHER,
    "invoke_workflow": Role.CHAIN, "chain": Role.CHAIN, "workflow": Role.CHAIN, "agent": Role.AGENT,
    "guard": Role.GUARDRAIL, "guardrail.run": Role.GUARDRAIL,
    "chat.completions": Role.LLM, "chat.streaming_completions": Role.LLM, "text.completions": Role.LLM,
    "text.streaming_completions": Role.LLM, "generate": Role.LLM,
}  # fmt: skip
DETAILS = "gen_ai.client.inference.operation.details"
TURNS = ("gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message")
CHOICE = "gen_ai.choice"
WHOLE = ("gen_ai.event.content", "body")
"""Where an event says what it has no attribute for: Azure's JSON of all of it, and the body of a log."""
PROMPTS = "gen_ai.content.prompt"
COMPLETIONS = "gen_ai.content.completion"
VARIABLE = "gen_ai.prompt.variable."
RESULTS = (
    "gen_ai.tool.call.result", "gen_ai.tool.output", "gen_ai.tool.call.output", "gen_ai.tool.result",
    "code.function.return.value",
)  # fmt: skip
PARAMETER = re.compile(r"code\.function\.parameters\.([^.]+)\.value")
"""Arguments of a Python function that is a tool, as the instrumentation of google-genai writes them."""


def read(sight: Sight) -> Reading:
    role, said = _role(sight), _said(sight)
    reading = Reading(
        dialect="otel_genai",
        role=role,
        name=_named(sight),
        heard=_heard(sight),
        said=_first_choice(said) if role is Role.LLM else said,
        documents=_documents(sight),
        result=_result(sight, role),
        variables=_variables(sight),
        failed=sight.word("gen_ai.tool.status") == "error",
    )
    return _completed(reading, sight)


def _completed(reading: Reading, sight: Sight) -> Reading:
    question, answer = _asked(reading, sight), _answered(reading, sight)
    silent = reading.role in _SPEAKING and not (question or answer)
    return Reading(silent=silent, question=question, answer=answer).filled(reading)


_SPEAKING = frozenset({Role.RETRIEVER, Role.TOOL, Role.LLM, Role.AGENT, Role.CHAIN, Role.RERANKER})


def _role(sight: Sight) -> Role:
    """By the operation; where none is named or known, by what else is there."""
    operation = first(sight, "gen_ai.operation.name")
    named = operation.opened().value if operation is not None else None
    if isinstance(named, str) and (role := ROLES.get(named.strip().lower())) is not None:
        return role
    if _is_model(sight) or (named is None and sight.named(DETAILS, CHOICE, *TURNS)):
        return Role.LLM
    return Role.TOOL if sight.node("gen_ai.tool.call.result", "gen_ai.tool.name") is not None else Role.OTHER


def _is_model(sight: Sight) -> bool:
    return (
        sight.node("gen_ai.request.model") is not None
        and sight.node("gen_ai.response.model", "gen_ai.input.messages") is not None
    )


def _named(sight: Sight) -> str | None:
    node = sight.node("gen_ai.tool.name", "gen_ai.data_source.id", "gen_ai.agent.name", "gen_ai.workflow.name")
    return text_of(node.value) if node else None


def first(sight: Sight, *names: str) -> Node | None:
    """The first of the keys that is there: on the span, else in an event or log with the details of an operation."""
    if (node := sight.node(*names)) is not None:
        return node
    for details in _details(sight):
        if (node := details.node(*names)) is not None:
            return node
    return None


def _details(sight: Sight) -> tuple[Occurrence, ...]:
    return tuple(o for o in sight.occurrences if o.name.startswith("gen_ai.client.") and o.name.endswith(".details"))


def _heard(sight: Sight) -> tuple[Message, ...]:
    system = messages_in(first(sight, "gen_ai.system_instructions"), role="system")
    heard = messages_in(first(sight, "gen_ai.input.messages"))
    if heard:
        return (*system, *heard)
    return (*system, *(turns_of(sight) or _prompt_events(sight) or _prompted(sight.node("gen_ai.prompt"))))


def _prompted(node: Node | None) -> tuple[Message, ...]:
    return conversation_in(node) if node is not None and isinstance(node.opened().value, dict) else prompt_in(node)


def turns_of(sight: Sight) -> tuple[Message, ...]:
    """The messages in events of a name each, as the conventions had them up to 1.36."""
    found = (_from_event(event) for event in sight.named(*TURNS))
    return tuple(chain.from_iterable(found))


def _from_event(event: Occurrence) -> tuple[Message, ...]:
    """One message of the conventions up to 1.36: the role is in the name, the content in attributes or body."""
    role = event.name.removeprefix("gen_ai.").removesuffix(".message")
    content = event.node("content", *WHOLE)
    if role == "tool":
        return _tool_event(event, content)
    told = messages_in(content, role=role)
    return tuple(
        Message(role if m.role == "user" and not m.results else m.role, m.texts, m.calls, m.results) for m in told
    )


def _tool_event(event: Occurrence, content: Node | None) -> tuple[Message, ...]:
    told = messages_in(content, role="tool") if content is not None else ()
    if any(message.results for message in told) or content is None:
        return told
    identity = event.node("id", "tool_call_id")
    whole: dict[str, object] = {
        "role": "tool",
        "content": content.value,
        "tool_call_id": text_of(identity.value) if identity else "",
    }
    return messages_in(Node(whole, content.at)) if content.value else ()  # type: ignore[arg-type]


def _prompt_events(sight: Sight) -> tuple[Message, ...]:
    found = (prompt_in(event.node("gen_ai.prompt", "content")) for event in sight.named(PROMPTS))
    return tuple(chain.from_iterable(found))


def _said(sight: Sight) -> tuple[Message, ...]:
    told = messages_in(first(sight, "gen_ai.output.messages"), role="assistant")
    return told or _choices(sight) or _completion_events(sight) or spoken_in(sight.node("gen_ai.completion"))


def _choices(sight: Sight) -> tuple[Message, ...]:
    """The answers in events: one event a choice, or several pieces of one that was streamed."""
    pieces: dict[str, list[Message]] = {}
    for place, event in enumerate(sight.named(CHOICE)):
        number = event.node("index")
        of = text_of(number.value) if number is not None else f"event {place}"
        pieces.setdefault(of, []).extend(messages_in(event.node("message", "content", *WHOLE), role="assistant"))
    return tuple(chain.from_iterable(map(_joined, pieces.values())))


def _joined(pieces: list[Message]) -> list[Message]:
    """The texts of one choice that came in pieces, as one message."""
    if len(pieces) < 2 or any(piece.calls or piece.results or len(piece.texts) != 1 for piece in pieces):
        return pieces
    return [Message("assistant", (Said("".join(piece.text for piece in pieces), pieces[-1].at),))]


def _first_choice(said: tuple[Message, ...]) -> tuple[Message, ...]:
    """Of several answers of a model the one that a caller takes; what ends in calls of tools is no choice."""
    choices = len(said) > 1 and all(m.role == "assistant" and m.texts and not m.calls and not m.results for m in said)
    return said[:1] if choices else said


def _completion_events(sight: Sight) -> tuple[Message, ...]:
    found = (
        messages_in(event.node("gen_ai.completion", "content"), role="assistant") for event in sight.named(COMPLETIONS)
    )
    return tuple(chain.from_iterable(found))


def _documents(sight: Sight) -> tuple[Documents, ...] | None:
    node = first(sight, "gen_ai.retrieval.documents", "gen_ai.memory.records", "gen_ai.rerank.output_documents",
                 "gen_ai.rerank.output.documents")  # fmt: skip
    found = lists_in(node) if node is not None else None
    stated = number_of(sight.span.attributes.get("gen_ai.retrieval.document_count"))
    if found and stated is not None and len(found) == 1 and len(found[0].documents) < stated:
        return (Documents(found[0].documents, found[0].at, incomplete=True),)
    return found


def _result(sight: Sight, role: Role) -> Node | None:
    if role is not Role.TOOL:
        return None
    node = first(sight, *RESULTS)
    if node is not None:
        return node
    found = [n for event in sight.named(CHOICE) if (n := event.node("message", "content")) is not None]
    found += [result.value for message in _said(sight) for result in message.results]
    return found[-1] if found else None


def _variables(sight: Sight) -> tuple[Text, ...]:
    places = [("", sight.span.attributes)] + [(f"{e.source}:{e.name}/", e.attributes) for e in _details(sight)]
    return tuple(
        Text(value, f"{where}{name}")
        for where, attributes in places
        for name, value in sorted(attributes.items())
        if name.startswith(VARIABLE)
        and is_context_name(name.removeprefix(VARIABLE))
        and isinstance(value, str)
        and is_said(value)
    )


def _asked(reading: Reading, sight: Sight) -> Question | None:
    if reading.role is Role.RETRIEVER or reading.role is Role.RERANKER:
        return question_in(
            first(sight, "gen_ai.retrieval.query.text", "gen_ai.memory.query.text", "gen_ai.rerank.query")
        )
    if reading.role is Role.TOOL:
        return question_in(first(sight, "gen_ai.tool.call.arguments", "gen_ai.tool.input")) or _asked_in_call(sight)
    if reading.role in HOLDERS:
        asked = _unwrapped(asked_in(reading.heard))
        return asked or question_in(first(sight, "gen_ai.workflow.input", "gen_ai.agent.input"))
    return question_in(first(sight, f"{VARIABLE}question", f"{VARIABLE}query", f"{VARIABLE}input"))


def _unwrapped(asked: Question | None) -> Question | None:
    """The question inside the JSON that an instrumentation puts in place of a workflow's user text."""
    if asked is None or not asked.text.lstrip().startswith("{"):
        return asked
    node = Node(asked.text, asked.at)
    inner = question_in(node)
    if inner is not None:
        return Question(inner.text, inner.at, asked.history or inner.history)
    return asked if node.opened() is node else None


def _asked_in_call(sight: Sight) -> Question | None:
    parameters: Value = {m[1]: v for k, v in sight.span.attributes.items() if (m := PARAMETER.fullmatch(k))}
    if parameters:
        return question_in(Node(parameters, "code.function.parameters."))
    found = [n for event in sight.named("gen_ai.tool.message") if (n := event.node("content")) is not None]
    found += [call.arguments for message in _heard(sight) for call in message.calls if call.arguments is not None]
    return question_in(found[0]) if found else None


def _answered(reading: Reading, sight: Sight) -> Text | None:
    if reading.role not in HOLDERS:
        return None
    return told_in(reading.said) or answer_in(first(sight, "gen_ai.workflow.output", "gen_ai.agent.output"))


READS = (
    "gen_ai.operation.name", "gen_ai.retrieval.query.text", "gen_ai.retrieval.documents", "gen_ai.input.messages",
    "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
    "code.function.return.value", "gen_ai.prompt.variable.*", "gen_ai.memory.records",
    "events gen_ai.user.message, gen_ai.choice and their like",
    f"event or log {DETAILS}", "gen_ai.conversation.id",
)  # fmt: skip

DIALECT = Dialect(
    name="otel_genai",
    title="OpenTelemetry GenAI semantic conventions",
    read=read,
    scopes=("opentelemetry.instrumentation.genai", "opentelemetry.util.genai"),
    markers=("gen_ai.",),
    versions="conventions 1.28 to 1.42-dev; opentelemetry-instrumentation-genai-* 1.1b0 to 1.3b0",
    reads=READS,
    switch=SWITCH,
    off_by_default=True,
    example={
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "How long is the warranty?",
        "gen_ai.retrieval.documents": '[{"id": "doc-1", "score": 0.91, "content": "The warranty is 24 months."}]',
    },
)
