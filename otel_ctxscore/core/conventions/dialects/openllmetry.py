"""OpenLLMetry (Traceloop): entity inputs and outputs, and flattened prompts up to 0.54."""

from __future__ import annotations

import re

from otel_ctxscore.core.conventions.document_fields import Document
from otel_ctxscore.core.conventions.document_lists import Documents
from otel_ctxscore.core.conventions.messages import Message
from otel_ctxscore.core.conventions.spans import flattened_messages, reading
from otel_ctxscore.core.conventions.tools import words_of
from otel_ctxscore.core.conventions.values import text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Question, Reading, Role, Sight

ROLES = {"workflow": Role.CHAIN, "task": Role.CHAIN, "agent": Role.AGENT, "tool": Role.TOOL}
REQUESTS = {"chat": Role.LLM, "completion": Role.LLM, "embedding": Role.EMBEDDING, "rerank": Role.RERANKER}
OPERATIONS = {"vector_db_retrieve": Role.RETRIEVER, "execute_tool": Role.TOOL}
_RERANKED = re.compile(r"Doc (\d+), Score: (-?[\d.eE+-]+)")


def read(sight: Sight) -> Reading:
    role = _role(sight)
    given = sight.node("traceloop.entity.input", "gen_ai.task.input")
    gave = sight.node("traceloop.entity.output", "gen_ai.task.output")
    heard = flattened_messages(sight.span.attributes, "gen_ai.prompt", "user")
    said = flattened_messages(sight.span.attributes, "gen_ai.completion", "assistant")
    if role is Role.RERANKER and heard:
        return _reranked(heard, said)
    found = reading("openllmetry", role, given, gave, name=_name(sight), silent=True)
    return Reading(heard=heard, said=said).filled(found)


def _role(sight: Sight) -> Role:
    operation = OPERATIONS.get(sight.word("gen_ai.operation.name"))
    if operation is not None:
        return operation
    if (request := REQUESTS.get(sight.word("llm.request.type"))) is not None:
        return request
    kind = ROLES.get(sight.word("traceloop.span.kind"), Role.OTHER)
    return _by_name(sight) or kind if kind is Role.CHAIN else kind


def _by_name(sight: Sight) -> Role | None:
    """The role that the class behind a task has by its name: nothing else tells a retriever's span."""
    words = words_of(_name(sight) or sight.span.name)
    if any(word.startswith("rerank") for word in words) and sight.node("traceloop.entity.output") is not None:
        return Role.RERANKER
    if words[-1:] == ["prompt"] or "template" in words:
        return Role.PROMPT
    return Role.RETRIEVER if words[-1:] == ["retriever"] else None


def _name(sight: Sight) -> str | None:
    name = text_of(sight.span.attributes.get("traceloop.entity.name"))
    return name.removesuffix(".task").removesuffix(".tool") or None


def _reranked(heard: tuple[Message, ...], said: tuple[Message, ...]) -> Reading:
    """Cohere's rerank: the documents and the query are the prompts, the ranking stands in the completions."""
    given = [message for message in heard if message.role != "user"]
    documents = tuple(Document(message.text, message.at) for message in given)
    places = [(int(m[1]), float(m[2])) for one in said if (m := _RERANKED.match(one.text)) and _is_number(m[2])]
    ranked = tuple(
        Document(documents[place].text, documents[place].at, score=score)
        for place, score in places
        if place < len(documents)
    )
    query = next((message for message in reversed(heard) if message.role == "user"), None)
    return Reading(
        dialect="openllmetry",
        role=Role.RERANKER,
        question=Question(query.text, query.at) if query else None,
        documents=(Documents(ranked, "gen_ai.completion"),) if ranked else None,
        candidates=(Documents(documents, "gen_ai.prompt"),),
    )


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", text))


READS = (
    "traceloop.span.kind", "traceloop.entity.name", "traceloop.entity.input", "traceloop.entity.output",
    "gen_ai.prompt.N.*", "gen_ai.completion.N.*", "llm.request.type",
    "traceloop.association.properties.session_id",
)  # fmt: skip

DIALECT = Dialect(
    name="openllmetry",
    title="OpenLLMetry (Traceloop)",
    read=read,
    scopes=(
        "opentelemetry.instrumentation.langchain",
        "opentelemetry.instrumentation.llamaindex",
        "opentelemetry.instrumentation.haystack",
        "opentelemetry.instrumentation.crewai",
        "opentelemetry.instrumentation.openai",
        "opentelemetry.instrumentation.anthropic",
        "opentelemetry.instrumentation.cohere",
        "opentelemetry.instrumentation.bedrock",
        "traceloop",
        "@traceloop/",
    ),
    markers=("traceloop.entity.", "traceloop.span.", "gen_ai.prompt.0", "gen_ai.completion.0", "gen_ai.task."),
    versions="opentelemetry-instrumentation-langchain 0.49.8 and 0.62.4, -llamaindex 0.62.4, -openai 0.47 to 0.62",
    reads=READS,
    switch="TRACELOOP_TRACE_CONTENT=true",
    example={
        "traceloop.span.kind": "task",
        "traceloop.entity.name": "VectorIndexRetriever",
        "traceloop.entity.input": '{"query": "How long is the warranty?"}',
        "traceloop.entity.output": '{"documents": [{"page_content": "The warranty is 24 months."}]}',
    },
)
