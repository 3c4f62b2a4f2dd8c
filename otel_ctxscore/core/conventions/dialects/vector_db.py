"""Vector databases: one span event a result (OpenLLMetry), or attributes (Spring AI and others)."""

from __future__ import annotations

from otel_ctxscore.core.conventions.document_fields import Document, document_of
from otel_ctxscore.core.conventions.document_lists import Documents, lists_in
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.vocabulary import Dialect, Occurrence, Reading, Role, Sight

RESULTS = ("db.query.result", "db.search.result")
SYSTEMS = (
    "chroma", "pinecone", "qdrant", "weaviate", "milvus", "marqo", "lancedb", "astra", "pgvector", "pg_vector",
    "simple", "azure_search", "vespa", "vald", "typesense", "turbopuffer", "upstash",
)  # fmt: skip
TELLING = tuple(f"opentelemetry.instrumentation.{name}" for name in ("chromadb", "pinecone", "marqo", "milvus"))
"""Scopes of instrumentations that write an event for each result."""
READING = ("query", "search", "find", "near", "knn", "retrieve", "recommend", "hybrid", "similarity")
WRITING = ("upsert", "insert", "add", "delete", "update", "create", "drop", "get_", "count", "list", "embedding")


def read(sight: Sight) -> Reading:
    listed = _from_events(sight) or _from_attribute(sight) or _nothing(sight)
    if listed is None and not _is_search(sight):
        return Reading()
    return Reading(
        dialect="vector_db",
        role=Role.VECTOR_DB,
        question=question_in(sight.node("db.vector.query.content")),
        documents=listed,
    )


def _is_search(sight: Sight) -> bool:
    """A search in a vector database that says nothing of what it found."""
    system = sight.word("db.system", "db.system.name")
    operation = sight.word("db.operation", "db.operation.name") or sight.span.name.lower()
    searches = any(word in operation for word in READING) and not any(word in operation for word in WRITING)
    return system.startswith(SYSTEMS) and searches


def _nothing(sight: Sight) -> tuple[Documents, ...] | None:
    """An empty list for a search that writes an event for each result, and wrote none."""
    tells = sight.span.scope.name.startswith(TELLING) and _is_search(sight)
    return (Documents((), f"event:{RESULTS[0]}"),) if tells else None


def _from_events(sight: Sight) -> tuple[Documents, ...] | None:
    events = sight.named(*RESULTS)
    if not events:
        return None
    documents = tuple(map(_document, events))
    return (Documents(documents, f"event:{events[0].name}", incomplete=sight.span.dropped_events_count > 0),)


def _document(event: Occurrence) -> Document:
    """A result whose keys bear the name of the event, or none as Elasticsearch's do."""
    own = f"{event.name}."
    values = {name.removeprefix(own): value for name, value in event.attributes.items()}
    joint = own if any(name.startswith(own) for name in event.attributes) else ""
    return document_of(Node(values, f"event:{event.name}/{joint}"))


def _from_attribute(sight: Sight) -> tuple[Documents, ...] | None:
    node = sight.node("db.vector.query.response.documents")
    return lists_in(node) if node is not None else None


READS = (
    "events db.query.result and db.search.result", "db.system", "db.operation", "db.vector.query.content",
    "db.vector.query.response.documents",
)  # fmt: skip

DIALECT = Dialect(
    name="vector_db",
    title="Vector database spans",
    read=read,
    markers=("db.system", "db.vector.", *RESULTS),
    versions="opentelemetry-instrumentation-chromadb 0.62.4 and its siblings; Spring AI 2.0",
    reads=READS,
    example={
        "event": "db.query.result",
        "db.query.result.id": "doc-1",
        "db.query.result.document": "The warranty is 24 months.",
        "db.query.result.distance": "0.12",
    },
)
