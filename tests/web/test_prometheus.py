"""A real Prometheus reads the metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from otel_ctxscore.config.outlets import Admin
from otel_ctxscore.core.model import JudgedBy
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web import AdminServer
from tests.io.evaluations import FIRST, TRACE, evaluation, score
from tests.services.fixtures import StartPrometheus
from tests.services.process import wait_until
from tests.services.prometheus import Prometheus
from tests.web.fakes import FakeService, NoReview


async def once(ask: Callable[[], Any]) -> Any:
    """The first answer that is not empty."""
    return await asyncio.to_thread(wait_until, ask, 20, "an answer of Prometheus")


def amount(prometheus: Prometheus, expression: str) -> float:
    return sum(float(series["value"][1]) for series in prometheus.query(expression))


async def test_scores_exemplars_and_first_events_are_seen(start_prometheus: StartPrometheus) -> None:
    metrics = Metrics(["context_precision"])
    metrics.declare_judge("llm", "m")
    metrics.service("shop")
    server = AdminServer(Admin(listen="127.0.0.1:0"), FakeService(), metrics, NoReview())
    await server.start()
    try:
        prometheus = await asyncio.to_thread(start_prometheus, [server.url.removeprefix("http://")])
        await once(lambda: prometheus.query("ctxscore_traces_total"))
        metrics.judge_call(JudgedBy("llm", "m", "v"), Reason.JUDGE_UNAVAILABLE)
        metrics.evaluated(evaluation([score("context_precision", 0.35, retrieval=0)]))
        failures = 'increase(ctxscore_judge_calls_total{result="judge_unavailable"}[1m])'
        await once(lambda: amount(prometheus, failures) > 0)
        assert await asyncio.to_thread(amount, prometheus, "ctxscore_score_sum / ctxscore_score_count") == 0.35
        (exemplar,) = await once(lambda: prometheus.exemplars("ctxscore_score_bucket"))
        assert exemplar["labels"] == {"trace_id": TRACE, "span_id": FIRST}
        assert float(exemplar["value"]) == 0.35
    finally:
        await server.stop()
