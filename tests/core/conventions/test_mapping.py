"""Conventions that a configuration declares."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from otel_ctxscore.core.conventions import Mapping, Options
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from tests.core.conventions.building import ANSWER, KETTLE, QUERY, RETURNS, Built, chat, texts, typed

DECLARED: dict[str, Any] = {
    "name": "house",
    "when": {"scope": "house.rag"},
    "query": {"span": {"name": "/^turn/"}, "path": "house.request#message.text"},
    "retrieval": {
        "span": {"name": "lookup", "kind": "internal", "attributes": {"house.step": "/^(find|seek)$/"}},
        "query": "house.words",
        "documents": "house.hits#response.hits[?kept]",
        "text": "body.md",
        "id": "key",
        "score": "rank.points",
    },
    "response": {"span": {"attributes": {"house.step": "answer"}}, "path": "house.reply"},
}

HITS = [
    {"kept": True, "key": "a", "body": {"md": KETTLE}, "rank": {"points": 0.9}},
    {"kept": False, "key": "x", "body": {"md": "left out"}},
    {"kept": True, "key": "b", "body": {"md": RETURNS}, "rank": {"points": "0.5"}},
]


def house(hits: Any = HITS, scope: str = "house.rag") -> Built:
    built = Built()
    root = built.span("turn 1", b"", {"house.request": json.dumps({"message": {"text": QUERY}})}, scope=scope)
    found = {"house.step": "find", "house.words": "kettle", "house.hits": json.dumps({"response": {"hits": hits}})}
    built.span("lookup", root, found, scope=scope)
    built.span("lookup", root, {**found, "house.step": "warm-up"}, scope=scope)
    built.span("reply", root, {"house.step": "answer", "house.reply": ANSWER}, scope=scope)
    return built


def declared(**changes: Any) -> Options:
    return Options(mappings=(Mapping.from_dict({**DECLARED, **changes}),))


def test_a_mapping_reads_what_no_dialect_knows() -> None:
    assert house().extraction().outcome is TraceOutcome.NOT_RAG
    extraction = house().extraction(declared())
    (run,) = extraction.runs
    assert (extraction.convention, run.query, run.response) == ("house", QUERY, ANSWER)
    (retrieval,) = run.retrievals
    assert [(c.text, c.id, c.document_score) for c in retrieval.contexts] == [(KETTLE, "a", 0.9), (RETURNS, "b", 0.5)]
    assert retrieval.query == "kettle"
    places = [context.read_from.attribute for context in retrieval.contexts if context.read_from]
    assert all(place is not None and place.startswith("house.hits#") for place in places)


def test_a_mapping_that_does_not_apply_changes_nothing() -> None:
    extraction = house(scope="another").extraction(declared())
    assert extraction.outcome is TraceOutcome.NOT_RAG
    assert [(c.what, c.why_not) for c in extraction.considered] == [
        ("mapping 'house'", "no span of this trace matches its `when`")
    ]


def test_a_selector_that_matches_no_span_is_told() -> None:
    retrieval = {**DECLARED["retrieval"], "span": {"name": "seek"}}
    extraction = house().extraction(declared(retrieval=retrieval))
    assert [(c.what, c.why_not) for c in extraction.considered] == [
        ("mapping 'house'", "no span matches the selector of retrieval")
    ]


@pytest.mark.parametrize(
    ("hits", "reason"),
    [
        ([], Reason.NO_CONTEXTS),
        ([{"kept": True, "key": "a"}], Reason.DOCUMENTS_WITHOUT_TEXT),
        ([{"kept": True, "body": {"md": "__REDACTED__"}}], Reason.REDACTED),
        ("no list", Reason.NO_CONTEXTS),
    ],
)
def test_what_a_mapping_did_not_find_is_named(hits: Any, reason: Reason) -> None:
    assert house(hits).extraction(declared()).reason is reason


def test_flattened_lists_and_plain_documents() -> None:
    built = Built()
    flat = {f"d.{rank}.body": text for rank, text in enumerate((KETTLE, RETURNS))} | {"d.10.body": "later", "q": QUERY}
    built.span("search", b"", {**flat, **{f"d.{rank}.body": "between" for rank in range(2, 10)}})
    retrieval = {"span": "search", "documents": "d.*", "text": "body"}
    options = Options(
        mappings=(
            Mapping.from_dict({"name": "flat", "retrieval": retrieval, "query": {"span": "search", "path": "q"}}),
        )
    )
    run = built.run(options)
    assert run.query == QUERY
    assert texts(run) == [[KETTLE, RETURNS, *["between"] * 8, "later"]]

    plain = Built()
    plain.span("search", b"", {"found": [KETTLE, RETURNS], "q": QUERY})
    loose = Mapping.from_dict({"name": "plain", "retrieval": {"span": "search", "query": "q", "documents": "found"}})
    assert texts(plain.run(Options(mappings=(loose,)))) == [[KETTLE, RETURNS]]


def test_a_mapping_beside_a_dialect_fills_only_what_it_declares() -> None:
    built = Built()
    root = built.span("chain", b"", typed("CHAIN", QUERY, ANSWER))
    built.span("own store", root, {"own.docs": json.dumps([{"body_md": KETTLE}])})
    built.span("chat", root, chat(("user", QUERY), said=ANSWER))
    retrieval = {"span": {"name": "own store"}, "documents": "own.docs", "text": "body_md"}
    run = built.run(Options(mappings=(Mapping.from_dict({"name": "own", "retrieval": retrieval}),)))
    assert (run.query, run.response, texts(run), run.convention) == (QUERY, ANSWER, [[KETTLE]], "own")


RETRIEVAL = DECLARED["retrieval"]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name: a text is needed"),
    ({"retrieval": None}, "mapping 'house': retrieval: a map"),
    ({"extra": 1}, "mapping: unknown key 'extra'"),
    ({"when": {"scopes": "x"}}, "mapping 'house': when: unknown key 'scopes'"),
    ({"query": {"span": {"name": "turn"}}}, "mapping 'house': query.path: a text is needed"),
    ({"query": {"span": {}, "path": "a"}}, "mapping 'house': query.span: give at least one"),
    ({"query": {"span": {"kind": "inner"}, "path": "a"}}, "mapping 'house': query.span.kind: 'inner' is none of"),
    ({"query": {"span": "turn", "path": "a#[["}}, "mapping 'house': query.path: '[[' is no JMESPath"),
    ({"query": {"span": "turn", "path": "#a"}}, "mapping 'house': query.path: '#a' is no attribute key"),
    ({"response": {"span": {"name": "/(/"}, "path": "a"}}, "mapping 'house': response.span.name: /(/ is no regular"),
    ({"retrieval": {**RETRIEVAL, "documents": 3}}, "mapping 'house': retrieval.documents: a text is needed, not 3"),
]


@pytest.mark.parametrize(("change", "line"), WRONG)
def test_a_wrong_declaration_is_one_line_that_names_the_field(change: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(line)) as caught:
        Mapping.from_dict({**DECLARED, **change})
    assert "\n" not in str(caught.value)


def test_a_pattern_that_tries_without_end_is_given_up() -> None:
    built = house()
    built.span("lookup", b"", {"house.step": "a" * 5000 + "!"}, scope="house.rag")
    query = {"span": {"attributes": {"house.step": "/^(a|a)*$/"}}, "path": "house.words"}
    extraction = built.extraction(declared(query=query))
    assert (extraction.outcome, extraction.reason) == (TraceOutcome.UNSCORED, Reason.EXTRACTOR_ERROR)
    assert extraction.hint == ("extraction.mappings: the pattern /^(a|a)*$/ took too long on a text of 5001 characters")
