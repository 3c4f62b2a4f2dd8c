"""Evaluations of the traces of tests.otlp, and the sink that sends them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from otel_ctxscore.config.outlets import OtlpSink as Section
from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.io.otlp_sink import OtlpSink
from tests.io.evaluations import RUN, evaluation

ROOT, RETRIEVER = f"{1:016x}", f"{2:016x}"
ENDED_NS = 1_760_000_001_000_000_000
"""When the spans of tests.otlp end."""
LATER_NS = ENDED_NS + 11 * 60 * 1_000_000_000


def judged(number: int, precision: float = 1.0) -> Evaluation:
    """An evaluation of trace `number`, made eleven minutes after it, with context precision of its retriever."""
    retrievals = [replace(RUN.retrievals[0], span_id=RETRIEVER)]
    run = replace(RUN, trace_id=f"{number:032x}", span_id=ROOT, retrievals=retrievals)
    whole = evaluation(run=run, started_ns=LATER_NS, ended_ns=LATER_NS + 500_000_000)
    kept = [score for score in whole.scores if score.retrieval != 1]
    return replace(whole, scores=[replace(kept[0], value=precision), *kept[1:]])


def emit(*evaluations: Evaluation, endpoint: str, **section: Any) -> None:
    """Send them to HOST:PORT, in this order; `section` is further configuration of the sink."""

    async def sent() -> None:
        sink = OtlpSink.from_config(
            Section.model_validate({"endpoint": f"http://{endpoint}", **section}), content=False
        )
        for one in evaluations:
            await sink.emit(one)
        await sink.close()

    asyncio.run(sent())
