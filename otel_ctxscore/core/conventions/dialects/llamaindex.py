"""LlamaIndex's own tracer: no attributes at all, everything in span events named after its event classes."""

from __future__ import annotations

from otel_ctxscore.core.conventions.answers import answer_in
from otel_ctxscore.core.conventions.document_lists import Documents, lists_in
from otel_ctxscore.core.conventions.messages import Message, messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.spans import spoken_in
from otel_ctxscore.core.conventions.tools import words_of
from otel_ctxscore.core.conventions.values import is_said
from otel_ctxscore.core.conventions.vocabulary import HOLDERS, Dialect, Question, Reading, Role, Sight, Text

ROLES = (
    ("ReRank", Role.RERANKER),
    ("Retrieval", Role.RETRIEVER),
    ("Query", Role.CHAIN),
    ("AgentChatWithStep", Role.AGENT),
    ("StreamChat", Role.AGENT),
    ("AgentToolCall", Role.TOOL),
    ("LLMChat", Role.LLM),
    ("LLMCompletion", Role.LLM),
    ("LLMPredict", Role.LLM),
    ("Embedding", Role.EMBEDDING),
    ("Synthesize", Role.CHAIN),
)
POSTPROCESSING = frozenset({"rerank", "reranker", "postprocess", "postprocessor"})
"""Words in the names of spans of postprocessors, which write no events."""
QUESTIONS = (
    "query", "query.query_str", "str_or_query_bundle.query_str", "str_or_query_bundle", "query_str", "user_msg",
    "template_args.query_str", "arguments",
)  # fmt: skip
ANSWERS = ("response.response", "response", "output", "response.text", "response.message.content")


def read(sight: Sight) -> Reading:
    role = _role(sight)
    return Reading(
        dialect="llamaindex",
        role=role,
        question=_question(sight) if role in HOLDERS or role in _LISTING else None,
        answer=_answer(sight) if role in HOLDERS else None,
        heard=_heard(sight) if role is Role.LLM else (),
        said=_said(sight) if role is Role.LLM else (),
        documents=_nodes(sight, "nodes", "End") if role in _LISTING else None,
        candidates=_nodes(sight, "nodes", "Start") if role is Role.RERANKER else None,
        passed=_nodes(sight, "response.source_nodes", "End") if role in HOLDERS else None,
        variables=_variables(sight),
    )


def _role(sight: Sight) -> Role:
    names = {occurrence.name for occurrence in sight.occurrences}
    role = next((role for start, role in ROLES if any(_is_of(name, start) for name in names)), Role.OTHER)
    postprocesses = role is Role.OTHER and POSTPROCESSING & set(words_of(sight.span.name))
    return Role.RERANKER if postprocesses else role


_LISTING = frozenset({Role.RETRIEVER, Role.RERANKER, Role.TOOL})


def _is_of(name: str, start: str) -> bool:
    return name.startswith(start) and name.endswith("Event")


def _nodes_at(sight: Sight, names: tuple[str, ...], moment: str = "") -> list[Node]:
    return [
        node
        for occurrence in sight.occurrences
        for name in names
        if occurrence.name.endswith(f"{moment}Event") and (node := occurrence.node(name)) is not None
    ]


def _question(sight: Sight) -> Question | None:
    found = (question_in(node) for node in _nodes_at(sight, QUESTIONS))
    return next((question for question in found if question is not None), None)


def _answer(sight: Sight) -> Text | None:
    found = (answer_in(node) for node in _nodes_at(sight, ANSWERS, "End"))
    return next((answer for answer in found if answer is not None), None)


def _heard(sight: Sight) -> tuple[Message, ...]:
    nodes = _nodes_at(sight, ("messages",), "Start") or _nodes_at(sight, ("prompt",), "Start")
    return messages_in(nodes[0]) if nodes else ()


def _said(sight: Sight) -> tuple[Message, ...]:
    answer = _answer(sight)
    return spoken_in(Node(answer.text, answer.at, level=99)) if answer is not None else ()


def _nodes(sight: Sight, name: str, moment: str) -> tuple[Documents, ...] | None:
    nodes = _nodes_at(sight, (name,), moment)
    return lists_in(nodes[-1]) if nodes else None


def _variables(sight: Sight) -> tuple[Text, ...]:
    nodes = _nodes_at(sight, ("template_args.context_str", "template_args.context_msg"))
    return tuple(Text(node.value, node.at) for node in nodes if isinstance(node.value, str) and is_said(node.value))


READS = (
    "event RetrievalStartEvent: str_or_query_bundle.query_str", "event RetrievalEndEvent: nodes",
    "event ReRankEndEvent: nodes", "event QueryStartEvent: query", "event QueryEndEvent: response.response",
    "event LLMChatStartEvent: messages", "event LLMPredictStartEvent: template_args.context_str",
)  # fmt: skip

DIALECT = Dialect(
    name="llamaindex",
    title="LlamaIndex observability",
    read=read,
    scopes=("llamaindex",),
    markers=tuple(f"{start}{moment}Event" for start, _ in ROLES for moment in ("Start", "End", "")),
    versions="llama-index-observability-otel 0.7.0",
    reads=READS,
    example={
        "event": "RetrievalEndEvent",
        "str_or_query_bundle.query_str": "How long is the warranty?",
        "nodes": '[{"node": {"id_": "doc-1", "text": "The warranty is 24 months."}, "score": 0.95}]',
    },
)
