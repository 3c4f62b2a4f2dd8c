"""Readings of spans that hold one input and one output, which most dialects write."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from otel_ctxscore.core.conventions.answers import answer_in
from otel_ctxscore.core.conventions.document_fields import document_of
from otel_ctxscore.core.conventions.document_lists import Documents, lists_in, passed_lists_in
from otel_ctxscore.core.conventions.flattened import Row, rows
from otel_ctxscore.core.conventions.hosted import grounded_in
from otel_ctxscore.core.conventions.messages import Message, looks_like_messages, messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.signs import variables_in
from otel_ctxscore.core.conventions.tools import reranks, retrieves
from otel_ctxscore.core.conventions.vocabulary import HOLDERS, Reading, Role
from otel_ctxscore.core.conventions.wrappers import unwrap
from otel_ctxscore.core.spans import Attributes, Value

SYSTEM_KEYS = (
    "system",
    "system_instruction",
    "system_instructions",
    "systemInstruction",
    "system_prompt",
    "instructions",
)
PASSAGE_KEYS = frozenset({
    "context", "contexts", "documents", "docs", "passages", "chunks", "text_chunks", "retrieved_documents",
    "retrieved_docs", "retrieved_contexts", "retrieved_chunks",
})  # fmt: skip
WORDS_OF_A_PASSAGE = 3
"""A list of shorter texts under such a name holds titles or file names."""
TURN_KEYS = ("messages", "prompt", "contents", "input", "inputs", "data", "kwargs")


def reading(
    dialect: str,
    role: Role,
    given: Node | None,
    gave: Node | None,
    *,
    name: str | None = None,
    json: bool = False,
    silent: bool = False,
) -> Reading:
    """What a span of a role says by its input and output.

    `json`: the input is declared as JSON. `silent`: content is off by default in the dialect, so that a span without
    any says nothing.
    """
    role = Role.RERANKER if role is Role.CHAIN and _only_ranks(gave, name) else role
    is_holder = role in HOLDERS
    return Reading(
        dialect=dialect,
        role=role,
        name=name,
        question=question_in(given, json=json) if is_holder or role in _ASKED else None,
        answer=answer_in(gave) if is_holder else None,
        heard=conversation_in(given) if role is Role.LLM else told_in(given) if is_holder else (),
        said=spoken_in(gave) if role is Role.LLM else told_in(gave) if is_holder else (),
        documents=documents_in(gave) if role in _LISTING else grounded_in(gave) if role is Role.LLM else None,
        passed=handed_on(given, gave, name) if is_holder or role is Role.PROMPT else None,
        result=gave if role is Role.TOOL else None,
        variables=variables_in(_inputs(given)) if is_holder or role is Role.PROMPT else (),
        silent=silent and given is None and gave is None,
    )


def of_trace(found: Reading, given: Node | None, gave: Node | None) -> Reading:
    """A reading with what the application set as input and output of the whole trace."""
    return replace(found, question=question_in(given) or found.question, answer=answer_in(gave) or found.answer)


def _only_ranks(gave: Node | None, name: str | None) -> bool:
    """Whether a step is a reranker by its name, and gave documents and no answer."""
    found = passed_lists_in(gave) or lists_in(gave) if gave is not None and reranks(name) else None
    return any(listed.has_text for listed in found or ()) and answer_in(gave) is None


_ASKED = frozenset({Role.RETRIEVER, Role.RERANKER, Role.TOOL, Role.VECTOR_DB})
_LISTING = frozenset({Role.RETRIEVER, Role.RERANKER, Role.VECTOR_DB})


def documents_in(gave: Node | None) -> tuple[Documents, ...] | None:
    return lists_in(gave) if gave is not None else None


def handed_on(given: Node | None, gave: Node | None, name: str | None) -> tuple[Documents, ...] | None:
    """Documents that a step gave or was given: beyond doubt by their shape, as a list of texts that is named for the
    context, or by the name of the step and the shape of a list."""
    for node in (gave, given):
        if node is not None and (found := passed_lists_in(node) or _texts_for_context(node)) is not None:
            return found
    unwrapped = unwrap(gave) if gave is not None and retrieves(name) else None
    if unwrapped is None or not isinstance(unwrapped.value, dict | list):
        return None
    found = lists_in(unwrapped)
    return found if found and any(listed.has_text for listed in found) else None


def _texts_for_context(node: Node) -> tuple[Documents, ...] | None:
    """A list of passages under a name such as `context`, as DSPy and graphs hand them from step to step."""
    inputs = _inputs(node)
    for name, entry in inputs.entries() if inputs is not None else ():
        texts = list(entry.opened().each()) if name.lower() in PASSAGE_KEYS else []
        if texts and all(isinstance(t.value, str) and len(t.value.split()) >= WORDS_OF_A_PASSAGE for t in texts):
            return (Documents(tuple(map(document_of, texts)), entry.at),)
    return None


def told_in(node: Node | None) -> tuple[Message, ...]:
    """The conversation that a holder took or gave, where it is one."""
    opened = node.opened() if node is not None else None
    for candidate in (opened, opened.key("outputs") if opened else None, opened.key("inputs") if opened else None):
        if candidate is not None and looks_like_messages(candidate):
            return messages_in(candidate)
    return ()


def _inputs(given: Node | None) -> Node | None:
    """The variables of a template inside the wrapper of a step's input."""
    opened = given.opened() if given is not None else None
    inner = (opened.key("inputs") or opened.key("kwargs")) if opened is not None else None
    return inner if inner is not None and isinstance(inner.opened().value, dict) else opened


def conversation_in(node: Node | None) -> tuple[Message, ...]:
    """The messages that a model was given: a list of them, or a map with a system text beside them."""
    opened = node.opened() if node is not None else None
    if opened is None or not isinstance(opened.value, dict):
        return messages_in(opened)
    system = next((messages_in(e, role="system") for n in SYSTEM_KEYS if (e := opened.key(n)) is not None), ())
    config = opened.key("config")
    if not system and config is not None and isinstance(config.opened().value, dict):
        system = next((messages_in(e, role="system") for n in SYSTEM_KEYS if (e := config.dig(n)) is not None), ())
    return (*system, *_turns_in(opened))


def _turns_in(node: Node) -> tuple[Message, ...]:
    arguments = node.key("args")
    if arguments is not None and isinstance(arguments.value, list) and arguments.value:
        return messages_in(arguments.index(0))
    for name in TURN_KEYS:
        entry = node.key(name)
        if entry is not None and (found := conversation_in(entry)):
            return found
    return messages_in(node)


def spoken_in(node: Node | None) -> tuple[Message, ...]:
    """What a model answered, as messages: a choice, a generation, a reply or a bare text; all items of a response in
    which tools ran that its provider runs."""
    if node is None:
        return ()
    items = messages_in(node.dig("output"), role="assistant")
    if any(message.results for message in items):
        return items
    told = answer_in(node)
    if told is not None:
        return messages_in(Node(told.text, told.at, level=99), role="assistant")
    return tuple(m for m in messages_in(node, role="assistant") if m.role == "assistant")


def flattened_messages(attributes: Attributes, prefix: str, role: str, element: str = "") -> tuple[Message, ...]:
    """Messages under `PREFIX.INDEX.KEY`. `element` is a further step before the key (`message.`); `role` is that of
    a message that names none."""
    found = (messages_in(_node(row, role, element), role=role) for row in rows(attributes, prefix))
    return tuple(chain.from_iterable(found))


def _node(row: Row, role: str, element: str) -> Node:
    """A flattened message in the shape of a nested one, at its flattened place."""
    values = {name.removeprefix(element): value for name, value in row.values.items()}
    message: dict[str, Value] = {
        "role": values.get("role") or role,
        "content": values.get("content") or _contents(values),
    }
    message |= {name: values[name] for name in ("name", "tool_call_id") if name in values}
    message["tool_calls"] = [_call(call) for call in rows(values, "tool_calls")]
    return Node(message, f"{row.at}.{element}")


def _contents(values: dict[str, Value]) -> Value:
    parts = [_unprefixed(row, "message_content.") for row in rows(values, "contents")]
    return [{"type": part.get("type") or "text", "text": part.get("text")} for part in parts if part.get("text")]


def _call(row: Row) -> Value:
    call = _unprefixed(row, "tool_call.")
    name, arguments = (call.get(f"function.{k}", call.get(k)) for k in ("name", "arguments"))
    return {"id": call.get("id"), "type": "tool_call", "name": name, "arguments": arguments}


def _unprefixed(row: Row, prefix: str) -> dict[str, Value]:
    return {name.removeprefix(prefix): value for name, value in row.values.items()}
