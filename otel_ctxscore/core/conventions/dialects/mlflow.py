"""MLflow tracing: every attribute value is JSON, strings included."""

from __future__ import annotations

from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

ROLES = {
    "llm": Role.LLM,
    "chat_model": Role.LLM,
    "chain": Role.CHAIN,
    "agent": Role.AGENT,
    "workflow": Role.CHAIN,
    "task": Role.CHAIN,
    "unknown": Role.CHAIN,
    "tool": Role.TOOL,
    "retriever": Role.RETRIEVER,
    "reranker": Role.RERANKER,
    "embedding": Role.EMBEDDING,
    "parser": Role.OTHER,
    "memory": Role.OTHER,
    "guardrail": Role.GUARDRAIL,
}


def read(sight: Sight) -> Reading:
    role = ROLES.get(sight.word("mlflow.spanType"), Role.CHAIN if sight.node("mlflow.spanInputs") else Role.OTHER)
    given, gave = sight.node("mlflow.spanInputs"), sight.node("mlflow.spanOutputs")
    return reading("mlflow", role, given, gave, name=sight.span.name, json=True)


DIALECT = Dialect(
    name="mlflow",
    title="MLflow tracing",
    read=read,
    scopes=("mlflow",),
    markers=("mlflow.span",),
    versions="mlflow-tracing 3.17.2",
    reads=("mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.trace.session"),
    example={
        "mlflow.spanType": '"RETRIEVER"',
        "mlflow.spanInputs": '{"query": "How long is the warranty?"}',
        "mlflow.spanOutputs": '[{"page_content": "The warranty is 24 months.", "id": "doc-1", "metadata": {}}]',
    },
)
