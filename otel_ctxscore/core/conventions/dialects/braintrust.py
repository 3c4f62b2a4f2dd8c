"""Braintrust's SDKs: typed spans with one JSON input and one JSON output each."""

from __future__ import annotations

from otel_ctxscore.core.conventions.spans import reading
from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Role, Sight

ROLES = {
    "task": Role.CHAIN,
    "function": Role.CHAIN,
    "eval": Role.OTHER,
    "llm": Role.LLM,
    "tool": Role.TOOL,
    "score": Role.GUARDRAIL,
}
P = "braintrust."


def read(sight: Sight) -> Reading:
    """A span of no type of its own is a step. A function that retrieves is known by its name and what it returned."""
    attributes = sight.node(f"{P}span_attributes")
    kind = attributes.dig("type") if attributes is not None else None
    given, gave = sight.node(f"{P}input_json", f"{P}input"), sight.node(f"{P}output_json", f"{P}output")
    role = ROLES.get(str(kind.value).lower(), Role.CHAIN) if kind is not None else Role.CHAIN
    return reading("braintrust", role, given, gave, name=sight.span.name)


DIALECT = Dialect(
    name="braintrust",
    title="Braintrust",
    read=read,
    scopes=("braintrust",),
    markers=("braintrust.input", "braintrust.output", "braintrust.span_attributes"),
    versions="by the source of its SDKs",
    reads=("braintrust.span_attributes", "braintrust.input_json", "braintrust.output_json"),
    example={
        "braintrust.span_attributes": '{"type": "tool"}',
        "braintrust.input_json": '{"query": "warranty"}',
        "braintrust.output_json": '[{"id": "doc-1", "text": "The warranty is 24 months."}]',
    },
)
