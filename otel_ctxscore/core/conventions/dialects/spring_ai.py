"""Spring AI: observations of chat clients, tools and vector stores, content only where it is switched on."""

from __future__ import annotations

from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.values import text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

ROLES = {"chat_client": Role.CHAIN, "tool_call": Role.TOOL, "vector_store": Role.VECTOR_DB}


def read(sight: Sight) -> Reading:
    role = ROLES.get(sight.word("spring.ai.kind"), Role.OTHER)
    if role is Role.VECTOR_DB:
        is_query = sight.word("db.operation.name") == "query"
        return Reading(dialect="spring_ai", role=role if is_query else Role.OTHER, silent=is_query)
    given = sight.node("spring.ai.tool.call.arguments", "spring.ai.chat.client.input", "gen_ai.prompt")
    gave = sight.node("spring.ai.tool.call.result", "spring.ai.chat.client.output", "gen_ai.completion")
    name = text_of(sight.span.attributes.get("spring.ai.tool.definition.name")) or None
    return reading("spring_ai", role, given, gave, name=name, silent=True)


READS = (
    "spring.ai.kind", "spring.ai.tool.definition.name", "spring.ai.tool.call.arguments", "spring.ai.tool.call.result",
    "db.vector.query.content", "db.vector.query.response.documents", "gen_ai.prompt", "gen_ai.completion",
    "spring.ai.chat.client.conversation.id",
)  # fmt: skip

DIALECT = Dialect(
    name="spring_ai",
    title="Spring AI",
    read=read,
    markers=("spring.ai.",),
    versions="Spring AI 1.0 and 2.0 (by their source)",
    reads=READS,
    switch="spring.ai.tools.observations.include-content=true for tools; documents and prompts need an observation "
    "handler of the application's own that puts them on the span, or OpenInference",
    off_by_default=True,
    example={
        "spring.ai.kind": "tool_call",
        "spring.ai.tool.definition.name": "searchDocs",
        "spring.ai.tool.call.result": '[{"id": "doc-1", "text": "The warranty is 24 months."}]',
    },
)
