"""Laminar: one JSON input and one output a span."""

from __future__ import annotations

from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

ROLES = {"default": Role.CHAIN, "llm": Role.LLM, "tool": Role.TOOL, "executor": Role.CHAIN, "evaluator": Role.GUARDRAIL}


def read(sight: Sight) -> Reading:
    role = ROLES.get(sight.word("lmnr.span.type"), Role.CHAIN)
    given, gave = sight.node("lmnr.span.input"), sight.node("lmnr.span.output")
    return reading("laminar", role, given, gave, name=sight.span.name)


DIALECT = Dialect(
    name="laminar",
    title="Laminar",
    read=read,
    scopes=("lmnr", "@lmnr-ai/"),
    markers=("lmnr.span.",),
    versions="by its source",
    reads=("lmnr.span.type", "lmnr.span.input", "lmnr.span.output"),
    example={
        "lmnr.span.type": "TOOL",
        "lmnr.span.input": '{"query": "warranty"}',
        "lmnr.span.output": '[{"id": "doc-1", "text": "The warranty is 24 months."}]',
    },
)
