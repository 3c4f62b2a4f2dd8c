"""The user's question in the input of a turn, a retriever or a tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from otel_ctxscore.core.conventions.document_fields import describes_document
from otel_ctxscore.core.conventions.messages import Message, looks_like_messages, messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.ornaments import ORNAMENT, without_bare_end
from otel_ctxscore.core.conventions.values import is_said, text_of, whole
from otel_ctxscore.core.conventions.vocabulary import Question

QUESTION_KEYS = (
    "question", "query", "userquery", "userquestion", "querytext", "querystr", "searchquery", "userinput",
    "usermessage", "userprompt", "strorquerybundle", "querybundle", "questiontext", "currentquestion", "queries",
    "queryorqueries",
)  # fmt: skip
"""Without the marks between words, as `_bare` writes them."""
LOOSE_KEYS = (
    "input", "inputs", "prompt", "message", "text", "inputstr", "inputvalue", "inputtext", "q", "content",
    "searchterm", "search", "keywords", "term", "task", "topic", "request", "newmessage", "msg",
)  # fmt: skip
WRAPPERS = ("args", "kwargs", "data", "state", "values", "body", "payload", "arguments", "parameters", "variables")
NO_QUESTION = frozenset({
    "chathistory", "history", "config", "configuration", "session", "sessionid", "user", "userid", "threadid",
    "model", "metadata", "tags", "name", "template", "templatevariables", "context", "documents", "docs", "id",
    "type", "role", "system", "instructions", "topk", "k", "filters",
})  # fmt: skip
MAX_NESTING = 6
MAX_HISTORY = 40
MAX_HISTORY_TEXT = 20_000

_LABEL = re.compile(
    rf"^{ORNAMENT}(?:user(?:'s)?\s+)?(?:question|query|user input|user message|input)"
    r"\s*(?:\*\*)?:[ \t]*(?:\*\*)?",
    re.IGNORECASE | re.MULTILINE,
)
_CONTEXT_LABEL = re.compile(
    rf"^{ORNAMENT}(?:retrieved |relevant |provided |reference )?"
    r"(?:context|documents|passages|sources|search results|knowledge|excerpts)[ \t]*(?:\*\*)?:",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_LABEL = re.compile(
    rf"^{ORNAMENT}(?:final |helpful |your )?(?:answer|response|antwort|respuesta|output)"
    r"\b[^\n]{0,20}:?\s*+(?:\*\*\s*+)?\Z",
    re.I | re.M,
)


def question_in(node: Node | None, *, json: bool = False, depth: int = 0) -> Question | None:
    """The question that a value asks: a bare text, the last user text of messages, or a text under a usual name.

    `json`: the value is declared as JSON, so that a bare number or null in it is no text.
    """
    if node is None or depth > MAX_NESTING:
        return None
    opened = node.opened()
    if isinstance(opened.value, str):
        return _of_text(opened, json=json)
    if isinstance(opened.value, list):
        return _of_list(opened, depth)
    return _of_map(opened, depth) if isinstance(opened.value, dict) else None


def _of_text(node: Node, *, json: bool) -> Question | None:
    text = text_of(node.value)
    if not is_said(text) or node.broken or (json and _is_json_scalar(text)):
        return None
    return Question(text, node.at)


def _is_json_scalar(text: str) -> bool:
    return bool(re.fullmatch(r"\s*(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)\s*", text))


def _of_list(node: Node, depth: int) -> Question | None:
    if looks_like_messages(node):
        return asked_in(messages_in(node))
    elements = [element for element in node.each() if not describes_document(element.opened())]
    found = [q for element in elements if (q := question_in(element, depth=depth + 1)) is not None]
    return _same(found)


def _same(found: Sequence[Question]) -> Question | None:
    """The question that all ask; None where they differ."""
    return found[0] if found and len({whole(q.text) for q in found}) == 1 else None


def _of_map(node: Node, depth: int) -> Question | None:
    keys = {_bare(key): key for key in node.value} if isinstance(node.value, dict) else {}
    keyed = _under(node, keys, QUESTION_KEYS, depth)
    if keyed is not None:
        return _with_history(keyed, node)
    if looks_like_messages(node) and (asked := asked_in(messages_in(node))) is not None:
        return asked
    for names in (LOOSE_KEYS, WRAPPERS):
        if (found := _under(node, keys, names, depth)) is not None:
            return _with_history(found, node)
    return _below(node, depth) or _only_text(node)


def _under(node: Node, keys: Mapping[str, str], names: Iterable[str], depth: int) -> Question | None:
    """What the first of `names` asks that is there; `keys` are those of the node by their bare names."""
    for key in filter(None, map(keys.get, names)):
        entry = node.key(key)
        if entry is not None and (found := question_in(entry, depth=depth + 1)) is not None:
            return found
    return None


def _bare(name: str) -> str:
    """A name in any notation: `userQuery`, `user_query` and `User-Query` are one."""
    return name.replace("_", "").replace("-", "").lower()


def _below(node: Node, depth: int) -> Question | None:
    """What all maps inside a map ask, as the inputs of a pipeline's components do."""
    inner = [
        entry for name, entry in node.entries() if isinstance(entry.value, dict) and _bare(name) not in NO_QUESTION
    ]
    found = [q for entry in inner if (q := _of_map(entry, depth + 1) if depth < MAX_NESTING else None) is not None]
    return _same(found)


def _only_text(node: Node) -> Question | None:
    """The only text of a map under a name of its own, where it has more than one word."""
    texts = [
        e
        for n, e in node.entries()
        if _bare(n) not in NO_QUESTION and isinstance(e.value, str) and " " in e.value.strip()
    ]
    return _of_text(texts[0], json=False) if len(texts) == 1 else None


def _with_history(question: Question, node: Node) -> Question:
    if question.history:
        return question
    earlier = node.key("chat_history") or node.key("history")
    told = spoken(messages_in(earlier)) if earlier is not None else ()
    return Question(question.text, question.at, bounded(told))


def asked_in(messages: Sequence[Message]) -> Question | None:
    """The last user text of a conversation, with what was said before it."""
    for place in reversed(range(len(messages))):
        message = messages[place]
        if message.role == "user" and is_said(message.text):
            return Question(message.text, message.at, bounded(spoken(messages[:place])))
    return None


def spoken(messages: Iterable[Message]) -> tuple[tuple[str, str], ...]:
    """What user and assistant said, without system texts, tool calls and results."""
    said = ((m.role, m.text) for m in messages if m.role in ("user", "assistant") and not m.pending)
    return tuple((role, text) for role, text in said if is_said(text))


def bounded(history: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The latest turns that fit the limits of number and length."""
    kept: list[tuple[str, str]] = []
    room = MAX_HISTORY_TEXT
    for role, text in reversed(history[-MAX_HISTORY:]):
        room -= len(text)
        if room < 0:
            break
        kept.append((role, text))
    return tuple(reversed(kept))


def holds_contexts(text: str, contexts: Iterable[str]) -> bool:
    """Whether a prompt holds one of the retrieved texts, or the label under which such are put."""
    flat = whole(text)
    return any(len(piece) > 20 and piece[:200] in flat for piece in map(whole, contexts))


def question_in_prompt(text: str, contexts: Sequence[str]) -> str | None:
    """The question in a prompt that also holds the retrieved texts: after the last label that announces one, else
    what follows the last of the texts, else what stands before the first."""
    labels = list(_LABEL.finditer(text))
    if labels:
        asked = text[labels[-1].end() :]
        following = _CONTEXT_LABEL.search(asked)
        return _trimmed(without_bare_end(asked[: following.start()]) if following else asked)
    spans = [(at, at + len(piece)) for piece in contexts if len(piece) > 20 and (at := text.find(piece)) >= 0]
    if not spans:
        return None
    after = _trimmed(text[max(end for _, end in spans) :])
    before = _trimmed(text[: min(start for start, _ in spans)])
    return after if _asks(after) else before if _asks(before) else None


def _trimmed(text: str) -> str | None:
    bare = text.strip()
    if (label := _NEXT_LABEL.search(bare)) is not None:
        bare = without_bare_end(bare[: label.start()])
    return bare.strip().strip("-=`").strip() or None


def _asks(text: str | None) -> bool:
    return text is not None and len(text.split()) > 1
