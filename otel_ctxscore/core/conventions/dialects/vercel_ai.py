"""Vercel AI SDK: `ai.*` attributes of version 5, and the rerank attributes that version 7 kept."""

from __future__ import annotations

from otel_ctxscore.core.conventions.answers import answer_in, verbatim
from otel_ctxscore.core.conventions.document_fields import Document, document_of
from otel_ctxscore.core.conventions.document_lists import Documents
from otel_ctxscore.core.conventions.messages import Message, messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.spans import conversation_in, spoken_in
from otel_ctxscore.core.conventions.values import number_of, text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Question, Reading, Role, Sight, Text

GENERATING = ("ai.generatetext", "ai.streamtext", "ai.generateobject", "ai.streamobject")

TEXTS = ("ai.response.text", "ai.result.text")
OBJECTS = ("ai.response.object", "ai.result.object")
"""Before version 4 `ai.result`."""


def read(sight: Sight) -> Reading:
    role = _role(sight)
    return Reading(
        dialect="vercel_ai",
        role=role,
        name=_word(sight, "ai.toolCall.name"),
        question=_question(sight, role),
        answer=_answer(sight) if role is Role.AGENT else None,
        heard=_heard(sight),
        said=_said(sight),
        documents=_ranked(sight),
        candidates=_candidates(sight) if role is Role.RERANKER else None,
        result=sight.node("ai.toolCall.result") if role is Role.TOOL else None,
        silent=role in (Role.AGENT, Role.LLM, Role.TOOL) and not _has_content(sight),
    )


def _role(sight: Sight) -> Role:
    operation = sight.word("ai.operationId") or sight.word("operation.name").partition(" ")[0]
    if operation.endswith((".dogenerate", ".dostream")):
        return Role.LLM
    if operation.startswith(GENERATING):
        return Role.AGENT
    if operation.startswith("ai.embed"):
        return Role.EMBEDDING
    if operation == "ai.toolcall":
        return Role.TOOL
    return Role.RERANKER if operation.startswith("ai.rerank") or "ai.ranking" in sight.span.attributes else Role.OTHER


def _word(sight: Sight, name: str) -> str | None:
    node = sight.node(name)
    return text_of(node.value) if node else None


def _has_content(sight: Sight) -> bool:
    names = ("ai.prompt", "ai.prompt.messages", "ai.toolCall.result", *TEXTS, *OBJECTS)
    return any(name in sight.span.attributes for name in names)


def _question(sight: Sight, role: Role) -> Question | None:
    if role is Role.TOOL:
        return question_in(sight.node("ai.toolCall.args", "ai.toolCall.input"))
    return question_in(sight.node("ai.prompt")) if role is Role.AGENT else None


def _answer(sight: Sight) -> Text | None:
    return answer_in(sight.node(*TEXTS)) or verbatim(sight.node(*OBJECTS))


def _heard(sight: Sight) -> tuple[Message, ...]:
    return messages_in(sight.node("ai.prompt.messages")) or conversation_in(sight.node("ai.prompt"))


def _said(sight: Sight) -> tuple[Message, ...]:
    """What the model said in the step; nothing of a step that ends in tool calls."""
    calls = sight.node("ai.response.toolCalls")
    if calls is not None and calls.opened().value:
        return ()
    return spoken_in(sight.node(*TEXTS)) or spoken_in(sight.node(*OBJECTS))


def _given(sight: Sight) -> list[Node]:
    node = sight.node("ai.documents")
    return list(node.opened().each()) if node is not None else []


def _candidates(sight: Sight) -> tuple[Documents, ...] | None:
    documents = tuple(map(_document, _given(sight)))
    return (Documents(documents, "ai.documents"),) if documents else None


def _document(node: Node) -> Document:
    """Each document is JSON in its string: a quoted text or a map."""
    return document_of(node.opened())


def _ranked(sight: Sight) -> tuple[Documents, ...] | None:
    """The documents in the order of `ai.ranking`, whose elements are indexes into `ai.documents` with a score."""
    ranking = sight.node("ai.ranking")
    if ranking is None:
        return None
    given = _given(sight)
    places = [(element.dig("index"), element.dig("relevanceScore")) for element in ranking.opened().each()]
    documents = tuple(_chosen(given, index, score) for index, score in places)
    return (Documents(documents, "ai.documents", incomplete=bool(documents) and not given),)


def _chosen(given: list[Node], index: Node | None, score: Node | None) -> Document:
    place = index.value if index is not None else None
    if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < len(given):
        return Document(None, "ai.ranking")
    found = _document(given[place])
    return Document(found.text, found.at, found.id, number_of(score.value) if score is not None else None, found.source)


READS = (
    "ai.operationId", "ai.prompt", "ai.prompt.messages", "ai.response.text", "ai.response.object",
    "ai.toolCall.name", "ai.toolCall.args", "ai.toolCall.result", "ai.documents", "ai.ranking",
    "ai.telemetry.metadata.sessionId",
)  # fmt: skip

DIALECT = Dialect(
    name="vercel_ai",
    title="Vercel AI SDK",
    read=read,
    scopes=("ai",),
    markers=("ai.operationId", "ai.ranking", "ai.documents", "ai.prompt", "ai.toolCall."),
    versions="ai 5.0.277; ai 7.0.173 with @ai-sdk/otel",
    reads=READS,
    switch="experimental_telemetry: {isEnabled: true, recordInputs: true, recordOutputs: true}",
    example={
        "ai.operationId": "ai.toolCall",
        "ai.toolCall.name": "searchKb",
        "ai.toolCall.args": '{"query": "warranty"}',
        "ai.toolCall.result": '[{"id": "doc-1", "text": "The warranty is 24 months."}]',
    },
)
