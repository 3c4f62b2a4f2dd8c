"""Microsoft Agent Framework, Semantic Kernel and Microsoft.Extensions.AI: GenAI, with messages also in logs."""

from __future__ import annotations

from otel_ctxscore.core.conventions.vocabulary import Dialect, Reading, Sight


def read(_: Sight) -> Reading:
    """All content stands where the GenAI conventions have it; what differs are the scopes and the switch."""
    return Reading(dialect="microsoft")


READS = (
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
    "logs gen_ai.user.message, gen_ai.choice and their like", "and all of otel_genai",
)  # fmt: skip

DIALECT = Dialect(
    name="microsoft",
    title="Microsoft Agent Framework and Semantic Kernel",
    read=read,
    scopes=(
        "agent_framework",
        "semantic_kernel",
        "Microsoft.SemanticKernel",
        "Microsoft.Extensions.AI",
        "Microsoft.Agents",
        "Experimental.Microsoft",
    ),
    versions="agent-framework-core 1.23.0; semantic-kernel 1.44 (by its source)",
    reads=READS,
    switch="enable_instrumentation(enable_sensitive_data=True) or ENABLE_SENSITIVE_DATA=true; Semantic Kernel: "
    "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true",
    off_by_default=True,
    example={
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search_kb",
        "gen_ai.tool.call.arguments": '{"query": "warranty"}',
        "gen_ai.tool.call.result": '[{"id": "doc-1", "text": "The warranty is 24 months."}]',
    },
)
