"""The evaluation spans and log events built of an evaluation."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from otel_ctxscore.core.codec.evaluations import is_evaluation, is_evaluation_log
from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, Judgement, RagRun, Retrieval, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.spans import LogRecord, Scope, Span
from otel_ctxscore.io.log_events import evaluation_events
from otel_ctxscore.io.results import MAX_TEXT, MAX_VERDICTS, evaluation_id
from otel_ctxscore.io.spans import SCHEMA_URL, evaluation_spans
from tests.io.evaluations import (
    ANCHOR,
    FIRST,
    JUDGED_BY,
    JUDGEMENT,
    RUN,
    SCORES,
    SECOND,
    TRACE,
    evaluation,
    failed,
    score,
)


def judged_span(span: ReadableSpan) -> str:
    (link,) = span.links
    return f"{link.context.span_id:016x}"


def by_judged_span(spans: list[ReadableSpan]) -> dict[str, ReadableSpan]:
    found = {judged_span(span): span for span in spans}
    assert len(found) == len(spans)
    return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def events(span: ReadableSpan) -> dict[str, dict[str, Any]]:
    return {str((e.attributes or {})["gen_ai.evaluation.name"]): dict(e.attributes or {}) for e in span.events}


def test_each_retrieval_and_the_run_has_a_span_on_the_span_it_is_about() -> None:
    spans = by_judged_span(evaluation_spans(evaluation()))
    assert {span_id: list(events(span)) for span_id, span in spans.items()} == {
        FIRST: ["context_precision", "hit_rate"],
        SECOND: ["context_precision", "hit_rate"],
        ANCHOR: ["context_relevance"],
    }
    assert events(spans[FIRST])["context_precision"]["gen_ai.evaluation.score.value"] == 1.0
    assert events(spans[SECOND])["context_precision"]["gen_ai.evaluation.score.value"] == 0.5


@pytest.mark.parametrize("placement", ["child", "linked"])
def test_where_a_span_stands(placement: Literal["child", "linked"]) -> None:
    for span in evaluation_spans(evaluation(), placement=placement):
        (link,) = span.links
        assert f"{link.context.trace_id:032x}" == TRACE
        assert (span.kind, span.status.status_code) == (SpanKind.INTERNAL, StatusCode.UNSET)
        assert (span.start_time, span.end_time) == (1_000, 2_000)
        assert span.context is not None
        if placement == "child":
            assert span.parent is not None
            assert (span.parent.trace_id, span.parent.span_id) == (link.context.trace_id, link.context.span_id)
            assert span.context.trace_id == link.context.trace_id
        else:
            assert span.parent is None
            assert span.context.trace_id != link.context.trace_id


def test_a_span_says_whose_it_is() -> None:
    for span in evaluation_spans(evaluation()):
        assert span.resource.attributes["service.name"] == "otel-ctxscore"
        assert span.instrumentation_scope is not None
        assert span.instrumentation_scope.schema_url == SCHEMA_URL
        assert attributes(span)["gen_ai.operation.name"] == "evaluation"
        assert attributes(span)["openinference.span.kind"] == "EVALUATOR"


def test_intake_drops_what_is_emitted() -> None:
    for span in evaluation_spans(evaluation()):
        assert span.instrumentation_scope is not None
        assert is_evaluation(Span(b"", b"", scope=Scope(span.instrumentation_scope.name)))
        assert is_evaluation(Span(b"", b"", attributes=attributes(span)))
    for event in evaluation_events(evaluation()):
        assert is_evaluation_log(LogRecord(b"", b"", event_name=event.log_record.event_name or ""))


def test_an_event_bears_the_score_and_where_it_comes_from() -> None:
    (span,) = evaluation_spans(evaluation([score("context_precision", 85.0, retrieval=0, scale=100)]))
    assert events(span)["context_precision"] == {
        "gen_ai.evaluation.name": "context_precision",
        "gen_ai.evaluation.score.value": 85.0,
        "gen_ai.evaluation.score.label": "mixed",
        "gen_ai.evaluation.explanation": "why context_precision",
        "ctxscore.definition": "context_precision/x",
        "ctxscore.version": "v-context_precision",
        "ctxscore.tier": "llm",
        "ctxscore.model": "openai/small",
        "ctxscore.scale": 100.0,
        "ctxscore.weight": 4.0,
        "ctxscore.contexts": 3,
        "ctxscore.complete": True,
    }


def test_scores_are_flattened_as_openinference_says() -> None:
    first = attributes(by_judged_span(evaluation_spans(evaluation()))[FIRST])
    assert {k: v for k, v in first.items() if k.startswith("evaluations.0")} == {
        "evaluations.0.evaluation.name": "context_precision",
        "evaluations.0.evaluation.score": 1.0,
        "evaluations.0.evaluation.label": "mixed",
        "evaluations.0.evaluation.explanation": "why context_precision",
        "evaluations.0.evaluation.annotator_kind": "LLM",
        "evaluations.0.evaluation.identifier": "otel-ctxscore/v-context_precision",
    }
    assert first["evaluations.1.evaluation.name"] == "hit_rate"


@pytest.mark.parametrize(("tier", "kind"), [("llm", "LLM"), ("local", "CODE"), ("cross_encoder", "CODE")])
def test_who_judged_is_told_in_openinference_words(tier: str, kind: str) -> None:
    spans = evaluation_spans(evaluation(judged_by=JudgedBy(tier, "m", "v")))
    assert attributes(spans[0])["evaluations.0.evaluation.annotator_kind"] == kind


def test_an_unscored_scorer_is_an_error_without_a_score() -> None:
    anchor = by_judged_span(evaluation_spans(evaluation()))[ANCHOR]
    event = events(anchor)["context_relevance"]
    assert event["error.type"] == "no_response"
    assert not any(key.startswith("gen_ai.evaluation.score") for key in event)
    assert not any(key.startswith("evaluations.") for key in attributes(anchor))


def test_a_judge_that_failed_is_told_on_every_judged_span() -> None:
    spans = evaluation_spans(failed())
    assert len(spans) == 3
    assert {event["error.type"] for span in spans for event in events(span).values()} == {"judge_unavailable"}


def test_where_no_judge_was_asked_nothing_is_emitted() -> None:
    refused = evaluation(judgement=None, judged_by=None)
    assert evaluation_spans(refused) == []
    assert evaluation_events(refused) == []


@pytest.mark.parametrize("changed", [{"trace_id": None}, {"trace_id": "my trace"}, {"trace_id": "0" * 32}])
def test_a_run_that_no_span_belongs_to_has_nothing_to_hang_on(changed: dict[str, Any]) -> None:
    assert evaluation_spans(evaluation(run=replace(RUN, **changed))) == []


@pytest.mark.trouble("C69")
def test_verdicts_bear_their_rank_and_document_id_in_their_own_retrieval() -> None:
    spans = by_judged_span(evaluation_spans(evaluation()))
    first, second = attributes(spans[FIRST]), attributes(spans[SECOND])
    assert {k.removeprefix("ctxscore.verdict."): v for k, v in first.items() if "verdict" in k} == {
        "0.document_id": "doc-a",
        "0.useful": True,
        "0.relevance": "high",
        "0.used": True,
        "1.document_id": "doc-b",
        "1.useful": False,
        "1.p_useful": 0.25,
        "1.relevance": "low",
        "1.used": False,
        "2.useful": False,
        "2.relevance": "none",
        "2.used": False,
    }
    assert second["ctxscore.verdict.1.document_id"] == "doc-a"
    assert second["ctxscore.verdict.1.useful"] is True
    assert "ctxscore.verdict.2.useful" not in second


def test_of_a_run_the_verdicts_are_those_of_its_distinct_contexts() -> None:
    anchor = attributes(by_judged_span(evaluation_spans(evaluation()))[ANCHOR])
    assert [anchor[f"ctxscore.verdict.{place}.relevance"] for place in range(4)] == ["high", "low", "none", "none"]


def texts(evaluation: Evaluation, *, content: bool) -> str:
    spans, logs = evaluation_spans(evaluation, content=content), evaluation_events(evaluation, content=content)
    return str(encode_spans(spans)) + str(encode_logs(logs))


def test_text_leaves_only_where_content_is_on() -> None:
    secret = ["Which port?", "owner?", "port 7443", "backups", "names it", "who owns it"]
    without, with_content = texts(evaluation(), content=False), texts(evaluation(), content=True)
    assert not [text for text in secret if text in without]
    assert [text for text in secret if text in with_content] == [text for text in secret if text != "owner?"]


def test_with_query_from_retrieval_its_own_query_is_shown() -> None:
    run = replace(RUN, query_from="retrieval")
    judgement = Judgement([Verdict(True)] * len(run.judged), judged_by=JUDGED_BY)
    spans = by_judged_span(evaluation_spans(evaluation(run=run, judgement=judgement), content=True))
    assert attributes(spans[SECOND])["ctxscore.query"] == "owner?"
    assert attributes(spans[FIRST])["ctxscore.query"] == "Which port?"


# ---- identity ---------------------------------------------------------------------------------------------------


def ids(evaluation: Evaluation) -> list[tuple[int, int]]:
    return [(s.context.trace_id, s.context.span_id) for s in evaluation_spans(evaluation) if s.context]


def test_a_repeat_has_the_same_ids_and_is_marked() -> None:
    repeat = evaluation(run=replace(RUN, redelivered=True), started_ns=5, ended_ns=6)
    assert ids(repeat) == ids(evaluation())
    assert evaluation_id(repeat) == evaluation_id(evaluation())
    for span in evaluation_spans(repeat):
        assert attributes(span)["ctxscore.redelivered"] is True
        assert all(event["ctxscore.redelivered"] is True for event in events(span).values())
    assert not any("redelivered" in key for span in evaluation_spans(evaluation()) for key in attributes(span))


def test_a_backfilled_evaluation_is_marked() -> None:
    for span in evaluation_spans(evaluation(backfill=True)):
        assert all(event["ctxscore.backfill"] is True for event in events(span).values())


OTHERS = {
    "trace": evaluation(run=replace(RUN, trace_id="f" * 32)),
    "version": evaluation([replace(given, version="other") for given in SCORES]),
    "revision": evaluation(revision=1),
    "fewer scorers": evaluation([SCORES[0], SCORES[2], score("faithfulness")]),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_evaluation_has_other_ids(other: Evaluation) -> None:
    assert {span for _, span in ids(other)}.isdisjoint(span for _, span in ids(evaluation()))
    assert evaluation_id(other) != evaluation_id(evaluation())


def test_two_retrievals_in_one_span_are_two_evaluations() -> None:
    run = replace(RUN, retrievals=[replace(retrieval, span_id=FIRST) for retrieval in RUN.retrievals])
    spans = evaluation_spans(evaluation(run=run))
    assert [judged_span(span) for span in spans] == [FIRST, FIRST, ANCHOR]
    assert len(set(ids(evaluation(run=run)))) == 3


def test_a_retrieval_in_the_anchor_span_and_the_run_are_two_evaluations() -> None:
    run = replace(RUN, retrievals=[replace(retrieval, span_id=ANCHOR) for retrieval in RUN.retrievals])
    assert len(set(ids(evaluation(run=run)))) == 3


# ---- what a reader can take -------------------------------------------------------------------------------------


@given(st.text(st.characters() | st.just("\ud83d") | st.just("\0"), max_size=50), st.floats(), st.floats())
def test_whatever_is_in_it_the_spans_can_be_encoded_and_hold_plain_values(
    text: str, value: float, document: float
) -> None:
    run = replace(RUN, retrievals=[Retrieval([Context(text or "x", text, document)], query=text, span_id=FIRST)])
    judgement = Judgement([Verdict(True, note=text)], [text], JUDGED_BY)
    scores = [score("s", value, retrieval=0, explanation=text, label=text), score("t", scale=100)]
    odd = evaluation(scores, replace(run, query=text, response=text, service=text), judgement=judgement)
    for span in evaluation_spans(odd, content=True):
        request = encode_spans([span])
        (written,) = request.resource_spans[0].scope_spans[0].spans
        everything = [*written.attributes, *(a for event in written.events for a in event.attributes)]
        assert {a.value.WhichOneof("value") for a in everything} <= {
            "string_value",
            "bool_value",
            "int_value",
            "double_value",
        }
        assert all("\0" not in a.value.string_value for a in everything)
        assert all(math.isfinite(a.value.double_value) for a in everything)
        expected = len(attributes(span)) + sum(map(len, events(span).values()))
        assert len(everything) == expected


def test_a_score_that_is_no_number_is_an_error() -> None:
    (span,) = evaluation_spans(evaluation([score("s", math.nan)]))
    assert events(span)["s"]["error.type"] == "internal_error"


def test_a_long_text_is_cut_and_says_so() -> None:
    (span,) = evaluation_spans(evaluation([score("s", explanation="x" * 200_000)]))
    explanation = events(span)["s"]["gen_ai.evaluation.explanation"]
    assert len(explanation) < MAX_TEXT + 50
    assert explanation.endswith("[cut, 200000 characters]")


def test_many_contexts_are_all_there_and_beyond_the_limit_counted() -> None:
    contexts = [Context(f"text {number}", f"d{number}") for number in range(MAX_VERDICTS + 7)]
    run = RagRun("q", [Retrieval(contexts, span_id=FIRST)], trace_id=TRACE, span_id=ANCHOR)
    judgement = Judgement([Verdict(True)] * len(contexts), judged_by=JUDGED_BY)
    (span,) = evaluation_spans(evaluation([score("s", retrieval=0)], run, judgement=judgement))
    request = encode_spans([span])
    (written,) = request.resource_spans[0].scope_spans[0].spans
    keys = {a.key for a in written.attributes}
    assert {f"ctxscore.verdict.{n}.document_id" for n in range(MAX_VERDICTS)} <= keys
    assert attributes(span)["ctxscore.verdicts_omitted"] == 7
    assert written.dropped_attributes_count == 0


def test_a_retrieval_that_was_refused_has_no_verdicts() -> None:
    run = replace(RUN, retrievals=[*RUN.retrievals, Retrieval([], span_id="00000000000000b3")])
    scores = [*SCORES, score("context_precision", None, retrieval=2, unscored=Reason.NO_CONTEXTS)]
    empty = by_judged_span(evaluation_spans(evaluation(scores, run)))["00000000000000b3"]
    assert events(empty)["context_precision"]["error.type"] == "no_contexts"
    assert events(empty)["context_precision"]["ctxscore.contexts"] == 0
    assert not any("verdict" in key for key in attributes(empty))


def test_every_attribute_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "emission.md").read_text("utf-8")
    run = replace(RUN, redelivered=True)
    whole = evaluation(run=run, backfill=True, revision=1, judged_by=replace(JUDGED_BY, cut_contexts=1))
    keys = {key for span in evaluation_spans(whole, content=True) for key in attributes(span)}
    keys |= {key for span in evaluation_spans(whole) for event in events(span).values() for key in event}
    keys |= {key for event in evaluation_events(whole) for key in event.log_record.attributes or {}}
    undocumented = {name for key in keys if f"`{(name := re.sub(r'[.][0-9]+', '.{i}', key))}`" not in page}
    assert undocumented == set()


# ---- log events -------------------------------------------------------------------------------------------------


def test_log_events_bear_the_ids_of_the_judged_span_and_what_the_span_event_says() -> None:
    whole = evaluation()
    records = [record.log_record for record in evaluation_events(whole)]
    assert {f"{record.trace_id:032x}" for record in records} == {TRACE}
    assert [f"{record.span_id:016x}" for record in records] == [FIRST, FIRST, SECOND, SECOND, ANCHOR]
    said = [event for span in evaluation_spans(whole) for event in span.events]
    for record, event in zip(records, said, strict=True):
        assert (event.attributes or {}).items() <= (record.attributes or {}).items()
        assert (record.event_name, record.timestamp) == (event.name, event.timestamp)


def test_verdicts_stand_once_for_each_judged_span() -> None:
    with_verdicts = [
        f"{record.log_record.span_id:016x}"
        for record in evaluation_events(evaluation())
        if "ctxscore.verdict.0.useful" in (record.log_record.attributes or {})
    ]
    assert with_verdicts == [FIRST, SECOND, ANCHOR]


def test_the_judgement_names_the_judge_where_the_evaluation_does_not() -> None:
    by_hand = Evaluation(RUN, JUDGEMENT, SCORES, TraceOutcome.SCORED)
    assert attributes(evaluation_spans(by_hand)[0])["ctxscore.model"] == "openai/small"
