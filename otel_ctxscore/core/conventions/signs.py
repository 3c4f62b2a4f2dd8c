"""What the reader of any dialect needs: prompt variables, sections of a prompt, sessions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from otel_ctxscore.core.conventions.messages import Message
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.ornaments import ORNAMENT, without_bare_end
from otel_ctxscore.core.conventions.values import is_said, text_of
from otel_ctxscore.core.conventions.vocabulary import Sight, Text

CONTEXT_VARIABLES = frozenset({
    "context", "contexts", "context_str", "contextstr", "context_text", "documents", "docs", "document_text",
    "retrieved_context", "retrieved_documents", "retrieved_docs", "retrieved_chunks", "knowledge", "passages",
    "sources", "search_results", "chunks", "ctx", "reference", "references", "kb_context", "context_msg",
})  # fmt: skip
SESSION_KEYS = (
    "session.id", "gen_ai.conversation.id", "langfuse.session.id", "ai.observability.conversation_id",
    "traceloop.association.properties.session_id", "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id", "traceloop.association.properties.chat_id",
    "langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id",
    "ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.threadId",
    "ai.telemetry.metadata.conversationId", "ai.telemetry.metadata.chatId", "mastra.metadata.sessionId",
    "mastra.metadata.threadId", "spring.ai.chat.client.conversation.id", "gcp.vertex.agent.session_id",
    "mlflow.trace.session", "conversation.id", "session_id", "conversation_id", "langfuse.trace.session_id",
    "langwatch.thread.id", "langwatch.thread_id", "confident.trace.thread_id", "genkit:sessionId", "gen_ai.session.id",
)  # fmt: skip

_SECTION = re.compile(
    rf"(?:^|\n){ORNAMENT}(?:retrieved |relevant |provided |reference )?"
    r"(?:context|documents|passages|sources|knowledge|search results|context information is below\.?|excerpts)"
    r"(?:\*\*)?[ \t]*(?::|(?<=below\.)|(?<=below))[ \t]*(?:\*\*)?[ \t]*\n?(?:-{3,}\n)?",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(
    r"(?:^|[\n.] ?)use the following (?:pieces of )?(?:retrieved )?context\b[^\n]*\n"
    r"(?:if you don't know[^\n]*\n)?(?:-{3,}\n|\n)"
    r"|(?:^|\n)consider the following information from source documents[^\n]*:\n",
    re.IGNORECASE,
)
"""The words in which LangChain and Microsoft's Agent Framework hand over the context where nobody gave them others."""
_TAG = re.compile(r"<(/?)(context|documents|passages|sources|retrieved_context|search_results)>", re.IGNORECASE)
_SECTION_END = re.compile(
    rf"\n{ORNAMENT}(?:-{{3,}}\s*\n|={{3,}}\s*\n|(?:user(?:'s)? )?(?:question|query|user input|user message)(?:\*\*)?:|"
    r"given the (?:context|above)|(?:helpful |final |your )?answer(?:\*\*)?:|instructions?:|</)",
    re.IGNORECASE,
)


def session_of(sight: Sight) -> str | None:
    """The conversation a span says it belongs to."""
    node = sight.node(*SESSION_KEYS)
    value = node.opened().value if node else None
    first = value[0] if isinstance(value, list) and value else value
    text = text_of(first).strip()
    return text or None


def is_context_name(name: str) -> bool:
    return name.lower() in CONTEXT_VARIABLES


def variables_in(node: Node | None) -> tuple[Text, ...]:
    """The texts of a template's variables that are named for the context."""
    opened = node.opened() if node else None
    named = opened.entries() if opened else ()
    return tuple(
        Text(entry.value, entry.at)
        for name, entry in named
        if is_context_name(name) and isinstance(entry.value, str) and is_said(entry.value)
    )


def sections_in(messages: Iterable[Message]) -> tuple[Text, ...]:
    """The parts of system and user texts that are announced as the context."""
    said = (part for m in messages if m.role in ("system", "user") for part in m.texts)
    found = (Text(section, part.at) for part in said if (section := section_of(part.text)) is not None)
    return tuple(found)


def _tagged(prompt: str) -> str | None:
    """What stands in the first pair of tags."""
    begun: dict[str, int] = {}
    pairs: dict[str, tuple[int, int]] = {}
    for tag in _TAG.finditer(prompt):
        name = tag[2].lower()
        if not tag[1]:
            begun.setdefault(name, tag.end())
        elif begun.get(name, tag.start()) < tag.start():
            pairs.setdefault(name, (begun[name], tag.start()))
    return prompt[slice(*min(pairs.values()))] if pairs else None


def section_of(prompt: str) -> str | None:
    """What a prompt holds between tags, after a label such as `Context:` at the start of a line, or after the words of
    a framework's own prompt."""
    if (tagged := _tagged(prompt)) is not None:
        return tagged.strip() or None
    start = _SECTION.search(prompt) or _INTRODUCTION.search(prompt)
    if start is None:
        return None
    rest = prompt[start.end() :]
    end = _SECTION_END.search(rest)
    section = (without_bare_end(rest[: end.start()]) if end else rest).strip()
    return section if len(section.split()) > 2 and "{" + "context" not in section else None
