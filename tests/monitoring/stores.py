"""A store in memory, and evaluations to feed monitoring with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, RagRun, Retrieval, Score, Screening
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.telemetry import Metrics

HOUR = 3600.0
START = 1_700_000_000 // 86400 * 86400.0
"""A midnight (UTC)."""


class MemoryStore:
    """Values as their JSON text, so that what does not survive it is noticed."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}

    def put(self, kind: str, name: str, value: object) -> None:
        self.texts[kind, name] = json.dumps(value, allow_nan=False)

    def remove(self, kind: str, name: str) -> None:
        self.texts.pop((kind, name), None)

    async def all(self, kind: str, prefix: str = "") -> dict[str, Any]:
        return {name: json.loads(t) for (k, name), t in self.texts.items() if k == kind and name.startswith(prefix)}


def evaluation(
    *ratios: float,
    service: str = "shop",
    scorer: str = "p",
    version: str = "v1",
    probability: float = 1.0,
    query: str = "q",
    end: float = 0.0,
    trace_state: str = "",
    attributes: Mapping[str, Any] | None = None,
    redelivered: bool = False,
    screening: Screening | None = None,
    outcome: TraceOutcome = TraceOutcome.SCORED,
    **changed: Any,
) -> Evaluation:
    """A run with one score for each of `ratios`, one a retrieval."""
    run = RagRun(
        query,
        [Retrieval([Context(f"text {place}")], span_id=f"b{place}") for place in range(max(1, len(ratios)))],
        trace_id="aa",
        span_id="a1",
        service=service,
        probability=probability,
        attributes=attributes or {},
        end_ns=int(end * 1e9),
        trace_state=trace_state,
        redelivered=redelivered,
    )
    scores = [Score(scorer, "d", version, r, ratio=r, retrieval=place) for place, r in enumerate(ratios)]
    by = JudgedBy("llm", "m", "p")
    return Evaluation(run, None, scores, outcome, judged_by=by, screening=screening, **changed)


async def samples(metrics: Metrics, name: str, **labels: str) -> dict[tuple[str, ...], float]:
    """Values of a metric by its label values, those of `labels` left out."""
    body, _ = await metrics.render()
    return {
        tuple(value for key, value in sample.labels.items() if key not in labels): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if sample.name == f"ctxscore_{name}" and labels.items() <= sample.labels.items()
    }
