"""OpenLIT: GenAI attributes; of a retrieval only the first three documents, each cut to a length."""

from __future__ import annotations

from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Sight


def read(_: Sight) -> Reading:
    """All content stands where the GenAI conventions have it, workflow input and output beside it."""
    return Reading(dialect="openlit")


READS = (
    "gen_ai.retrieval.query.text", "gen_ai.retrieval.documents", "gen_ai.retrieval.document_count",
    "gen_ai.workflow.input", "gen_ai.workflow.output", "and all of otel_genai",
)  # fmt: skip

DIALECT = Dialect(
    name="openlit",
    title="OpenLIT",
    read=read,
    scopes=("openlit",),
    versions="openlit 1.45.0",
    reads=READS,
    switch="openlit.init(capture_message_content=True); of more than three documents it keeps three, which is "
    "documents_incomplete",
    example={
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "How long is the warranty?",
        "gen_ai.retrieval.documents": '[{"content": "The warranty is 24 months.", "id": "manual.md"}]',
    },
)
