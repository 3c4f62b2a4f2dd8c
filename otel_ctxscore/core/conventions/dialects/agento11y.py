"""Grafana agento11y: operations of its own; content only over its experimental OpenTelemetry export."""

from __future__ import annotations

from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

ROLES = {
    "retriever": Role.RETRIEVER,
    "chain": Role.CHAIN,
    "chat": Role.LLM,
    "llm": Role.LLM,
    "tool": Role.TOOL,
    "agent": Role.AGENT,
}


def read(sight: Sight) -> Reading:
    """The role of a framework's step; documents are never written, messages where the export is switched on."""
    role = ROLES.get(sight.word("agento11y.framework.run_type"), Role.OTHER)
    return Reading(dialect="agento11y", role=role, silent=role in (Role.RETRIEVER, Role.LLM, Role.TOOL))


READS = ("agento11y.framework.run_type", "gen_ai.operation.name", "gen_ai.conversation.id", "and all of otel_genai")

DIALECT = Dialect(
    name="agento11y",
    title="Grafana agento11y",
    read=read,
    scopes=("github.com/grafana/sigil", "github.com/grafana/agento11y", "agento11y"),
    markers=("agento11y.",),
    versions="agento11y 0.21.0",
    reads=READS,
    switch="use_experimental_otel=True; documents of a retriever are written by no version, so that an OpenInference "
    "or OpenTelemetry instrumentation of the retriever is needed beside it",
    off_by_default=True,
    example={
        "gen_ai.operation.name": "framework_retriever",
        "agento11y.framework.run_type": "retriever",
    },
)
