"""OpenInference (Arize): typed spans with flattened lists of documents and messages."""

from __future__ import annotations

from itertools import chain

from otel_ctxscore.core.conventions.answers import answer_in
from otel_ctxscore.core.conventions.document_fields import Document
from otel_ctxscore.core.conventions.document_lists import Documents, described_by, flattened, holds_text, lists_in
from otel_ctxscore.core.conventions.flattened import rows
from otel_ctxscore.core.conventions.hosted import grounded_in
from otel_ctxscore.core.conventions.messages import Message, messages_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.signs import variables_in
from otel_ctxscore.core.conventions.spans import conversation_in, flattened_messages, handed_on, spoken_in, told_in
from otel_ctxscore.core.conventions.tools import reranks, words_of
from otel_ctxscore.core.conventions.transcripts import prompt_in
from otel_ctxscore.core.conventions.values import text_of
from otel_ctxscore.core.conventions.vocabulary import HOLDERS, Dialect, Question, Reading, Role, Sight, Text

ROLES = {
    "agent": Role.AGENT, "chain": Role.CHAIN, "task": Role.CHAIN, "llm": Role.LLM, "retriever": Role.RETRIEVER,
    "reranker": Role.RERANKER, "tool": Role.TOOL, "embedding": Role.EMBEDDING, "prompt": Role.PROMPT,
    "guardrail": Role.GUARDRAIL, "unknown": Role.CHAIN, "vector_db": Role.VECTOR_DB,
}  # fmt: skip
KINDS = ("openinference.span.kind", "fi.span.kind", "gen_ai.span.kind")
"""The last two in what others made of these conventions: traceAI, and the Chinese clouds to which Dify exports."""
INPUT = ("input.value", "gen_ai.entity.input")
OUTPUT = ("output.value", "gen_ai.entity.output")
DOCUMENTS = {
    Role.RETRIEVER: "retrieval.documents",
    Role.VECTOR_DB: "retrieval.documents",
    Role.RERANKER: "reranker.output_documents",
}


def read(sight: Sight) -> Reading:
    role = _role(sight)
    return Reading(
        dialect="openinference",
        role=role,
        name=_text(sight, "tool.name"),
        question=_question(sight, role),
        answer=_answer(sight) if role in HOLDERS or _generates(sight, role) else None,
        heard=_messages(sight, "llm.input_messages", "user") or _prompts(sight) or _given(sight, role),
        said=_said(sight, role),
        documents=_documents(sight, role),
        candidates=_candidates(sight) if role is Role.RERANKER else None,
        passed=_passed(sight) if role in HOLDERS else None,
        result=sight.node(*OUTPUT) if role is Role.TOOL else None,
        variables=variables_in(sight.node("llm.prompt_template.variables")),
    )


def _role(sight: Sight) -> Role:
    role = ROLES.get(sight.word(*KINDS), Role.OTHER)
    if role is Role.CHAIN and reranks(sight.span.name) and _documents(sight, Role.RERANKER):
        return Role.RERANKER
    if role is Role.OTHER and sight.node(*INPUT) is not None:
        return Role.CHAIN
    return role


def _text(sight: Sight, name: str) -> str | None:
    node = sight.node(name)
    return text_of(node.value) if node else None


def _generates(sight: Sight, role: Role) -> bool:
    """A retriever that answers as well, as Bedrock's `retrieve_and_generate`: the output is the answer."""
    return role is Role.RETRIEVER and "generate" in words_of(sight.span.name)


def _is_json(sight: Sight, side: str) -> bool:
    return "json" in sight.word(f"{side}.mime_type")


def _question(sight: Sight, role: Role) -> Question | None:
    if role is Role.RERANKER and (asked := question_in(sight.node("reranker.query"))) is not None:
        return asked
    if role in (Role.LLM, Role.PROMPT):
        variables = sight.node("llm.prompt_template.variables")
        return question_in(variables) if variables and _names_question(variables) else None
    return question_in(sight.node(*INPUT), json=_is_json(sight, "input"))


def _names_question(node: Node) -> bool:
    value = node.opened().value
    return isinstance(value, dict) and bool(value.keys() & {"question", "query", "query_str", "user_query", "input"})


def _answer(sight: Sight) -> Text | None:
    return answer_in(sight.node(*OUTPUT))


def _given(sight: Sight, role: Role) -> tuple[Message, ...]:
    return conversation_in(sight.node(*INPUT)) if role is Role.LLM else ()


def _spoken(sight: Sight, role: Role) -> tuple[Message, ...]:
    output = sight.node(*OUTPUT)
    return spoken_in(output) if role is Role.LLM else told_in(output) if role in HOLDERS else ()


def _said(sight: Sight, role: Role) -> tuple[Message, ...]:
    """Messages, flattened; the whole output where only that has what tools of the provider returned."""
    told = _messages(sight, "llm.output_messages", "assistant")
    spoken = _spoken(sight, role) if not told or role is Role.LLM else ()
    return spoken if not told or any(message.results for message in spoken) else told


def _messages(sight: Sight, prefix: str, role: str) -> tuple[Message, ...]:
    whole = sight.node(prefix)
    if whole is not None:
        return messages_in(whole, role=role)
    return flattened_messages(sight.span.attributes, prefix, role, "message.")


def _prompts(sight: Sight) -> tuple[Message, ...]:
    """Prompts of completion models: flattened by the conventions, an array in the LlamaIndex instrumentation."""
    whole = sight.node("llm.prompts")
    if whole is not None:
        texts = list(whole.opened().each())
        return tuple(chain.from_iterable(map(prompt_in, texts))) if texts else messages_in(whole)
    found = (
        prompt_in(Node(row.values.get("prompt.text"), f"{row.at}.prompt.text"))
        for row in rows(sight.span.attributes, "llm.prompts")
    )
    return tuple(chain.from_iterable(found))


def _documents(sight: Sight, role: Role) -> tuple[Documents, ...] | None:
    prefix = DOCUMENTS.get(role)
    if prefix is None:
        return grounded_in(sight.node(*OUTPUT)) if role is Role.LLM else None
    listed = flattened(sight.span.attributes, prefix, dropped=sight.span.dropped_attributes_count)
    output = sight.node(prefix, *(() if _generates(sight, role) else ("retrieval.document", *OUTPUT)))
    whole = lists_in(output) if output is not None else None
    if listed is not None and listed.incomplete and whole and whole[0].texts > listed.texts:
        return whole  # of a span that lost attributes, but not this one
    if listed is not None:
        return (described_by(listed, [d for one in whole or () for d in one.documents]),)
    if whole is not None or role is not Role.RETRIEVER:
        return whole
    if output is not None and holds_text(output):
        return (Documents((Document(None, output.at),), output.at),)  # of a shape that nobody told us of
    return (Documents((), prefix, incomplete=sight.span.dropped_attributes_count > 0),)


def _candidates(sight: Sight) -> tuple[Documents, ...] | None:
    listed = flattened(sight.span.attributes, "reranker.input_documents")
    return (listed,) if listed else None


def _passed(sight: Sight) -> tuple[Documents, ...] | None:
    return handed_on(sight.node(*INPUT), sight.node(*OUTPUT), sight.span.name)


READS = (
    "openinference.span.kind", "input.value", "output.value", "input.mime_type", "retrieval.documents.N.document.*",
    "reranker.query", "reranker.output_documents.N.document.*", "reranker.input_documents.N.document.*",
    "llm.input_messages.N.message.*", "llm.output_messages.N.message.*", "llm.prompts",
    "llm.prompt_template.variables", "tool.name", "session.id", "fi.span.kind", "gen_ai.span.kind",
    "retrieval.document", "gen_ai.entity.input", "gen_ai.entity.output",
)  # fmt: skip

DIALECT = Dialect(
    name="openinference",
    title="OpenInference",
    read=read,
    scopes=("openinference.", "@arizeai/openinference"),
    markers=(
        *KINDS,
        "openinference.",
        "retrieval.documents",
        "reranker.",
        "llm.input_messages",
        "llm.output_messages",
        "input.value",
        "output.value",
    ),
    versions="openinference-instrumentation-langchain 0.1.80, -llama-index 4.6.1, -haystack 0.1.46; spec of 2026-08",
    reads=READS,
    example={
        "openinference.span.kind": "RETRIEVER",
        "input.value": "How long is the warranty?",
        "retrieval.documents.0.document.content": "The warranty is 24 months.",
    },
)
