"""Evaluation spans: what is sent to a trace backend about a judged run. Pure building."""

from __future__ import annotations

import math
from functools import cache
from importlib.metadata import version
from typing import Literal

from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.semconv.schemas import Schemas
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags

from otel_ctxscore.core.codec.evaluations import SCOPE_NAME
from otel_ctxscore.core.model import Evaluation, Score
from otel_ctxscore.io.results import (
    EVENT,
    Attribute,
    Attributes,
    Target,
    clean,
    identity,
    judge_of,
    marks,
    result_attributes,
    targets,
    verdict_attributes,
)

SERVICE = "otel-ctxscore"
SCHEMA_URL = Schemas.V1_41_0.value
"""The last release of the conventions that holds the `gen_ai.evaluation.*` attributes."""
CHILD_OF = {"opentracing.ref_type": "child_of"}
"""Of a link to the parent. Jaeger keeps one reference for both, and would take this one for "follows from"."""
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


@cache
def resource() -> Resource:
    """This service, with what OTEL_RESOURCE_ATTRIBUTES adds."""
    return Resource.create({SERVICE_NAME: SERVICE, SERVICE_VERSION: version("otel-ctxscore")}, SCHEMA_URL)


@cache
def scope() -> InstrumentationScope:
    """The scope by which intake knows, and drops, what this project emitted."""
    return InstrumentationScope(SCOPE_NAME, version("otel-ctxscore"), SCHEMA_URL)


def evaluation_spans(
    evaluation: Evaluation, *, placement: Literal["child", "linked"] = "child", content: bool = False
) -> list[ReadableSpan]:
    """One span for each judged span: the run's anchor and each retrieval that has scores; none where no judge was
    asked.

    `child`: in the judged trace, below the judged span. `linked`: in a trace of its own. Either has exactly one
    link, to the judged span. Ids are the same at every repeat. Text of query, contexts, response and notes is in it
    only with `content`. No limit of the SDK applies: nothing is dropped.
    """
    return [_span(evaluation, target, placement == "child", content) for target in targets(evaluation)]


def _span(evaluation: Evaluation, target: Target, child: bool, content: bool) -> ReadableSpan:
    judged = judged_context(target)
    trace_id = target.trace_id if child else identity(evaluation, target, 16)
    return ReadableSpan(
        name=f"evaluation {target.scores[0].name}",
        context=SpanContext(trace_id, identity(evaluation, target, 8), is_remote=False, trace_flags=_SAMPLED),
        parent=judged if child else None,
        resource=resource(),
        instrumentation_scope=scope(),
        attributes=span_attributes(evaluation, target, content=content),
        events=[_event(evaluation, target, score) for score in target.scores],
        links=[Link(judged, CHILD_OF if child else {})],
        kind=SpanKind.INTERNAL,
        start_time=evaluation.started_ns,
        end_time=max(evaluation.started_ns, evaluation.ended_ns),
    )


def judged_context(target: Target) -> SpanContext:
    """The ids of the judged span, which another process made."""
    return SpanContext(target.trace_id, target.span_id, is_remote=True, trace_flags=_SAMPLED)


def _event(evaluation: Evaluation, target: Target, score: Score) -> Event:
    return Event(EVENT, result_attributes(evaluation, target, score), evaluation.ended_ns)


def span_attributes(evaluation: Evaluation, target: Target, *, content: bool) -> Attributes:
    """All attributes of an evaluation span."""
    run, judged_by = evaluation.run, judge_of(evaluation)
    known: dict[str, Attribute | None] = {
        "gen_ai.operation.name": "evaluation",
        "openinference.span.kind": "EVALUATOR",
        "ctxscore.target": target.kind,
        "ctxscore.service": run.service,
        "ctxscore.convention": run.convention,
        "ctxscore.outcome": evaluation.outcome,
        "ctxscore.reason": evaluation.reason,
        "ctxscore.weight": evaluation.weight,
        "ctxscore.complete": run.complete,
        **marks(evaluation),
    }
    if judged_by is not None:
        known |= {
            "ctxscore.tier": judged_by.tier,
            "ctxscore.model": judged_by.model,
            "ctxscore.judge.calls": judged_by.calls,
            "ctxscore.judge.tokens": judged_by.tokens,
            "ctxscore.judge.cost_usd": judged_by.cost_usd,
            "ctxscore.judge.cut_contexts": judged_by.cut_contexts or None,
        }
    if content:
        known |= _content(evaluation, target)
    return {
        **clean(known),
        **_evaluations(evaluation, target),
        **verdict_attributes(evaluation, target, content=content),
    }


def _content(evaluation: Evaluation, target: Target) -> dict[str, str | None]:
    run, judgement = evaluation.run, evaluation.judgement
    missing = (judgement.missing if judgement else None) or ()
    query = run.query if target.retrieval is None else run.question(target.retrieval)
    return {
        "ctxscore.query": query,
        "ctxscore.response": run.response,
        **{f"ctxscore.missing.{place}": piece for place, piece in enumerate(missing)},
    }


def _evaluations(evaluation: Evaluation, target: Target) -> Attributes:
    """The scores as OpenInference flattens them: objects with a name and a score. A reader may take two of one name
    and identifier about one span for the same: where it holds several retrievals, the identifiers differ."""
    judged_by = judge_of(evaluation)
    kind = "LLM" if judged_by is not None and judged_by.tier == "llm" else "CODE"
    found: Attributes = {}
    shown = [score for score in target.scores if score.value is not None and math.isfinite(score.value)]
    place_in_span = f"/{target.place}" if target.place else ""
    for place, score in enumerate(shown):
        fields: dict[str, Attribute | None] = {
            "name": score.name,
            "score": float(score.value or 0),
            "label": score.label,
            "explanation": score.explanation,
            "annotator_kind": kind,
            "identifier": f"{SERVICE}/{score.version}{place_in_span}",
        }
        found |= {f"evaluations.{place}.evaluation.{key}": value for key, value in clean(fields).items()}
    return found
