"""`gen_ai.evaluation.result` as the registry of the semantic conventions defines it, on spans and as log events.

Source: open-telemetry/semantic-conventions-genai, model/gen-ai/events.yaml and registry.yaml, October 2026.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from hypothesis import given
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes

from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.io.log_events import evaluation_events
from otel_ctxscore.io.spans import SCHEMA_URL, evaluation_spans, resource, scope
from otel_ctxscore.scorers import context_precision, context_relevance
from tests.io.evaluations import RUN, SCORES, evaluation, failed
from tests.io.test_carriers import EVALUATIONS
from tests.pages import DOCS

Level = Literal["required", "where it applies", "recommended", "only where the span's id is not known"]
NAME = "gen_ai.evaluation.result"


@dataclass(frozen=True)
class Attribute:
    """How the registry has it."""

    type: type
    level: Level


REGISTRY = {
    gen_ai_attributes.GEN_AI_EVALUATION_NAME: Attribute(str, "required"),
    gen_ai_attributes.GEN_AI_EVALUATION_SCORE_VALUE: Attribute(float, "where it applies"),
    gen_ai_attributes.GEN_AI_EVALUATION_SCORE_LABEL: Attribute(str, "where it applies"),
    gen_ai_attributes.GEN_AI_EVALUATION_EXPLANATION: Attribute(str, "recommended"),
    gen_ai_attributes.GEN_AI_RESPONSE_ID: Attribute(str, "only where the span's id is not known"),
    error_attributes.ERROR_TYPE: Attribute(str, "where it applies"),
}


def told(one: Evaluation) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and attributes of each event, of both transports."""
    events = [event for span in evaluation_spans(one) for event in span.events]
    records = [found.log_record for found in evaluation_events(one)]
    return [
        *((event.name, event.attributes or {}) for event in events),
        *((record.event_name or "", record.attributes or {}) for record in records),
    ]


def check(name: str, attributes: Mapping[str, Any]) -> None:
    assert name == NAME
    ours = {key for key in attributes if not key.startswith("ctxscore.")}
    assert ours <= REGISTRY.keys()
    assert {key for key, attribute in REGISTRY.items() if attribute.level == "required"} <= ours
    for key in ours:
        assert type(attributes[key]) is REGISTRY[key].type
    # A number where there was one, and an error where there was none.
    value = attributes.get(gen_ai_attributes.GEN_AI_EVALUATION_SCORE_VALUE)
    assert (value is None) == (error_attributes.ERROR_TYPE in attributes)
    assert value is None or math.isfinite(value)
    assert attributes.get(error_attributes.ERROR_TYPE) in {None, *(reason.value for reason in Reason)}


@given(EVALUATIONS)
def test_every_event_is_as_the_registry_has_it(one: Evaluation) -> None:
    for name, attributes in told(one):
        check(name, attributes)


@pytest.mark.parametrize("one", [evaluation(), failed()])
def test_there_is_an_event_for_each_score_on_either_transport(one: Evaluation) -> None:
    found = told(one)
    assert len(found) == 2 * len(SCORES)
    spans, logs = found[: len(SCORES)], found[len(SCORES) :]
    names = [attributes[gen_ai_attributes.GEN_AI_EVALUATION_NAME] for _, attributes in spans]
    assert sorted(names) == sorted(score.name for score in SCORES)
    for (_, on_span), (_, in_log) in zip(spans, logs, strict=True):
        further = {key for key in in_log if key not in on_span}
        assert {key: in_log[key] for key in on_span} == dict(on_span)
        assert {key for key in further if not key.startswith("ctxscore.verdict.")} == {"ctxscore.evaluation_id"}


def test_log_events_are_parented_to_the_operation_that_was_evaluated() -> None:
    records = [found.log_record for found in evaluation_events(evaluation())]
    carriers = evaluation_spans(evaluation())
    assert {(record.trace_id, record.span_id) for record in records} == {
        (span.links[0].context.trace_id, span.links[0].context.span_id) for span in carriers
    }
    assert all(record.timestamp and record.body is None for record in records)


def test_resource_and_scope_name_the_schema_that_holds_these_attributes() -> None:
    assert SCHEMA_URL == resource().schema_url == scope().schema_url == "https://opentelemetry.io/schemas/1.41.0"


def test_labels_are_few_and_documented() -> None:
    page = (DOCS / "emission.md").read_text()
    labels = {label for _, label in (*context_precision.LABELS, *context_relevance.LABELS)}
    assert not [label for label in labels if f"`{label}`" not in page]


def test_marks_are_there_only_where_true() -> None:
    marks = {"ctxscore.redelivered", "ctxscore.backfill", "ctxscore.revision"}
    for _, attributes in told(evaluation()):
        assert not marks & attributes.keys()
    again = evaluation(run=replace(RUN, redelivered=True), backfill=True, revision=2)
    for _, attributes in told(again):
        assert {mark: attributes[mark] for mark in marks} == dict(zip(sorted(marks), (True, True, 2), strict=True))
