"""The parts of a chat message: texts, tool calls and tool results, as models' APIs and frameworks write them."""

from __future__ import annotations

from dataclasses import dataclass

from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.values import text_of

SILENT_PARTS = ("reasoning", "thinking", "redacted_thinking", "blob", "file", "uri", "image", "image_url")
"""No set: what stands under `type` may be anything."""
HOSTED = {"file_search_call": "file_search", "file_search": "file_search"}
"""Parts of tools that the model's provider runs: a call and its result in one."""
CALLS = frozenset({
    "tool_call", "tool-call", "tool_use", "function_call", "server_tool_call", "toolCall", "server_tool_use",
    "mcp_tool_use", "mcp_call", "custom_tool_call", *HOSTED,
})  # fmt: skip
RESULTS = frozenset({
    "tool_call_response", "tool-result", "tool_result", "function_call_output", "server_tool_call_response",
    "tool-return", "mcp_tool_result", "web_search_tool_result", "mcp_call", "custom_tool_call_output", *HOSTED,
})  # fmt: skip
ARGUMENTS = ("arguments", "args", "input", "parameters", "queries", "server_tool_call")
RETURNED = ("response", "result", "output", "content", "results", "server_tool_call_response", "file_search")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model asked for."""

    id: str
    name: str
    arguments: Node | None


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool returned, as it stands in a conversation."""

    id: str
    name: str
    value: Node


@dataclass(frozen=True, slots=True)
class Said:
    """One text part of a message."""

    text: str
    at: str


def said_in(part: Node) -> Said | None:
    """The text of a text part; None for images, reasoning and whatever else."""
    if isinstance(part.value, str):
        return Said(part.value, part.at) if part.value.strip() else None
    if not isinstance(part.value, dict) or part.value.get("type") in SILENT_PARTS:
        return None
    for name in ("text", "content", "Text"):
        entry = part.key(name)
        if entry is not None and isinstance(entry.value, dict):
            entry = entry.key("value")
        if entry is not None and isinstance(entry.value, str) and entry.value.strip():
            return Said(entry.value, entry.at)
    return None


def call_in(part: Node) -> Call | None:
    value = part.value
    if not isinstance(value, dict):
        return None
    for name in ("toolUse", "functionCall", "function_call", "tool_call", "function"):
        inner = part.key(name)
        if inner is not None and isinstance(inner.value, dict):
            return _called(inner, text_of(value.get("id")))
    is_call = _kind(part) in CALLS or ("args" in value and "name" in value)
    return _called(part, "") if is_call or ("tool_name" in value and "arguments" in value) else None


def _kind(part: Node) -> str:
    kind = part.key("type")
    return kind.value if kind is not None and isinstance(kind.value, str) else ""


def _called(node: Node, outer: str) -> Call:
    name = _first(node, "name", "toolName", "tool_name") or HOSTED.get(_kind(node), "")
    identity = _first(node, "id", "toolUseId", "toolCallId", "call_id")
    arguments = next(filter(None, map(node.key, ARGUMENTS)), None)
    return Call(identity or outer, name, arguments)


def result_in(part: Node) -> Result | None:
    value = part.value
    if not isinstance(value, dict):
        return None
    for name in ("toolResult", "functionResponse", "function_response", "tool_call_result"):
        inner = part.key(name)
        if inner is not None and isinstance(inner.value, dict):
            return _returned(inner)
    return _returned(part) if _kind(part) in RESULTS else None


def _returned(node: Node) -> Result | None:
    value = next((one for name in RETURNED if (one := node.key(name)) is not None and one.value is not None), None)
    if value is None:
        return None
    inner = value.key("value") if isinstance(value.value, dict) and value.value.keys() == {"type", "value"} else None
    origin = node.key("origin") or node
    name = _first(node, "name", "toolName", "tool_name") or _first(origin, "tool_name") or HOSTED.get(_kind(node), "")
    identity = _first(node, "id", "toolUseId", "toolCallId", "tool_use_id", "call_id", "tool_call_id")
    identity = identity or _first(origin, "id")
    return Result(identity, name, inner or value)


def _first(node: Node, *names: str) -> str:
    for name in names:
        entry = node.key(name)
        if entry is not None and isinstance(entry.value, str) and entry.value:
            return entry.value
    return ""
