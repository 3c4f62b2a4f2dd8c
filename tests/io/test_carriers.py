"""An evaluation span is a carrier as OpenInference asks for one, whatever was scored.

Source: Arize-ai/openinference, spec/annotations.md, July 2026: fields, post-hoc feedback, single-result events.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openinference.instrumentation import Annotation, get_evaluation_attributes
from openinference.semconv.trace import (
    EvaluationAttributes,
    OpenInferenceAnnotatorKindValues,
    OpenInferenceSpanKindValues,
    SpanAttributes,
)
from opentelemetry.sdk.trace import ReadableSpan

from otel_ctxscore.core.model import Evaluation, Score
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.io.spans import evaluation_spans
from tests.io.evaluations import ANCHOR, FIRST, JUDGED_BY, JUDGEMENT, RUN, SECOND, TRACE, evaluation, failed, score

FIELDS: dict[str, tuple[type, ...]] = {
    EvaluationAttributes.EVALUATION_NAME: (str,),
    EvaluationAttributes.EVALUATION_SCORE: (int, float),
    EvaluationAttributes.EVALUATION_LABEL: (str,),
    EvaluationAttributes.EVALUATION_EXPLANATION: (str,),
    EvaluationAttributes.EVALUATION_ANNOTATOR_KIND: (str,),
    EvaluationAttributes.EVALUATION_IDENTIFIER: (str,),
    EvaluationAttributes.EVALUATION_METADATA: (str,),
}
RESULT = {
    EvaluationAttributes.EVALUATION_SCORE,
    EvaluationAttributes.EVALUATION_LABEL,
    EvaluationAttributes.EVALUATION_EXPLANATION,
}
EVENT = {
    EvaluationAttributes.EVALUATION_NAME: "gen_ai.evaluation.name",
    EvaluationAttributes.EVALUATION_SCORE: "gen_ai.evaluation.score.value",
    EvaluationAttributes.EVALUATION_LABEL: "gen_ai.evaluation.score.label",
    EvaluationAttributes.EVALUATION_EXPLANATION: "gen_ai.evaluation.explanation",
}
OBJECT = re.compile(rf"{SpanAttributes.EVALUATIONS}\.(\d+)\.(.+)")
ALL_IN_ONE = replace(RUN, retrievals=[replace(one, span_id=ANCHOR) for one in RUN.retrievals])


def objects(span: ReadableSpan) -> list[dict[str, Any]]:
    """The feedback objects of a carrier, by their place; the places are 0, 1, 2, ..."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in (span.attributes or {}).items():
        if match := OBJECT.fullmatch(key):
            found.setdefault(int(match[1]), {})[match[2]] = value
    assert sorted(found) == list(range(len(found)))
    return [found[place] for place in sorted(found)]


def results(span: ReadableSpan) -> dict[Any, dict[str, Any]]:
    """The attributes of its result events that have a number, by scorer."""
    events = [dict(event.attributes or {}) for event in span.events if event.name == "gen_ai.evaluation.result"]
    return {event[EVENT["evaluation.name"]]: event for event in events if EVENT["evaluation.score"] in event}


def check_carrier(span: ReadableSpan) -> None:
    attributes = dict(span.attributes or {})
    assert attributes[SpanAttributes.OPENINFERENCE_SPAN_KIND] == OpenInferenceSpanKindValues.EVALUATOR.value
    assert len(span.links) == 1
    others = (SpanAttributes.ANNOTATIONS, SpanAttributes.TRACE_EVALUATIONS, SpanAttributes.SESSION_EVALUATIONS)
    assert not [key for key in attributes if key.startswith(others)]  # one form, and one scope
    events = results(span)
    for found in objects(span):
        assert found.keys() <= FIELDS.keys()
        assert found["evaluation.name"]
        assert found.keys() & RESULT
        for field, value in found.items():
            assert isinstance(value, FIELDS[field])
            assert not isinstance(value, bool)
        assert math.isfinite(found.get("evaluation.score", 0))
        assert found["evaluation.annotator_kind"] in {kind.value for kind in OpenInferenceAnnotatorKindValues}
        event = events[found["evaluation.name"]]
        assert {field: event.get(key) for field, key in EVENT.items()} == {field: found.get(field) for field in EVENT}
    assert len(objects(span)) == len(events)


def identities(spans: Sequence[ReadableSpan]) -> list[tuple[Any, ...]]:
    """What a consumer may tell results apart by: target, name and identifier."""
    targets = [(span.links[0].context.trace_id, span.links[0].context.span_id) for span in spans]
    pairs = [(target, found) for target, span in zip(targets, spans, strict=True) for found in objects(span)]
    return [(*target, found["evaluation.name"], found["evaluation.identifier"]) for target, found in pairs]


VALUES = st.none() | st.floats() | st.integers(0, 5).map(float)
TEXTS = st.none() | st.text(max_size=5)


def given_scores(name: str, retrieval: int | None) -> st.SearchStrategy[Score]:
    def build(value: float | None, label: str | None, explanation: str | None) -> Score:
        unscored = Reason.JUDGE_INCOMPLETE if value is None else None
        return Score(
            name, "d", "v", value, label=label, explanation=explanation, unscored=unscored, retrieval=retrieval
        )

    return st.builds(build, VALUES, TEXTS, TEXTS)


EVALUATIONS = st.builds(
    lambda scores, run, tier, revision: evaluation(
        scores, run=run, judged_by=replace(JUDGED_BY, tier=tier), judgement=JUDGEMENT, revision=revision
    ),
    st.tuples(
        given_scores("context_precision", 0),
        given_scores("hit_rate", 0),
        given_scores("context_precision", 1),
        given_scores("context_relevance", None),
    ),
    st.sampled_from([RUN, ALL_IN_ONE]),
    st.sampled_from(["llm", "local", "cross_encoder", "custom"]),
    st.integers(0, 2),
)


@given(EVALUATIONS, st.sampled_from(["child", "linked"]))
def test_every_carrier_keeps_the_rules(one: Evaluation, placement: Any) -> None:
    spans = evaluation_spans(one, placement=placement)
    for span in spans:
        check_carrier(span)
    known = identities(spans)
    assert len(set(known)) == len(known)
    repeat = replace(one, run=replace(one.run, redelivered=True), started_ns=5, ended_ns=6)
    assert identities(evaluation_spans(repeat, placement=placement)) == known


def test_there_is_one_carrier_a_target_and_its_link_names_it() -> None:
    spans = evaluation_spans(evaluation())
    found = [(f"{span.links[0].context.trace_id:032x}", f"{span.links[0].context.span_id:016x}") for span in spans]
    assert found == [(TRACE, FIRST), (TRACE, SECOND), (TRACE, ANCHOR)]


@pytest.mark.parametrize(("tier", "kind"), [("llm", "LLM"), ("local", "CODE"), ("cross_encoder", "CODE")])
def test_objects_are_flattened_as_openinference_does_it(tier: str, kind: Any) -> None:
    one = evaluation(
        [score("context_relevance", 0.0), score("faithfulness", 1.0, label=None)],
        judged_by=replace(JUDGED_BY, tier=tier),
    )
    (span,) = evaluation_spans(one)
    ours = {key: value for key, value in (span.attributes or {}).items() if OBJECT.fullmatch(key)}
    theirs = [
        Annotation(
            name=found.name,
            score=found.value,
            explanation=found.explanation,
            annotator_kind=kind,
            identifier=f"otel-ctxscore/{found.version}",
            **({"label": found.label} if found.label is not None else {}),
        )
        for found in one.scores
    ]
    assert ours == get_evaluation_attributes(evaluations=theirs)


def test_what_has_no_number_is_no_object() -> None:
    for span in evaluation_spans(failed()):
        assert objects(span) == []
        check_carrier(span)
