"""Which spans and logs are evaluations: our own, or another evaluator's.

They are dropped at intake, for an evaluation that is evaluated feeds on itself. `MARKS` lists how evaluators mark their
spans: an attribute with one of a few exact values.
"""

from __future__ import annotations

from otel_ctxscore.core.spans import LogRecord, Span

SCOPE_NAME = "otel-ctxscore"
"""The instrumentation scope of everything this project emits."""

MARKS: dict[str, frozenset[str]] = {
    "gen_ai.operation.name": frozenset({"evaluation", "guard", "guardrail.run"}),
    "openinference.span.kind": frozenset({"EVALUATOR", "GUARDRAIL"}),
    "fi.span.kind": frozenset({"EVALUATOR", "GUARDRAIL"}),
    "gen_ai.span.kind": frozenset({"EVALUATOR", "GUARDRAIL"}),
    "ai.observability.span_type": frozenset({"eval", "eval_root"}),
    "mastra.span.type": frozenset({"scorer_run", "scorer_step"}),
    "langfuse.observation.type": frozenset({"evaluator", "guardrail"}),
    "langwatch.span.type": frozenset({"evaluation", "guardrail"}),
    "genkit:metadata:subtype": frozenset({"evaluator"}),
    "mlflow.spanType": frozenset({'"EVALUATOR"', '"GUARDRAIL"'}),
}
"""Attribute to the values that mark an evaluation. MLflow writes every value as JSON."""

EVENT_NAMES = frozenset({"gen_ai.evaluation.result", "gen_ai.evaluation.results", "gen_ai.evaluation"})
"""Log events that carry the result of an evaluation; the last two are Splunk's older names."""


def is_evaluation(span: Span) -> bool:
    """Whether the span is an evaluation: by its scope, or by a mark."""
    if span.scope.name == SCOPE_NAME:
        return True
    return any(_text(span.attributes.get(key)) in values for key, values in MARKS.items())


def is_evaluation_log(log: LogRecord) -> bool:
    """Whether the log record is the result of an evaluation."""
    return log.scope.name == SCOPE_NAME or log.event_name in EVENT_NAMES


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
