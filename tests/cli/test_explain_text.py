"""What `explain` prints of one trace."""

from __future__ import annotations

import json

from otel_ctxscore.cli.explain_text import MAX_SPANS, render, to_json
from otel_ctxscore.core.conventions import extract
from otel_ctxscore.core.spans import Span, Trace
from tests.core.conventions.building import ANSWER, KETTLE, QUERY, RETURNS, TRACE_ID, Built, listed, typed


def traced() -> Built:
    built = Built()
    root = built.span("chain", b"", typed("CHAIN", QUERY, ANSWER))
    built.span("retrieve", root, {**typed("RETRIEVER", QUERY), **listed(KETTLE, RETURNS)})
    built.span("weather", root, typed("TOOL", "x", "sunny", **{"tool.name": "get_weather"}))
    return built


def told(built: Built) -> tuple[Trace, str]:
    trace = Trace(TRACE_ID, tuple(built.spans))
    return trace, render(trace, extract(trace))


def test_json_has_the_fields_of_the_contract() -> None:
    trace = Trace(TRACE_ID, tuple(traced().spans))
    said = json.loads(json.dumps(to_json(trace, extract(trace))))
    root, found = (span.span_id.hex() for span in trace.spans[:2])
    where = {"span_id": found, "attribute": "retrieval.documents.0.document.content"}
    assert said["trace_id"] == TRACE_ID.hex()
    assert said["convention"] == "openinference"
    assert (said["outcome"], said["reason"]) == (None, None)
    (run,) = said["runs"]
    assert run["query"] == {"text": QUERY, "span_id": root, "attribute": "input.value"}
    assert run["response"] == {"text": ANSWER, "span_id": root, "attribute": "output.value"}
    (retrieval,) = run["retrievals"]
    assert {key: retrieval[key] for key in ("span_id", "kind", "ranked", "query")} == {
        "span_id": found, "kind": "retriever", "ranked": True, "query": QUERY,
    }  # fmt: skip
    assert retrieval["contexts"][0] == {"text": KETTLE, "id": None, "document_score": None, **where}
    assert said["considered"][0].keys() == {"span_id", "what", "why_not"}


def test_text_is_a_tree_with_what_was_read_and_what_was_not() -> None:
    _, text = told(traced())
    assert "can be judged, read as openinference" in text
    assert f"“{KETTLE}”" in text
    assert "    chain 0000000000000001  [chain, openinference]  query: input.value;  response: output.value\n" in text
    assert "      retrieve 0000000000000002  [retriever, openinference]  2 contexts of the retriever" in text
    assert "tool 'get_weather' on span 0000000000000003: neither its name nor its result" in text


def test_what_would_help_is_said() -> None:
    built = Built()
    built.span("haystack.component.run", b"", {"haystack.component.type": "BM25Retriever"}, scope="haystack")
    _, text = told(built)
    assert "unscored (no_content)" in text
    assert "to change that: switch content on: HAYSTACK_CONTENT_TRACING_ENABLED=true" in text


def test_a_large_trace_shows_what_was_read_and_what_stands_above_it() -> None:
    built = traced()
    noise = [Span(TRACE_ID, (1000 + i).to_bytes(8, "big"), name=f"noise {i}") for i in range(MAX_SPANS)]
    trace, text = told(Built([*built.spans, *noise]))
    assert "retrieve 0000000000000002" in text
    assert "noise" not in text
    assert f"and {len(trace.spans) - 3} more in which nothing was read" in text


def test_texts_are_on_one_line_each_whatever_they_hold() -> None:
    built = Built()
    built.span("a\nb\x1b[31m", b"", {**typed("RETRIEVER", f"{QUERY}\n\x07"), **listed("one\ntwo\x1b[0m" + "x" * 500)})
    _, text = told(built)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert max(map(len, text.splitlines())) < 400
