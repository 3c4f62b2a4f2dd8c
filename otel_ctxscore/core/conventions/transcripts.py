"""Conversations that are written out as one text: `system: ...`, `user: ...`, each from the start of a line."""

from __future__ import annotations

import re

from otel_ctxscore.core.conventions.message_parts import Said
from otel_ctxscore.core.conventions.messages import ROLES, Message, messages_in
from otel_ctxscore.core.conventions.nested import Node

_SPEAKER = re.compile(r"^(system|user|assistant|tool|System|Human|AI):[ \t]*", re.MULTILINE)
"""As OpenLIT writes a prompt into an attribute, and LangChain one for models that complete text."""


def prompt_in(node: Node | None) -> tuple[Message, ...]:
    """The messages of a prompt: a list of them, a text that is a conversation, or the text of a user."""
    if node is None or not isinstance(node.value, str) or not _SPEAKER.match(node.value):
        return messages_in(node)
    marks = list(_SPEAKER.finditer(node.value))
    ends = [mark.start() for mark in marks[1:]] + [len(node.value)]
    told = ((mark[1].lower(), node.value[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True))
    return tuple(Message(ROLES.get(role, role), (Said(text, node.at),)) for role, text in told if text)
