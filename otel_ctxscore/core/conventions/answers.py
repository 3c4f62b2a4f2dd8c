"""The answer in the output of a turn or a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from otel_ctxscore.core.conventions.document_fields import describes_document
from otel_ctxscore.core.conventions.messages import Message, looks_like_messages, messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.values import is_said, text_of
from otel_ctxscore.core.conventions.vocabulary import Text

ANSWER_KEYS = (
    "answer", "final_answer", "finalAnswer", "final_output", "finalOutput", "final_result", "response", "output_text",
    "outputText", "output", "outputs", "result", "reply", "replies", "answers", "text", "generated_text", "generation",
    "completion", "return_values", "return_value", "choices", "generations", "candidates", "message", "messages",
    "update", "data", "content", "raw", "value", "body", "kwargs", "generated_answer", "summary",
)  # fmt: skip
FIRST_OF = frozenset({"choices", "generations", "candidates", "replies", "answers"})
"""Lists of alternatives, of which the first is what the caller takes."""
MAX_NESTING = 8
MIN_PIECES = 2


def answer_in(node: Node | None, *, depth: int = 0) -> Text | None:
    """The text that a value answers: a bare text, the last assistant text of messages, or a text under a usual
    name. None for tool calls, printed objects and anything else."""
    if node is None or depth > MAX_NESTING:
        return None
    opened = node.opened()
    if isinstance(opened.value, str):
        said = is_said(opened.value) and not opened.broken
        return Text(opened.value, opened.at) if said else None
    if (streamed := _streamed(opened)) is not None:
        return streamed
    if looks_like_messages(opened):
        return _of_messages(opened, depth)
    if isinstance(opened.value, list):
        return _of_list(opened, depth)
    return _of_map(opened, depth) if isinstance(opened.value, dict) else None


def _streamed(node: Node) -> Text | None:
    """The answer in the pieces of a stream: message chunks, or texts that are parted within sentences."""
    pieces = [element.opened() for element in node.each()]
    if len(pieces) < MIN_PIECES:
        return None
    if all(_is_chunk(piece) for piece in pieces):
        told = [message.text for piece in pieces for message in messages_in(piece, role="assistant")]
        return Text("".join(told), node.at) if is_said("".join(told)) else None
    texts = [piece.value for piece in pieces if isinstance(piece.value, str)]
    parted = sum(left[-1:].isspace() or right[:1].isspace() for left, right in pairwise(texts))
    return Text("".join(texts), node.at) if len(texts) == len(pieces) <= 2 * parted else None


def _is_chunk(node: Node) -> bool:
    value = node.value
    path = value.get("id") if isinstance(value, dict) else None
    named = path[-1] if isinstance(path, list) and path else value.get("type") if isinstance(value, dict) else None
    return isinstance(named, str) and named.endswith("MessageChunk")


def _of_messages(node: Node, depth: int) -> Text | None:
    told = told_in(messages_in(node, role="assistant"))
    return told or (_of_map(node, depth, skip=("messages",)) if isinstance(node.value, dict) else None)


def told_in(messages: Sequence[Message]) -> Text | None:
    """The last text of an assistant that stands for itself: no preface to a tool call that is still open, and no
    answer to an earlier question than the last."""
    for message in reversed(messages):
        if message.role == "user" and message.texts:
            return None
        if message.role == "assistant" and not message.pending and is_said(message.text):
            return Text(message.text, message.at)
    return None


def _of_list(node: Node, depth: int) -> Text | None:
    """The only answer of a list, the last of several steps."""
    elements = [element for element in node.each() if not describes_document(element.opened())]
    found = [a for element in elements if (a := answer_in(element, depth=depth + 1)) is not None]
    if len(found) > 1 and all(isinstance(element.value, str) for element in node.each()):
        return None
    return found[-1] if found else None


def _of_map(node: Node, depth: int, skip: Iterable[str] = ()) -> Text | None:
    for name in ANSWER_KEYS:
        entry = node.key(name) if name not in skip else None
        inner = _alternative(name, entry.opened()) if entry is not None else None
        if inner is not None and (found := answer_in(inner, depth=depth + 1)) is not None:
            return found
    return _below(node, depth)


def _alternative(name: str, node: Node) -> Node:
    while name in FIRST_OF and isinstance(node.value, list) and node.value and not looks_like_messages(node):
        node = node.index(0).opened()
    return node


def _below(node: Node, depth: int) -> Text | None:
    """The answer of the only map inside that gives one, as the outputs of a pipeline's components do."""
    maps = [entry for _, entry in node.entries() if isinstance(entry.value, dict)]
    found = [a for entry in maps if (a := _of_map(entry, depth + 1) if depth < MAX_NESTING else None) is not None]
    return found[0] if len({a.text for a in found}) == 1 else None


def verbatim(node: Node | None) -> Text | None:
    """A model's answer as it stands, a structured one as its JSON. None for JSON that was cut."""
    if node is None or node.broken:
        return None
    text = text_of(node.value)
    return answer_in(node) or (Text(text, node.at) if is_said(text) else None)
