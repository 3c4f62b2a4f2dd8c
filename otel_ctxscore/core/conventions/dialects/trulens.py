"""TruLens: `ai.observability.*` attributes, texts as string arrays."""

from __future__ import annotations

from otel_ctxscore.core.conventions.answers import answer_in
from otel_ctxscore.core.conventions.document_lists import Documents, lists_in
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.spans import conversation_in, spoken_in
from otel_ctxscore.core.conventions.vocabulary import HOLDERS, Dialect, Reading, Role, Sight

ROLES = {
    "record_root": Role.CHAIN,
    "retrieval": Role.RETRIEVER,
    "reranking": Role.RERANKER,
    "generation": Role.LLM,
    "agent": Role.AGENT,
    "workflow": Role.CHAIN,
    "workflow_step": Role.CHAIN,
    "tool": Role.TOOL,
    "mcp": Role.TOOL,
    "embedding": Role.EMBEDDING,
    "graph_task": Role.CHAIN,
    "graph_node": Role.CHAIN,
}
P = "ai.observability."
QUESTIONS = (f"{P}record_root.input", f"{P}retrieval.query_text", f"{P}reranking.query_text", f"{P}call.kwargs.query")
LISTS = {Role.RETRIEVER: f"{P}retrieval.retrieved_contexts", Role.RERANKER: f"{P}reranking.output_context_texts"}


def read(sight: Sight) -> Reading:
    role = ROLES.get(sight.word(f"{P}span_type"), Role.OTHER)
    asked = question_in(sight.node(*QUESTIONS)) if role is not Role.LLM else None
    gave = sight.node(f"{P}record_root.output", f"{P}call.return")
    return Reading(
        dialect="trulens",
        role=role,
        name=sight.span.name if role is Role.TOOL else None,
        question=asked,
        answer=answer_in(gave) if role in HOLDERS else None,
        heard=conversation_in(sight.node(f"{P}call.kwargs.messages")) if role is Role.LLM else (),
        said=spoken_in(gave) if role is Role.LLM else (),
        documents=_documents(sight, role),
        result=gave if role is Role.TOOL else None,
    )


def _documents(sight: Sight, role: Role) -> tuple[Documents, ...] | None:
    name = LISTS.get(role)
    node = sight.node(name, f"{P}call.return") if name else None
    return lists_in(node) if node is not None else None


READS = (
    "ai.observability.span_type", "ai.observability.record_root.input", "ai.observability.record_root.output",
    "ai.observability.retrieval.query_text", "ai.observability.retrieval.retrieved_contexts",
    "ai.observability.reranking.output_context_texts", "ai.observability.call.return",
    "ai.observability.conversation_id",
)  # fmt: skip

DIALECT = Dialect(
    name="trulens",
    title="TruLens",
    read=read,
    scopes=("trulens",),
    markers=("ai.observability.",),
    versions="trulens-core 2.16.0",
    reads=READS,
    example={
        "ai.observability.span_type": "retrieval",
        "ai.observability.retrieval.query_text": "How long is the warranty?",
        "ai.observability.retrieval.retrieved_contexts": '["The warranty is 24 months."]',
    },
)
