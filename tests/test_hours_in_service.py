"""What the service hands to the sums by the hour."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from otel_ctxscore import config as configuration
from otel_ctxscore.core.budget import Limits
from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.hours import Window
from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.monitoring import Pace
from otel_ctxscore.service import Service

RUN = RagRun("Which port?", [Retrieval([Context("Port 7443.")])], trace_id="aa" * 16, span_id="b1" * 8, service="shop")
EVER = Window(0.0, 1e12)
CONFIG = {
    "admin": {"listen": "127.0.0.1:0"},
    "budget": {"tokens_per_day": 10},
    "segments": {"index": "rag.index"},
}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    found = Service(configuration.parse({**CONFIG, "state": {"path": str(tmp_path)}}))
    yield found
    await found.database.close()


async def kinds(service: Service) -> set[str]:
    return {row.key.kind for row in await service.history.hours.counts(EVER)}


async def judge(service: Service) -> None:
    done = await service._evaluate(RUN)
    service.history.finished(
        Finished(bytes.fromhex("aa" * 16), TraceOutcome.SCORED, service="shop", evaluations=[done])
    )


async def test_hours_in_which_the_fuse_was_blown_are_marked(service: Service) -> None:
    await judge(service)
    assert "truncated" not in await kinds(service)
    service.budget.settle({"tokens": 100.0})
    await judge(service)
    assert "truncated" in await kinds(service)


async def test_a_burst_over_the_runs_of_a_minute_marks_them_and_is_seen_by_scrapes(service: Service) -> None:
    service.budget.relimit(Limits(runs_per_minute=1), 1.0)
    assert 'ctxscore_budget_open{window="minute"} 1.0' in (await service.metrics.render())[0].decode()
    for _ in range(12):  # of which five may be judged, and ten where a minute ends between them
        await service._evaluate(replace(RUN, trace_id=None))
    assert "truncated" in await kinds(service)
    assert 'ctxscore_budget_open{window="minute"} 0.0' in (await service.metrics.render())[0].decode()


async def test_scorers_that_are_on_have_segments_and_the_page_knows_their_names(service: Service) -> None:
    await judge(service)
    [row] = await service.history.hours.segments(EVER)
    assert (row.key.scorer, row.key.segment, row.key.value) == ("context_precision", "index", "")
    assert service.segments == ("index",)
    assert service.pace == Pace()


async def test_an_hour_is_as_long_as_the_alarms(tmp_path: Path) -> None:
    service = Service(configuration.parse({**CONFIG, "state": {"path": str(tmp_path)}}), pace=Pace(tick=0.5))
    await judge(service)
    kept = await service.history.hours.since()
    assert kept is not None
    assert time.time() - kept < 60, "the start of an hour of half a second, not of one of an hour"
    await service.database.close()
