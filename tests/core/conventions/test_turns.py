"""Which spans are one turn, what was asked in it and what was answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_ctxscore.core.conventions import Considered, Extraction, Options, extract
from otel_ctxscore.core.conventions.reading import seen_in
from otel_ctxscore.core.conventions.runs import service_of
from otel_ctxscore.core.conventions.turns import turns_in
from otel_ctxscore.core.model import Kind
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.spans import UNKNOWN_SERVICE, Event, Resource, Span, Trace
from tests.core.conventions.building import (
    ANSWER,
    KETTLE,
    QUERY,
    RETURNS,
    TOASTER,
    TRACE_ID,
    Built,
    chat,
    listed,
    messages,
    texts,
    typed,
)  # fmt: skip

SECOND = ("And the toaster?", "Six levels.")


def retrieval(query: str, *documents: str) -> dict[str, Any]:
    found = json.dumps([{"id": str(i), "content": text} for i, text in enumerate(documents)])
    asked = {"gen_ai.retrieval.query.text": query, "gen_ai.retrieval.documents": found}
    return {"gen_ai.operation.name": "retrieval", **asked}


def session_of_holders(built: Built) -> None:
    session = built.span("session")
    for query, answer, documents in ((QUERY, ANSWER, (KETTLE, RETURNS)), (*SECOND, (TOASTER,))):
        turn = built.span("turn", session, typed("AGENT", query, answer))
        built.span("retrieve", turn, {**typed("RETRIEVER", query), **listed(*documents)})


def roots_side_by_side(built: Built) -> None:
    for query, answer, documents in ((QUERY, ANSWER, (KETTLE, RETURNS)), (*SECOND, (TOASTER,))):
        turn = built.span("turn", b"", typed("CHAIN", query, answer))
        built.span("retrieve", turn, {**typed("RETRIEVER", query), **listed(*documents)})


def turns_without_content(built: Built) -> None:
    session = built.span("websocket")
    for query, answer, documents in ((QUERY, ANSWER, (KETTLE, RETURNS)), (*SECOND, (TOASTER,))):
        turn = built.span("turn", session)
        built.span("retrieval", turn, retrieval(query, *documents))
        built.span("chat", turn, chat(("user", query), said=answer))


def flat_conversation(built: Built) -> None:
    session = built.span("websocket")
    built.span("retrieval", session, retrieval(QUERY, KETTLE, RETURNS))
    built.span("chat", session, chat(("user", QUERY), said=ANSWER))
    built.span("retrieval", session, retrieval("toaster levels", TOASTER))
    built.span("chat", session, chat(("user", QUERY), ("assistant", ANSWER), ("user", SECOND[0]), said=SECOND[1]))


@pytest.mark.parametrize("build", [session_of_holders, roots_side_by_side, turns_without_content, flat_conversation])
def test_several_turns_are_several_runs(build: Any) -> None:
    built = Built()
    build(built)
    runs = built.extraction().runs
    assert [(run.query, run.response) for run in runs] == [(QUERY, ANSWER), SECOND]
    assert [texts(run) for run in runs] == [[[KETTLE, RETURNS]], [[TOASTER]]]
    assert len({run.span_id for run in runs}) == 2


def test_steps_of_one_turn_are_one_run() -> None:
    """A rewriting model, a retriever and an answering model lie flat; nobody holds the turn."""
    built = Built()
    http = built.span("POST /ask")
    built.span("chat", http, chat(("user", f"Rewrite as a search query: {QUERY}"), said="kettle warranty"))
    built.span("retrieval", http, retrieval("kettle warranty", KETTLE, RETURNS))
    built.span("chat", http, chat(("system", "Answer."), ("user", QUERY), said=ANSWER))
    run = built.run(Options(query_from="retrieval"))
    assert (run.query, run.response, run.retrievals[0].query) == (QUERY, ANSWER, "kettle warranty")
    assert run.questions == ("kettle warranty", "kettle warranty")


def test_graders_and_judges_do_not_answer() -> None:
    built = Built()
    graph = built.span("LangGraph")
    built.span("retrieve", graph, {**typed("RETRIEVER", QUERY), **listed(KETTLE, RETURNS)})
    for step, heard, said in (
        ("grade_documents", f"Grade: {KETTLE}", "yes"),
        ("generate", f"Question: {QUERY}\nContext: {KETTLE}\n{RETURNS}\nAnswer:", ANSWER),
        ("hallucination_grader", "Is the answer grounded?", "no"),
    ):
        node = built.span(step, graph)
        built.span("ChatOpenAI", node, chat(("user", heard), said=said))
    run = built.run()
    assert (run.query, run.response) == (QUERY, ANSWER)


def test_a_sub_agent_asks_nothing_for_the_user() -> None:
    built = Built()
    attributes = {
        "gen_ai.input.messages": messages(("user", QUERY)),
        "gen_ai.output.messages": messages(("assistant", ANSWER)),
    }
    root = built.span("invoke_agent", b"", {"gen_ai.operation.name": "invoke_agent", **attributes})
    tool = built.span(
        "execute_tool research", root, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "research"}
    )
    asked = {
        "gen_ai.input.messages": messages(("user", "Find it")),
        "gen_ai.output.messages": messages(("assistant", "Found")),
    }
    sub = built.span("invoke_agent", tool, {"gen_ai.operation.name": "invoke_agent", **asked})
    built.span("retrieval", sub, retrieval("warranty", KETTLE))
    run = built.run()
    assert (run.query, run.response, run.span_id) == (QUERY, ANSWER, root.hex())


def stuffed(prompt: str) -> Built:
    built = Built()
    http = built.span("POST /ask")
    found = [Event("db.query.result", {"db.query.result.document": text}) for text in (KETTLE, RETURNS)]
    built.span("chroma.query", http, {"db.system": "chroma", "db.operation": "query"}, *found)
    built.span("chat", http, chat(("user", prompt), said=ANSWER))
    return built


@pytest.mark.parametrize(
    "prompt",
    [
        f"Context:\n{KETTLE}\n{RETURNS}\n\nQuestion: {QUERY}\nAnswer:",
        f"Use these passages.\n{KETTLE}\n{RETURNS}\n\n{QUERY}",
        f"{QUERY}\n\nUse these passages:\n{KETTLE}\n{RETURNS}\n",
        f"# Context\n{KETTLE}\n{RETURNS}\n# User question: {QUERY}",
    ],
)
def test_the_question_in_a_prompt_that_holds_the_contexts(prompt: str) -> None:
    query = stuffed(prompt).run().query
    assert query is not None
    assert query.startswith(QUERY)
    assert KETTLE not in query


INPUTS: dict[str, Any] = {
    "text": QUERY,
    "arguments": {"args": ["<__main__.Rag object at 0x7f>", QUERY], "kwargs": {}},
    "keywords": {"args": [], "kwargs": {"query": QUERY, "top_k": 3}},
    "pairs": {"messages": [["user", "Hi"], ["assistant", "Hello"], ["user", QUERY]]},
    "request": {"method": "POST", "url": "/ask", "body": {"question": QUERY, "user_id": "u"}},
    "parts": {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": QUERY}]}]},
    "bundle": {"query_bundle": {"query_str": QUERY, "embedding": None}},
    "literal": repr({"query": QUERY}),
    "components": {"retriever": {"query": QUERY}, "builder": {"question": QUERY}},
    "own name": {"topic_of_the_day": QUERY},
    "state": {"state": {"messages": [{"type": "human", "content": QUERY}]}},
}


@pytest.mark.parametrize("shape", INPUTS)
def test_questions_in_inputs(shape: str) -> None:
    built = Built()
    root = built.span("chain", b"", typed("CHAIN", INPUTS[shape], ANSWER))
    built.span("retrieve", root, {**typed("RETRIEVER"), **listed(KETTLE)})
    assert built.run().query == QUERY


@pytest.mark.parametrize(
    "given", [["one question?", "another one?"], {"session_id": "a b", "config": {}}, '{"messages": [{"ro']
)
def test_what_asks_nothing_known(given: Any) -> None:
    built = Built()
    root = built.span("chain", b"", typed("CHAIN", given, ANSWER))
    built.span("retrieve", root, {**typed("RETRIEVER"), **listed(KETTLE)})
    assert built.extraction().reason is Reason.NO_QUERY


AI = ["langchain", "schema", "messages", "AIMessage"]
OUTPUTS: dict[str, Any] = {
    "answer beside contexts": {"input": QUERY, "context": [{"page_content": KETTLE}], "answer": ANSWER},
    "result": {"query": QUERY, "result": ANSWER, "source_documents": []},
    "choices": {"choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}}]},
    "blocks": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    "candidates": {"candidates": [{"content": {"parts": [{"text": ANSWER}], "role": "model"}}]},
    "responses": {
        "output": [
            {"type": "reasoning"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
        ]
    },
    "thread": {"messages": [{"type": "human", "content": QUERY}, {"type": "ai", "content": ANSWER}]},
    "dump": {"lc": 1, "type": "constructor", "id": AI, "kwargs": {"content": ANSWER}},
    "stream of texts": ["It has ", "a 24 ", "month warranty."],
    "stream of chunks": [
        {"type": "AIMessageChunk", "content": "It has"},
        {"type": "AIMessageChunk", "content": " a 24 month warranty."},
    ],
    "constructor": f"Prediction(\n    reasoning='r',\n    answer={ANSWER!r}\n)",
    "components": {"llm": {"replies": [ANSWER]}, "retriever": {"documents": [{"content": KETTLE}]}},
}


@pytest.mark.parametrize("shape", OUTPUTS)
def test_answers_in_outputs(shape: str) -> None:
    built = Built()
    root = built.span("chain", b"", typed("CHAIN", QUERY, OUTPUTS[shape]))
    built.span("retrieve", root, {**typed("RETRIEVER", QUERY), **listed(KETTLE)})
    assert built.run().response == ANSWER


@pytest.mark.parametrize(
    "gave",
    [
        "<async_generator object f at 0x7f3a>",
        {"messages": [{"type": "ai", "content": "", "tool_calls": [{"name": "x", "args": {}, "id": "1"}]}]},
        {"messages": [{"type": "ai", "content": "Let me look", "tool_calls": [{"name": "x", "args": {}, "id": "1"}]}]},
        {"messages": [{"type": "human", "content": QUERY}]},
    ],
)
def test_without_an_answer_precision_remains(gave: Any) -> None:
    built = Built()
    root = built.span("chain", b"", typed("CHAIN", QUERY, gave))
    built.span("retrieve", root, {**typed("RETRIEVER", QUERY), **listed(KETTLE)})
    extraction = built.extraction()
    assert (extraction.outcome, extraction.runs[0].incomplete_reason) == (None, Reason.NO_RESPONSE)


def test_earlier_turns_are_the_history() -> None:
    built = Built()
    root = built.span(
        "agent", b"", typed("CHAIN", {"input": QUERY, "chat_history": [["human", "Hi"], ["ai", "Hello"]]}, ANSWER)
    )
    built.span("retrieve", root, {**typed("RETRIEVER", QUERY), **listed(KETTLE)})
    assert built.run().history == (("user", "Hi"), ("assistant", "Hello"))


CALL = {"id": "c", "type": "function", "function": {"name": "search_docs", "arguments": '{"query": "kettle"}'}}
FOUND = json.dumps([{"text": KETTLE}, {"text": RETURNS}])
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "OpenAI": [
        {"role": "user", "content": QUERY},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", "content": FOUND},
    ],
    "Anthropic": [
        {"role": "user", "content": QUERY},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "search_docs", "input": {"query": "kettle"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": FOUND}]}]},
    ],
    "Gemini": [
        {"role": "user", "parts": [{"text": QUERY}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "search_docs", "args": {"query": "kettle"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "search_docs", "response": {"result": FOUND}}}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("api", CONVERSATIONS)
def test_tool_results_that_stand_only_in_the_conversation(api: str) -> None:
    old = [
        {"role": "user", "content": "Before"},
        {"role": "tool", "tool_call_id": "x", "name": "search", "content": f'[{{"text": "{TOASTER}"}}]'},
    ]
    built = Built()
    attributes = chat(said=ANSWER) | {"gen_ai.input.messages": json.dumps(old + CONVERSATIONS[api])}
    built.span("chat", b"", attributes)
    run = built.run()
    assert (run.query, run.response, texts(run)) == (QUERY, ANSWER, [[KETTLE, RETURNS]])
    assert [(r.kind, r.query) for r in run.retrievals] == [(Kind.TOOL, "kettle")]


def official(documents: str | None = None) -> Built:
    """The official conventions: ids in rank order on the retrieval, texts only in the prompt."""
    built = Built()
    root = built.span("invoke_workflow", b"", {"gen_ai.operation.name": "invoke_workflow"})
    ids = documents or json.dumps([{"id": "a", "score": 0.9}, {"id": "b", "score": 0.8}])
    asked = {"gen_ai.retrieval.query.text": QUERY, "gen_ai.retrieval.documents": ids}
    built.span("retrieval", root, {"gen_ai.operation.name": "retrieval", **asked})
    variable = {"gen_ai.prompt.variable.context": f"{KETTLE}\n\n{RETURNS}"}
    built.span("chat", root, chat(("user", QUERY), said=ANSWER, **variable))
    return built


def test_a_prompt_is_unranked() -> None:
    run = official().run()
    assert [(r.kind, r.ranked) for r in run.retrievals] == [(Kind.PROMPT, False)]
    assert texts(run) == [[f"{KETTLE}\n\n{RETURNS}"]]


def test_as_many_parts_as_documents_are_joined_in_order() -> None:
    built = official()
    (found,) = built.run(Options(prompt_separator="\n\n")).retrievals
    assert (found.kind, found.ranked, found.span_id) == (Kind.RETRIEVER, True, built.spans[1].span_id.hex())
    assert [(c.text, c.id, c.document_score) for c in found.contexts] == [(KETTLE, "a", 0.9), (RETURNS, "b", 0.8)]
    places = [(c.read_from.span_id, c.read_from.attribute) for c in found.contexts if c.read_from]
    chat_span = built.spans[2].span_id.hex()
    assert places == [(chat_span, f"gen_ai.prompt.variable.context#part[{part}]") for part in (0, 1)]


def test_another_number_of_parts_stays_unranked() -> None:
    (found,) = official(json.dumps([{"id": "a"}])).run(Options(prompt_separator="\n\n")).retrievals
    assert (found.kind, found.ranked) == (Kind.PROMPT, False)
    assert [context.text for context in found.contexts] == [KETTLE, RETURNS]


def test_a_prompt_fills_no_retrieval_that_was_empty() -> None:
    assert official("[]").extraction().reason is Reason.NO_CONTEXTS


def test_logs_carry_the_content_of_their_span() -> None:
    built = Built()
    span = built.span("chat", b"", {"gen_ai.operation.name": "chat"})
    built.log(span, "gen_ai.system.message", {"role": "system", "content": f"Context:\n{KETTLE}\n\n{RETURNS}"})
    built.log(span, "gen_ai.user.message", json.dumps({"role": "user", "content": QUERY}))
    built.log(span, "gen_ai.choice", {"index": 0, "message": {"role": "assistant", "content": ANSWER}})
    run = built.run()
    assert (run.query, run.response, texts(run)) == (QUERY, ANSWER, [[f"{KETTLE}\n\n{RETURNS}"]])
    del built.spans[0]
    assert texts(built.run()) == texts(run)


def test_logs_that_hold_both_sides_of_a_span() -> None:
    """As AWS's distribution of OpenTelemetry writes the events of Strands."""
    built = Built()
    scope = "strands.telemetry.tracer"
    root = built.span("invoke_agent", b"", {"gen_ai.operation.name": "invoke_agent"}, scope=scope)
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search_docs"}
    call = built.span("execute_tool", root, tool, scope=scope)
    asked: dict[str, Any] = {"content": {"content": json.dumps([{"text": QUERY}])}, "role": "user"}
    told: dict[str, Any] = {"content": {"message": ANSWER, "finish_reason": "end_turn"}, "role": "assistant"}
    found: dict[str, Any] = {"content": {"message": json.dumps([{"text": FOUND}]), "id": "c"}, "role": "assistant"}
    words: dict[str, Any] = {"content": {"content": '{"query": "kettle"}', "role": "tool", "id": "c"}, "role": "tool"}
    built.log(root, scope, {"input": {"messages": [asked]}, "output": {"messages": [told]}})
    built.log(call, scope, {"input": {"messages": [words]}, "output": {"messages": [found]}})
    run = built.run()
    assert (run.query, run.response, texts(run)) == (QUERY, ANSWER, [[KETTLE, RETURNS]])
    assert run.retrievals[0].query == "kettle"


def test_unknown_attributes_that_look_like_documents_are_pointed_at() -> None:
    built = Built()
    built.span("own", b"", {"own.hits": FOUND, "own.other": "[1, 2]"})
    extraction = built.extraction()
    assert extraction.outcome is TraceOutcome.NOT_RAG
    assert [one.what for one in extraction.considered] == ["attribute 'own.hits'"]


def test_redacted_parts_are_named() -> None:
    built = Built()
    root = built.span("chain", b"", typed("CHAIN", "__REDACTED__", ANSWER))
    built.span("retrieve", root, {**typed("RETRIEVER", "__REDACTED__"), **listed(KETTLE)})
    extraction = built.extraction()
    assert (extraction.outcome, extraction.reason) == (TraceOutcome.UNSCORED, Reason.REDACTED)
    assert "OPENINFERENCE_HIDE_INPUTS" in (extraction.hint or "")


def test_placeholders_inside_messages_are_named_and_those_of_other_spans_are_not() -> None:
    built = Built()
    built.span("retrieval", b"", {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": FOUND})
    built.span("chat", b"", chat(("user", "[REDACTED]"), said="<redacted by policy>"))
    assert built.extraction().reason is Reason.REDACTED
    built.spans[1:] = []
    built.span("GET", b"", {"http.request.header.authorization": "[REDACTED]"})
    assert built.extraction().reason is Reason.NO_QUERY


def test_content_that_is_off_is_said_with_its_switch() -> None:
    built = Built()
    built.span("haystack.component.run", b"", {"haystack.component.type": "BM25Retriever"}, scope="haystack")
    extraction = built.extraction()
    assert extraction.reason is Reason.NO_CONTENT
    assert "HAYSTACK_CONTENT_TRACING_ENABLED" in (extraction.hint or "")


def test_evaluations_are_left_out_with_all_below_them() -> None:
    built = Built()
    root = built.span("chain", b"", typed("CHAIN", QUERY, ANSWER))
    built.span("retrieve", root, {**typed("RETRIEVER", QUERY), **listed(KETTLE)})
    judge = built.span("judge", root, typed("EVALUATOR"))
    built.span("retrieve", judge, {**typed("RETRIEVER", "judge's"), **listed(TOASTER)})
    assert texts(built.run()) == [[KETTLE]]
    built.spans = built.spans[2:]
    assert built.extraction().outcome is TraceOutcome.OWN_EVALUATION


@pytest.mark.parametrize(
    "attributes",
    [{}, {"db.system": "postgresql", "db.operation": "SELECT"}, chat(("user", "Hi"), said="Hello"), {"db.system": "qdrant", "db.operation": "upsert"}],
)  # fmt: skip
def test_other_traces_are_not_rag(attributes: Any) -> None:
    built = Built()
    built.span("span", b"", attributes)
    assert built.extraction().outcome is TraceOutcome.NOT_RAG


def test_parents_in_a_circle_or_missing_lose_nothing() -> None:
    def spans(*parents: bytes) -> Trace:
        chain = Span(TRACE_ID, b"\x01" * 8, parents[0], attributes=typed("CHAIN", QUERY, ANSWER))
        found = Span(TRACE_ID, b"\x02" * 8, parents[1], attributes={**typed("RETRIEVER", QUERY), **listed(KETTLE)})
        return Trace(TRACE_ID, (found, chain))

    for parents in ((b"\x02" * 8, b"\x01" * 8), (b"\x01" * 8, b"\x01" * 8), (b"\x09" * 8, b"\x08" * 8)):
        (run,) = extract(spans(*parents)).runs
        assert (run.query, run.response, texts(run)) == (QUERY, ANSWER, [[KETTLE]])


def test_the_service_is_one_label() -> None:
    assert service_of({"service.name": ["b", "a", "b"]}) == service_of({"service.name": ["a", "b"]}) == "a, b"
    assert service_of({}) == service_of({"service.name": "  "}) == UNKNOWN_SERVICE


def test_a_run_bears_its_anchor() -> None:
    built = Built()
    root = built.span("chain", b"", {**typed("CHAIN", QUERY, ANSWER), "route": "/ask", "session.id": "s"}, status=2)
    built.span("retrieve", root, {**typed("RETRIEVER", QUERY), **listed(KETTLE)})
    run = built.run()
    assert (run.service, run.session, run.error, run.attributes["route"]) == ("shop", "s", True, "/ask")
    assert (run.start_ns, run.end_ns) == (built.spans[0].start_ns, built.spans[0].end_ns)
    assert run.attributes["service.name"] == "shop"


def test_plugins_come_before_the_dialects_and_their_failures_are_named() -> None:
    trace = Trace(TRACE_ID, ())
    own = Extraction(convention="own", considered=(Considered("", "a", "b"),))

    def failing(_: Trace, __: Options) -> Extraction | None:
        raise RuntimeError("no store")

    assert extract(trace, plugins=[lambda _, __: None, lambda _, __: own]) is own
    failed = extract(trace, plugins=[failing])
    assert (failed.outcome, failed.reason) == (TraceOutcome.UNSCORED, Reason.EXTRACTOR_ERROR)
    assert "no store" in (failed.hint or "")
    assert service_of(Resource().attributes) == UNKNOWN_SERVICE


SILENT: dict[str, tuple[str, dict[str, Any], str]] = {
    "openllmetry": (
        "opentelemetry.instrumentation.llamaindex",
        {"traceloop.span.kind": "task", "traceloop.entity.name": "VectorIndexRetriever.task"},
        "TRACELOOP_TRACE_CONTENT",
    ),
    "langsmith": (
        "langsmith",
        {"langsmith.span.kind": "retriever", "gen_ai.prompt": "{}", "gen_ai.completion": "{}"},
        "LANGSMITH_HIDE_INPUTS",
    ),
    "langfuse": ("langfuse-sdk", {"langfuse.observation.type": "retriever"}, "capture_output"),
    "microsoft": (
        "agent_framework",
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search_kb"},
        "ENABLE_SENSITIVE_DATA",
    ),
    "google_adk": (
        "gcp.vertex.agent",
        {"gen_ai.tool.name": "search_kb", "gcp.vertex.agent.tool_response": "{}"},
        "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS",
    ),
    "vercel_ai": ("ai", {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "searchKb"}, "recordOutputs"),
    "openlit": ("openlit.instrumentation.langchain", {"gen_ai.operation.name": "retrieval"}, "capture_message_content"),
}


@pytest.mark.parametrize("dialect", SILENT)
def test_the_switch_of_each_instrumentation(dialect: str) -> None:
    scope, attributes, switch = SILENT[dialect]
    built = Built()
    built.span("span", b"", attributes, scope=scope)
    extraction = built.extraction()
    assert (extraction.reason, extraction.convention) == (Reason.NO_CONTENT, dialect)
    assert switch in (extraction.hint or "")


EMPTY: dict[str, tuple[str, dict[str, Any]]] = {
    "chroma without events": ("opentelemetry.instrumentation.chromadb", {"db.system": "chroma", "db.operation": "query"}),
    "TruLens": ("trulens", {"ai.observability.span_type": "retrieval", "ai.observability.retrieval.retrieved_contexts": []}),
    "OpenLLMetry": ("", {"gen_ai.operation.name": "vector_db_retrieve", "traceloop.entity.output": '{"documents": []}'}),
    "Haystack": ("haystack", {"haystack.component.type": "BM25Retriever", "haystack.component.output": '{"documents": []}'}),
    "MLflow": ("mlflow", {"mlflow.spanType": '"RETRIEVER"', "mlflow.spanOutputs": "[]"}),
    "Langfuse": ("langfuse-sdk", {"langfuse.observation.type": "retriever", "langfuse.observation.output": "[]"}),
    "GenAI": ("", {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": "[]"}),
    "Mastra": (
        "@mastra/otel-exporter",
        {"mastra.span.type": "tool_call", "gen_ai.tool.name": "vectorQueryTool", "gen_ai.tool.call.result": '{"relevantContext": [], "sources": []}'},
    ),
    "Vercel": ("gen_ai", {"gen_ai.operation.name": "rerank", "ai.documents": ['"a"'], "ai.ranking": []}),
}  # fmt: skip


@pytest.mark.parametrize("case", EMPTY)
def test_retrievals_that_returned_nothing(case: str) -> None:
    scope, attributes = EMPTY[case]
    built = Built()
    built.span("span", b"", attributes, scope=scope)
    assert built.extraction().reason is Reason.NO_CONTEXTS


SHAPES = {
    "none": "",
    "one": "-",
    "a chain": "-01",
    "side by side": "-000",
    "roots": "---",
    "roots and what is below": "-0-22",
    "parents that did not come": "-99",
}


@pytest.mark.parametrize("parents", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("spoken", [{}, typed("CHAIN")], ids=["unknown", "known and empty"])
def test_spans_that_say_nothing_are_one_turn(parents: str, spoken: dict[str, Any]) -> None:
    built = Built()
    for parent in parents:
        known = b"" if parent == "-" else (int(parent) + 1).to_bytes(8, "big")
        built.span("GET /", known, {"http.route": "/", **spoken})
    seen = seen_in(Trace(TRACE_ID, tuple(built.spans)))
    [turn] = turns_in(seen)
    assert sorted(span.span_id for span in turn.spans) == [span.span_id for span in built.spans]
    assert turn.anchor is (seen.tree.roots[0] if len(seen.tree.roots) == 1 else None)


@pytest.mark.parametrize("kind", [{}, [], None, 7])
def test_a_part_whose_type_is_no_word_is_read_by_its_text(kind: object) -> None:
    built = Built()
    said = json.dumps([{"role": "user", "content": [{"type": kind, "text": QUERY}]}])
    built.span("chat", b"", {"gen_ai.operation.name": "chat", "gen_ai.input.messages": said})
    [reading] = seen_in(Trace(TRACE_ID, tuple(built.spans))).readings.values()
    assert [part.text for message in reading.heard for part in message.texts] == [QUERY]
