"""Evaluation results as log events that bear the ids of the judged span. Pure building."""

from __future__ import annotations

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.trace import NonRecordingSpan, set_span_in_context

from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.io.results import EVENT, Target, identity, result_attributes, targets, verdict_attributes
from otel_ctxscore.io.spans import judged_context, resource, scope


def evaluation_events(evaluation: Evaluation, *, content: bool = False) -> list[ReadableLogRecord]:
    """One `gen_ai.evaluation.result` a score, with the trace and span id of the judged span.

    The first of each judged span bears the verdicts of its contexts too. `ctxscore.evaluation_id` is the same at
    every repeat.
    """
    return [
        _record(evaluation, target, place, content)
        for target in targets(evaluation)
        for place in range(len(target.scores))
    ]


def _record(evaluation: Evaluation, target: Target, place: int, content: bool) -> ReadableLogRecord:
    attributes = result_attributes(evaluation, target, target.scores[place])
    attributes["ctxscore.evaluation_id"] = f"{identity(evaluation, target, 8):016x}"
    if place == 0:
        attributes |= verdict_attributes(evaluation, target, content=content)
    record = LogRecord(
        timestamp=evaluation.ended_ns,
        observed_timestamp=evaluation.ended_ns,
        context=set_span_in_context(NonRecordingSpan(judged_context(target)), Context()),
        severity_number=SeverityNumber.INFO,
        severity_text="INFO",
        attributes=attributes,
        event_name=EVENT,
    )
    return ReadableLogRecord(record, resource(), scope())
