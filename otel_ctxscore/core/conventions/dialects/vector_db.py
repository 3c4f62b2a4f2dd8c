"""Vector databases: one span event a result (OpenLLMetry), or attributes (Spring AI and others)."""

from __future__ import annotations

import re
from dataclasses import replace

from otel_ctxscore.core.conventions.document_fields import Document, document_of
from otel_ctxscore.core.conventions.document_lists import Documents, lists_in
from otel_ctxscore.core.conventions.flattened import has_gap, rows
from otel_ctxscore.core.conventions.nested import Node
from otel_ctxscore.core.conventions.questions import question_in
from otel_ctxscore.core.conventions.values import number_of, text_of
from otel_ctxscore.core.conventions.vocabulary import Dialect, Occurrence, Reading, Role, Sight

RESULTS = ("db.query.result", "db.search.result")
ROWS = "db.vector.query.result"
"""Flattened results of the JavaScript instrumentations, which write the metadata in events of their own."""
RESPONSE = ("db.vector.query.response.documents", "db.query.retrieved_documents")
QUERY_ID = "db.search.query.id"
ASKED = ("db.vector.query.embeddings_count", "db.chroma.query.embeddings_count", "db.chroma.query.texts_count")
"""How many queries a search asked at once."""
QUESTIONS = ("db.vector.query.content", "db.marqo.search.query")
_ROW_METADATA = re.compile(r"[a-z]+\.query\.result\.(\d{1,5})\.metadata")
SYSTEMS = (
    "chroma", "pinecone", "qdrant", "weaviate", "milvus", "marqo", "lancedb", "astra", "pgvector", "pg_vector",
    "simple", "azure_search", "vespa", "vald", "typesense", "turbopuffer", "upstash",
)  # fmt: skip
TELLING = tuple(f"opentelemetry.instrumentation.{name}" for name in ("chromadb", "pinecone", "marqo", "milvus"))
"""Scopes of instrumentations that write an event for each result."""
READING = ("query", "search", "find", "near", "knn", "retrieve", "recommend", "hybrid", "similarity")
WRITING = ("upsert", "insert", "add", "delete", "update", "create", "drop", "get_", "count", "list", "embedding")


def read(sight: Sight) -> Reading:
    listed = _from_events(sight) or _from_rows(sight) or _from_attribute(sight) or _nothing(sight)
    if listed is None and not _is_search(sight):
        return Reading()
    return Reading(
        dialect="vector_db",
        role=Role.VECTOR_DB,
        question=question_in(sight.node(*QUESTIONS)),
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
    """A list for each query that the search asked."""
    events = sight.named(*RESULTS)
    if not events:
        return None
    incomplete = sight.span.dropped_events_count > 0
    found = [(event, _document(event)) for event in events]
    return tuple(
        Documents(tuple(document for _, document in batch), f"event:{events[0].name}", incomplete=incomplete)
        for batch in _batches(found, sight)
    )


_Found = list[tuple[Occurrence, Document]]


def _batches(found: _Found, sight: Sight) -> list[_Found]:
    """The results of each query: told by their number, or as many for each as there are."""
    by_query: dict[str, _Found] = {}
    for event, document in found:
        by_query.setdefault(text_of(event.attributes.get(QUERY_ID)), []).append((event, document))
    if len(by_query) > 1:
        return list(by_query.values())
    asked = max(int(number_of(sight.span.attributes.get(name)) or 1) for name in ASKED)
    size, rest = divmod(len(found), max(asked, 1))
    return [found[at : at + size] for at in range(0, len(found), size)] if size and not rest else [found]


def _from_rows(sight: Sight) -> tuple[Documents, ...] | None:
    listed = rows(sight.span.attributes, ROWS)
    if not listed:
        return None
    metadata = {int(m[1]): o for o in sight.occurrences if (m := _ROW_METADATA.fullmatch(o.name))}
    documents = []
    for row in listed:
        found, told = document_of(Node(dict(row.values), f"{row.at}.")), metadata.get(row.index)
        if told is not None:
            inner = document_of(Node(dict(told.attributes), f"event:{told.name}/"))
            found = replace(found, text=inner.text, at=inner.at, source=inner.source)
        documents.append(found)
    incomplete = has_gap(listed) or sight.span.dropped_attributes_count > 0
    return (Documents(tuple(documents), ROWS, incomplete=incomplete),)


def _document(event: Occurrence) -> Document:
    """A result whose keys bear the name of the event, or none as Elasticsearch's do."""
    own = f"{event.name}."
    values = {name.removeprefix(own): value for name, value in event.attributes.items()}
    joint = own if any(name.startswith(own) for name in event.attributes) else ""
    return document_of(Node(values, f"event:{event.name}/{joint}"))


def _from_attribute(sight: Sight) -> tuple[Documents, ...] | None:
    node = sight.node(*RESPONSE)
    written = (event.node(RESPONSE[0]) for event in sight.occurrences)
    node = node or next((one for one in written if one is not None), None)
    return lists_in(node) if node is not None else None


READS = (
    "events db.query.result and db.search.result", "db.system", "db.operation", "db.vector.query.content",
    *RESPONSE, "db.vector.query.result.N.*", "db.marqo.search.query",
)  # fmt: skip

DIALECT = Dialect(
    name="vector_db",
    title="Vector database spans",
    read=read,
    markers=("db.system", "db.vector.", *RESULTS, *RESPONSE),
    versions="opentelemetry-instrumentation-chromadb 0.62.4 and its siblings, those of JavaScript by their source; "
    "Spring AI 2.0",
    reads=READS,
    example={
        "event": "db.query.result",
        "db.query.result.id": "doc-1",
        "db.query.result.document": "The warranty is 24 months.",
        "db.query.result.distance": "0.12",
    },
)
