"""Chat messages in all the shapes that models' APIs and frameworks write them in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from otel_ctxscore.core.conventions.message_parts import Call, Result, Said, call_in, result_in, said_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.values import text_of

ROLES = {
    "human": "user", "humanmessage": "user", "humanmessagechunk": "user", "ai": "assistant", "model": "assistant",
    "aimessage": "assistant", "aimessagechunk": "assistant", "bot": "assistant", "unknown": "assistant",
    "systemmessage": "system", "developer": "system", "toolmessage": "tool", "function": "tool",
    "functionmessage": "tool", "chatbot": "assistant", "toolmessagechunk": "tool",
}  # fmt: skip
KNOWN = frozenset({"user", "assistant", "system", "tool"})
_CUT_PARTS = re.compile(r"\s*\[\s*\{\s*\"type\"\s*:")
"""How parts begin that are cut before their end."""
MAX_MESSAGES = 2000
MAX_NESTING = 6


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `texts` are its text parts; in an assistant's message only those after the last tool result or
    before the first call, whichever hold a text. `pending`: it ends in tool calls that nobody has answered yet."""

    role: str
    texts: tuple[Said, ...] = ()
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.texts)

    @property
    def at(self) -> str:
        return self.texts[-1].at if self.texts else ""

    @property
    def pending(self) -> bool:
        answered = {result.id for result in self.results}
        return any(call.id not in answered for call in self.calls)


def messages_in(node: Node | None, role: str = "user") -> tuple[Message, ...]:
    """The messages that a value holds: a list of them, one alone, or a map with `messages`.

    `role` is that of a bare text.
    """
    if node is None:
        return ()
    found = _messages(node, role, 0)
    return tuple(message for _, message in zip(range(MAX_MESSAGES), found, strict=False))


def _messages(node: Node, role: str, depth: int) -> Iterator[Message]:
    opened = node.opened()
    if depth > MAX_NESTING:
        return
    if isinstance(opened.value, list) and not _is_pair(opened):
        yield from _from_list(opened, role, depth)
    elif (inner := _listed(opened)) is not None:
        yield from _messages(inner, role, depth + 1)
    elif (message := _message(opened, role)) is not None:
        yield message


def _from_list(node: Node, role: str, depth: int) -> Iterator[Message]:
    elements = [element.opened() for element in node.each()]
    if elements and all(_is_content_part(element) for element in elements):
        yield _assembled(role, elements)
        return
    for element in elements:
        yield from _messages(element, role, depth + 1)


def _is_content_part(node: Node) -> bool:
    """A part of one message rather than a message: it has no role."""
    value = node.value
    if not isinstance(value, dict) or _role(node):
        return False
    parts = ("text", "toolUse", "toolResult", "functionCall", "function_call", "functionResponse", "function_response")
    return any(name in value for name in parts) or value.get("type") in ("text", "input_text", "output_text")


def _is_pair(node: Node) -> bool:
    """`["user", "text"]`, as LangChain takes messages."""
    value = node.value
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        return False
    return _canonical(value[0]) in KNOWN and isinstance(value[1], str | list)


def looks_like_messages(node: Node) -> bool:
    """Whether a value is a message or a list of them, seen by roles."""
    opened = node.opened()
    if isinstance(opened.value, list) and opened.value and not _is_pair(opened):
        return looks_like_messages(opened.index(0)) or _is_pair(opened.index(0).opened())
    return _is_pair(opened) or bool(_role(opened)) or _listed(opened) is not None


def _listed(node: Node) -> Node | None:
    """What a map holds under `messages`, or `contents` of messages as Gemini's API writes it."""
    contents = node.key("contents")
    return node.key("messages") or (contents if contents is not None and looks_like_messages(contents) else None)


def _message(node: Node, role: str) -> Message | None:
    if _is_pair(node):
        pair = list(node.each())
        return _assembled(_canonical(text_of(pair[0].value)), [pair[1]])
    if isinstance(node.value, str):
        return _assembled(role, [node]) if node.value.strip() and not node.broken else None
    if not isinstance(node.value, dict):
        return None
    return _from_map(node, role)


def _from_map(node: Node, role: str) -> Message | None:
    inner = _dumped(node)
    kind = text_of((node.key("type") or Node("", "")).value)
    if kind == "reasoning" or kind.endswith(("_call", "_call_output")):
        return _assembled("tool" if kind.endswith("output") else "assistant", [node])
    own = _role(node) or _role(inner)
    content = _content(inner)
    calls = inner.key("tool_calls") or inner.dig("additional_kwargs", "tool_calls")
    if content is None and calls is None and not own:
        return None
    parts = _parts(content) if content else []
    spoken = own or role
    if spoken == "tool":
        return _tool_message(inner, content)
    return _assembled(spoken, [*parts, *(calls.opened().each() if calls else ())])


def _dumped(node: Node) -> Node:
    """The fields of a message inside LangChain's dumps and in a choice."""
    for name in ("kwargs", "data", "message", "update"):
        inner = node.key(name)
        opened = inner.opened() if inner else None
        if opened is not None and isinstance(opened.value, dict) and (_content(opened) or "tool_calls" in opened.value):
            return opened
    return node


def _content(node: Node) -> Node | None:
    for name in ("parts", "content", "blocks", "items", "_content", "message", "text", "Text"):
        entry = node.key(name)
        if entry is not None and entry.value is not None and entry.value != []:
            return entry
    return None


def _parts(content: Node) -> list[Node]:
    """The parts of a content. A bare text is one part and is not opened, unless it holds the JSON of parts: what
    else looks like JSON in it was said."""
    if isinstance(content.value, str) and not _holds_parts(content):
        return [] if content.broken and _CUT_PARTS.match(content.value) else [content]
    opened = content.opened()
    if isinstance(opened.value, dict):
        inner = _content(opened) or opened.key("value")
        return _parts(inner) if inner is not None and inner.value is not content.value else [opened]
    return list(opened.each())


def _holds_parts(node: Node) -> bool:
    opened = node.opened()
    elements = [element.opened() for element in opened.each()]
    known = any(_is_content_part(element) or call_in(element) or result_in(element) for element in elements)
    return known and all(_is_content_part(element) or _is_typed(element) for element in elements)


def _is_typed(node: Node) -> bool:
    return isinstance(node.value, dict) and isinstance(node.value.get("type"), str)


def _role(node: Node) -> str:
    """The role a map names, in its canonical word; '' where it names none."""
    value = node.value
    if not isinstance(value, dict):
        return ""
    for name in ("role", "_role", "type", "event.name"):
        named = value.get(name)
        named = named.get("Label") or named.get("label") if isinstance(named, dict) else named
        if isinstance(named, str) and _canonical(named) in KNOWN and (name, named) != ("type", "function"):
            return _canonical(named)
    path = value.get("id")
    if value.get("lc") and isinstance(path, list) and path and isinstance(path[-1], str):
        return _canonical(path[-1]) if _canonical(path[-1]) in KNOWN else ""
    return _canonical(str(value["role"])) if isinstance(value.get("role"), str) else ""


def _canonical(named: str) -> str:
    """`MessageRole.USER`, `gen_ai.user.message`, `HumanMessage` and the like in one of four words."""
    word = named.strip().lower().removesuffix(".message").removeprefix("gen_ai.").rpartition(".")[2]
    return "assistant" if word == "choice" else ROLES.get(word, word)


def _tool_message(node: Node, content: Node | None) -> Message:
    """A message of role tool: all it holds is the tool's result."""
    if content is not None and (inner := [p for p in _parts(content) if result_in(p.opened()) or call_in(p.opened())]):
        return _assembled("tool", inner)
    name = text_of((node.key("name") or node.key("tool_name") or Node("", "")).value)
    call = text_of((node.key("tool_call_id") or node.key("id") or Node("", "")).value)
    return Message("tool", results=(Result(call, name, content),) if content is not None else ())


def _assembled(role: str, parts: list[Node]) -> Message:
    """A message from its parts. Of an assistant's texts those count that no tool call parts from the answer."""
    texts: list[Said] = []
    runs: list[tuple[Said, ...]] = []
    calls: list[Call] = []
    results: list[Result] = []
    for part in parts:
        opened = part if isinstance(part.value, str) else part.opened()
        call, result = call_in(opened), result_in(opened)
        calls += [call] if call is not None else []
        results += [result] if result is not None else []
        if call is None and result is None and (said := said_in(opened)) is not None:
            texts.append(said)
            continue
        if texts:
            runs.append(tuple(texts))
            texts = []
    runs += [tuple(texts)] if texts else []
    spoken = runs[-1] if runs and role == "assistant" else tuple(said for run in runs for said in run)
    return Message(role, spoken, tuple(calls), tuple(results))
