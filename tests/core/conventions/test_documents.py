"""Documents in every shape that tools, stores and frameworks return."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_ctxscore.core.conventions import Options
from otel_ctxscore.core.model import Kind
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.spans import Event
from tests.core.conventions.building import ANSWER, KETTLE, QUERY, RETURNS, TOASTER, Built, listed, texts, typed

TOOL_MESSAGE = ["langchain", "schema", "messages", "ToolMessage"]
BOTH = [{"content": KETTLE}, {"content": RETURNS}]

RESULTS: dict[str, tuple[Any, list[tuple[str, str | None, float | None]]]] = {
    "list": ([{"id": "a", "text": KETTLE, "score": 0.9}], [(KETTLE, "a", 0.9)]),
    "texts": ([KETTLE, RETURNS], [(KETTLE, None, None), (RETURNS, None, None)]),
    "one text": (KETTLE, [(KETTLE, None, None)]),
    "one document": ({"id": "a", "text": KETTLE}, [(KETTLE, "a", None)]),
    "MCP with one text": ({"content": [{"type": "text", "text": KETTLE}], "isError": False}, [(KETTLE, None, None)]),
    "MCP with a text each": (
        [{"type": "text", "text": KETTLE}, {"type": "text", "text": RETURNS}],
        [(KETTLE, None, None), (RETURNS, None, None)],
    ),
    "MCP with JSON": ([{"type": "text", "text": json.dumps({"results": BOTH[:1]})}], [(KETTLE, None, None)]),
    "MCP with structure": (
        {"content": [{"type": "text", "text": "see structure"}], "structuredContent": {"result": BOTH[:1]}},
        [(KETTLE, None, None)],
    ),
    "Bedrock": ({"retrievalResults": [{"content": {"text": KETTLE}, "score": 0.7}]}, [(KETTLE, None, 0.7)]),
    "Elasticsearch": (
        {"hits": {"total": 1, "hits": [{"_id": "a", "_score": 2.1, "_source": {"content": KETTLE}}]}},
        [(KETTLE, "a", 2.1)],
    ),
    "Pinecone": ({"matches": [{"id": "a", "score": 0.9, "metadata": {"text": KETTLE}}]}, [(KETTLE, "a", 0.9)]),
    "Qdrant": ({"points": [{"id": 1, "score": 0.9, "payload": {"page_content": KETTLE}}]}, [(KETTLE, "1", 0.9)]),
    "Chroma": (
        {"ids": [["a", "b"]], "documents": [[KETTLE, RETURNS]], "distances": [[0.1, 0.2]]},
        [(KETTLE, "a", 0.1), (RETURNS, "b", 0.2)],
    ),
    "Weaviate": ({"objects": [{"uuid": "a", "properties": {"content": KETTLE}}]}, [(KETTLE, "a", None)]),
    "Azure": ({"value": [{"@search.score": 1.2, "content": KETTLE, "id": "a"}]}, [(KETTLE, "a", 1.2)]),
    "Dify": ({"records": [{"segment": {"id": "a", "content": KETTLE}, "score": 0.4}]}, [(KETTLE, "a", 0.4)]),
    "OpenAI": (
        {"data": [{"file_id": "a", "score": 0.3, "content": [{"type": "text", "text": KETTLE}]}]},
        [(KETTLE, "a", 0.3)],
    ),
    "Mastra": (
        {"relevantContext": [{"text": KETTLE}], "sources": [{"id": "a", "score": 0.9, "metadata": {"text": KETTLE}}]},
        [(KETTLE, "a", 0.9)],
    ),
    "pairs with scores": ([[{"page_content": KETTLE}, 0.3]], [(KETTLE, None, 0.3)]),
    "message dump": (
        {"lc": 1, "type": "constructor", "id": TOOL_MESSAGE, "kwargs": {"content": json.dumps(BOTH[:1])}},
        [(KETTLE, None, None)],
    ),
    "four levels of JSON": (
        json.dumps({"result": json.dumps({"output": json.dumps({"content": json.dumps(BOTH[:1])})})}),
        [(KETTLE, None, None)],
    ),
    "Python literal": (repr([{"page_content": KETTLE, "metadata": {"page": 1}}]), [(KETTLE, None, None)]),
    "Python constructors": (f"[Document(id='a', metadata={{}}, page_content={KETTLE!r})]", [(KETTLE, "a", None)]),
    "wrapped": ({"status": "ok", "data": {"documents": BOTH}}, [(KETTLE, None, None), (RETURNS, None, None)]),
}


def tool(result: Any, name: str = "search_kb", **span: Any) -> Built:
    """An agent's turn with one tool call."""
    built = Built()
    root = built.span("agent", b"", typed("AGENT", QUERY, ANSWER))
    built.span("call", root, typed("TOOL", {"query": "kettle warranty"}, result, **{"tool.name": name}), **span)
    return built


@pytest.mark.parametrize("shape", RESULTS)
def test_results_of_retrieval_tools(shape: str) -> None:
    result, right = RESULTS[shape]
    (retrieval,) = tool(result).run().retrievals
    assert [(c.text, c.id, c.document_score) for c in retrieval.contexts] == right
    assert (retrieval.kind, retrieval.ranked, retrieval.query) == (Kind.TOOL, True, "kettle warranty")


def test_texts_joined_by_a_tool_have_no_rank() -> None:
    (retrieval,) = tool(f"{KETTLE}\n\n{RETURNS}").run().retrievals
    assert not retrieval.ranked
    assert retrieval.refused is None


REFUSED: dict[str, tuple[Any, Reason]] = {
    "empty list": ([], Reason.NO_CONTEXTS),
    "empty container": ({"results": []}, Reason.NO_CONTEXTS),
    "nothing": (None, Reason.NO_CONTEXTS),
    "MCP error": ({"content": [{"type": "text", "text": "time out"}], "isError": True}, Reason.NO_CONTEXTS),
    "no text in it": ({"count": 3}, Reason.DOCUMENTS_WITHOUT_TEXT),
    "text under an unknown name": ([{"body_md": KETTLE}], Reason.DOCUMENTS_WITHOUT_TEXT),
    "some without text": ([{"id": "a", "text": KETTLE}, {"id": "b"}], Reason.DOCUMENTS_INCOMPLETE),
    "cut JSON": (json.dumps(BOTH)[:-20], Reason.DOCUMENTS_INCOMPLETE),
    "marked as cut": ([{"text": f"{KETTLE[:20]}... [truncated]"}], Reason.DOCUMENTS_INCOMPLETE),
    "redacted": ([{"text": "__REDACTED__"}], Reason.REDACTED),
    "redacted by another hand": (["<REDACTED>"], Reason.REDACTED),
}


@pytest.mark.parametrize("shape", REFUSED)
def test_what_a_retrieval_tool_did_not_return(shape: str) -> None:
    result, reason = REFUSED[shape]
    extraction = tool(result).extraction()
    assert (extraction.outcome, extraction.reason) == (TraceOutcome.UNSCORED, reason)
    assert texts(extraction.runs[0]) == [[]]
    assert extraction.considered


@pytest.mark.parametrize("name", ["searchKB", "retrieve_docs", "kb-lookup", "vectorQueryTool", "findPassages", "rag"])
def test_names_of_retrieval_tools(name: str) -> None:
    assert texts(tool(KETTLE, name).run()) == [[KETTLE]]


@pytest.mark.parametrize(
    "name", ["get_weather", "send_mail", "drag_window", "index_documents", "save_to_kb", "research"]
)
def test_other_tools_are_told_by_the_shape_of_their_result(name: str) -> None:
    assert tool(KETTLE, name).extraction().outcome is TraceOutcome.NOT_RAG
    assert tool([{"type": "text", "text": KETTLE}], name).extraction().outcome is TraceOutcome.NOT_RAG
    assert texts(tool(BOTH, name).run()) == [[KETTLE, RETURNS]]


def test_declared_tool_names() -> None:
    assert texts(tool(KETTLE, "ask_oracle").run(Options(retrieval_tools=("ask_oracle",)))) == [[KETTLE]]


def test_a_failed_call_beside_one_that_succeeded_is_put_aside() -> None:
    built = tool("time out", status=2)
    built.span("call", built.spans[0].span_id, typed("TOOL", "q", BOTH, **{"tool.name": "search_kb"}))
    assert texts(built.run()) == [[KETTLE, RETURNS]]


def rag(*spans: dict[str, Any], **more: Any) -> Built:
    """A chain with spans below it."""
    built = Built()
    root = built.span("chain", b"", typed("CHAIN", QUERY, ANSWER))
    for attributes in spans:
        built.span("step", root, attributes, **more)
    return built


def test_dropped_attributes_and_gaps_make_a_list_incomplete() -> None:
    late = {key.replace(".0.", ".1."): value for key, value in listed(KETTLE).items()}
    for built in (
        rag({**typed("RETRIEVER", QUERY), **listed(KETTLE)}, dropped=2),
        rag(typed("RETRIEVER", QUERY), dropped=2),
        rag({**typed("RETRIEVER", QUERY), **late}),
    ):
        assert built.extraction().reason is Reason.DOCUMENTS_INCOMPLETE


def test_dropped_events_make_a_vector_database_incomplete() -> None:
    built = Built()
    found = Event("db.query.result", {"db.query.result.document": KETTLE, "db.query.result.id": "a"})
    built.span("chroma.query", b"", {"db.system": "chroma"}, found, dropped_events=1)
    built.span("chroma.query", b"", {"db.system": "chroma"}, found)
    assert [r.refused for r in built.run().retrievals] == [Reason.DOCUMENTS_INCOMPLETE, None]


def test_limits_of_documents() -> None:
    scores = {f"retrieval.documents.{rank}.document.score": score for rank, score in enumerate((0.9, 0.2))}
    built = rag({**typed("RETRIEVER", QUERY), **listed(KETTLE, RETURNS, TOASTER), **scores})
    assert texts(built.run(Options(min_document_score=0.5))) == [[KETTLE, TOASTER]]
    assert texts(built.run(Options(max_contexts=1))) == [[KETTLE]]


def test_no_lower_limit_holds_for_a_distance() -> None:
    found = [{"document": KETTLE, "distance": 0.1}, {"document": RETURNS, "distance": 1.4}]
    assert texts(tool(found).run(Options(min_document_score=0.5))) == [[KETTLE, RETURNS]]


def test_a_reranker_takes_the_place_of_what_it_ranked_and_of_nothing_else() -> None:
    reranked = {
        **typed("RERANKER"),
        **listed(KETTLE, RETURNS, prefix="reranker.input_documents"),
        **listed(RETURNS, prefix="reranker.output_documents"),
    }
    built = rag(
        {**typed("RETRIEVER", "a"), **listed(KETTLE, RETURNS)},
        reranked,
        {**typed("RETRIEVER", "b"), **listed(TOASTER)},
    )
    assert texts(built.run()) == [[RETURNS], [TOASTER]]


def test_ids_of_a_reranker_are_joined_with_the_texts_of_the_retriever() -> None:
    ids = {f"retrieval.documents.{rank}.document.id": str(rank) for rank in range(2)}
    order = {f"reranker.output_documents.{rank}.document.id": str(1 - rank) for rank in range(2)}
    built = rag({**typed("RETRIEVER", QUERY), **listed(KETTLE, RETURNS), **ids}, {**typed("RERANKER"), **order})
    (retrieval,) = built.run().retrievals
    assert [(c.text, c.id) for c in retrieval.contexts] == [(RETURNS, "1"), (KETTLE, "0")]
    assert {c.read_from.span_id for c in retrieval.contexts if c.read_from} == {built.spans[1].span_id.hex()}


def test_nested_retrievers_count_once() -> None:
    built = Built()
    root = built.span("chain", b"", typed("CHAIN", QUERY, ANSWER))
    outer = built.span("ensemble", root, {**typed("RETRIEVER", QUERY), **listed(KETTLE, TOASTER, RETURNS)})
    built.span("bm25", outer, {**typed("RETRIEVER", QUERY), **listed(RETURNS)})
    empty = built.span("outer", root, typed("RETRIEVER", QUERY))
    built.span("inner", empty, {**typed("RETRIEVER", QUERY), **listed(TOASTER)})
    assert texts(built.run()) == [[KETTLE, TOASTER, RETURNS], [TOASTER]]


def test_a_retriever_inside_a_tool_counts_and_the_tool_does_not() -> None:
    built = tool(f"{KETTLE}\n\n{RETURNS}")
    built.span("retriever", built.spans[1].span_id, {**typed("RETRIEVER", "kettle"), **listed(KETTLE, RETURNS)})
    (retrieval,) = built.run().retrievals
    assert (retrieval.kind, len(retrieval.contexts)) == (Kind.RETRIEVER, 2)


@pytest.mark.parametrize("nested", [True, False])
def test_double_instrumentation_counts_once(nested: bool) -> None:
    built = Built()
    http = built.span("POST /ask")
    one = built.span("chain", http, typed("CHAIN", QUERY, ANSWER), scope="openinference.instrumentation.langchain")
    built.span(
        "r", one, {**typed("RETRIEVER", QUERY), **listed(KETTLE)}, scope="openinference.instrumentation.langchain"
    )
    entity = {
        "traceloop.entity.input": json.dumps({"inputs": QUERY}),
        "traceloop.entity.output": json.dumps({"outputs": ANSWER}),
    }
    scope = "opentelemetry.instrumentation.langchain"
    other = built.span("w", one if nested else http, {"traceloop.span.kind": "workflow", **entity}, scope=scope)
    documents = {"traceloop.entity.output": json.dumps({"documents": [{"page_content": KETTLE}]})}
    built.span("vector_db_retrieve", other, {"gen_ai.operation.name": "vector_db_retrieve", **documents}, scope=scope)
    assert texts(built.run()) == [[KETTLE]]
