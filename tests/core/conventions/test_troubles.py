"""The cases of extraction and assembly that went wrong elsewhere."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

from otel_ctxscore.core.conventions import Extraction, extract
from otel_ctxscore.core.model import Kind, RagRun
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from tests.core.conventions.trace_files import traces_in
from tests.troubles.spans import Shorthand, cases, request

TEXT = "The ledger service listens on port 7443."
QUERY = "Which port does the ledger service use?"


def spans_of(case: str) -> list[Shorthand]:
    return list(deepcopy(cases()[case]["input"]["spans"]))


def extracted(spans: list[Shorthand]) -> Extraction:
    (trace,) = traces_in(request(spans))
    return extract(trace)


def only_run(extraction: Extraction) -> RagRun:
    (run,) = extraction.runs
    return run


def test_c02_flattened_indexes_are_numbers() -> None:
    (retrieval,) = only_run(extracted(spans_of("C02"))).retrievals
    assert [context.text for context in retrieval.contexts] == [f"doc-{rank:02}" for rank in range(12)]


SHAPES = cases()["C03"]["input"]["shapes"]


def shaped(output: str) -> Extraction:
    spans = spans_of("C03")
    spans[0]["attrs"]["output.value"] = output
    return extracted(spans)


@pytest.mark.parametrize("output", SHAPES[:7])
def test_c03_every_known_shape_gives_the_same_document(output: str) -> None:
    run = only_run(shaped(output))
    assert [context.text for context in run.retrievals[0].contexts] == [TEXT]
    assert run.query == QUERY


def test_c03_an_unknown_field_is_refused_by_name() -> None:
    extraction = shaped(SHAPES[7])
    assert extraction.reason is Reason.DOCUMENTS_WITHOUT_TEXT
    assert only_run(extraction).retrievals[0].contexts == ()


def test_c16_each_retrieval_on_its_own_span_and_the_nested_twin_once() -> None:
    run = only_run(extracted(spans_of("C16")))
    assert [(r.span_id, r.query) for r in run.retrievals] == [
        ("b1".rjust(16, "0"), "ledger port"),
        ("b2".rjust(16, "0"), "ledger owner"),
    ]
    assert run.query == "Compare port and owner of the ledger service"


VARIANTS: dict[str, tuple[Shorthand, Reason]] = {
    "no document attributes": ({}, Reason.NO_CONTEXTS),
    "empty list": ({"output.value": "[]"}, Reason.NO_CONTEXTS),
    "null": ({"output.value": "null"}, Reason.NO_CONTEXTS),
    "empty content": ({"retrieval.documents.0.document.content": ""}, Reason.DOCUMENTS_WITHOUT_TEXT),
    "blank content": ({"retrieval.documents.0.document.content": "   \n"}, Reason.DOCUMENTS_WITHOUT_TEXT),
    "id and score alone": (
        {"retrieval.documents.0.document.id": "d1", "retrieval.documents.0.document.score": 0.4},
        Reason.DOCUMENTS_WITHOUT_TEXT,
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_c24_nothing_found_is_said_and_never_judged(variant: str) -> None:
    attributes, reason = VARIANTS[variant]
    spans = spans_of("C24")
    spans[1]["attrs"] |= attributes
    extraction = extracted(spans)
    run = only_run(extraction)
    assert (extraction.outcome, extraction.reason) == (TraceOutcome.UNSCORED, reason)
    assert run.judged == ()
    assert run.refused is reason


def test_c37_values_of_every_type() -> None:
    run = only_run(extracted(spans_of("C37")))
    assert run.query == "Which port?"
    texts = [context.text for context in run.retrievals[0].contexts]
    assert texts == ["port is 7443 é", "7443", '["a", 1, null]']
    assert run.retrievals[0].contexts[0].document_score == 0.91
    assert (run.service, run.session) == ("shop", "s1")


INPUTS = cases()["C54"]["input"]["input_shapes"]


def asked(shape: str) -> Extraction:
    spans = spans_of("C54")
    spans[0]["attrs"]["input.value"] = shape.split(" (mime", 1)[0]
    return extracted(spans)


@pytest.mark.parametrize("shape", INPUTS[:5])
def test_c54_the_question_in_every_shape(shape: str) -> None:
    assert only_run(asked(shape)).query == "Which port?"


@pytest.mark.parametrize("shape", INPUTS[5:])
def test_c54_no_question_is_a_reason(shape: str) -> None:
    extraction = asked(shape)
    assert extraction.reason is Reason.NO_QUERY
    assert only_run(extraction).query is None


def test_c62_clocks_do_not_order_retriever_and_reranker() -> None:
    run = only_run(extracted(spans_of("C62")))
    assert [(r.kind, r.span_id) for r in run.retrievals] == [(Kind.RERANKER, "b2".rjust(16, "0"))]
    assert [context.text for context in run.retrievals[0].contexts] == [TEXT, "Ledger backups run at 02:00."]


def test_c08_a_request_sent_three_times_is_one() -> None:
    body = request(spans_of("C24"))
    once, thrice = traces_in(body), traces_in(body, body, body)
    assert json.dumps([repr(extract(t)) for t in once]) == json.dumps([repr(extract(t)) for t in thrice])
