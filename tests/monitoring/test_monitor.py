"""All of monitoring together, in fake time."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from otel_ctxscore.config import parse
from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.monitoring import Monitor
from otel_ctxscore.monitoring.monitor import SAVE_SECONDS
from otel_ctxscore.telemetry import Metrics
from tests import virtual_time
from tests.monitoring.stores import HOUR, START, MemoryStore, evaluation, samples
from tests.monitoring.test_anchors import Judge, pinned, version_of

PINNED = {"alarm": {"reference": {"pinned": 0.8}}, "segments": {"version": "service.version"}}


async def nobody(run: RagRun) -> Evaluation:
    raise AssertionError("no anchor is there to be judged")


class Rig:
    def __init__(self, store: MemoryStore | None = None, judge: Any = nobody, **config: Any) -> None:
        self.now = START
        self.store = store or MemoryStore()
        self.metrics = Metrics(["p"])
        self.monitor = Monitor(
            parse({**PINNED, **config}),
            self.metrics,
            self.store,
            judge,
            ["p", "context_precision"],
            clock=lambda: self.now,
        )

    def feed(self, *ratios: float, **changed: Any) -> None:
        for ratio in ratios:
            self.now += HOUR / 10
            self.monitor.observe([evaluation(ratio, query=f"q{self.now}", **changed)])

    async def gauge(self, name: str) -> float | None:
        found = await samples(self.metrics, name, service="shop", scorer="p", version="v1")
        return found.get(())


async def test_gauges_tell_the_alarm_from_no_reference_to_acknowledged() -> None:
    learning = Rig(alarm={"reference": "learned"})
    learning.feed(0.5)
    assert await learning.gauge("alarm_state") == -1
    assert await learning.gauge("alarm_ratio") is None
    assert await learning.gauge("reference_ratio") is None
    rig = Rig()
    assert await rig.gauge("alarm_state") is None, "there is no series before the first run"
    rig.feed(0.9)
    assert (await rig.gauge("alarm_state"), await rig.gauge("reference_ratio")) == (0, 0.8)
    rig.feed(*[0.0] * 40)
    assert await rig.gauge("alarm_state") == 1
    assert (await rig.gauge("alarm_ratio") or 0) >= 1
    assert await rig.gauge("alarm_clipped_ratio") == 0
    (record,) = rig.monitor.alarms.records()
    rig.monitor.acknowledge(record.id, "me")
    assert (await rig.gauge("alarm_state"), await rig.gauge("alarm_ratio")) == (0, 0)


@pytest.mark.parametrize("changed", [{"redelivered": True}, {"revision": 1}, {"backfill": True}])
async def test_what_comes_from_the_past_enters_nothing(changed: dict[str, Any]) -> None:
    rig = Rig()
    rig.feed(*[0.0] * 60, **changed)
    rig.monitor.save()
    assert rig.store.texts == {}
    assert await samples(rig.metrics, "estimator_sum_total") == {}


async def test_beyond_the_cap_of_services_there_are_sums_but_no_alarm() -> None:
    rig = Rig()
    rig.metrics = Metrics(["p"], max_values=1)
    rig.monitor = Monitor(parse(PINNED), rig.metrics, rig.store, nobody, ["p"], clock=lambda: rig.now)
    rig.feed(0.5)
    rig.feed(0.5, service="docs")
    assert [series.service for series, _ in rig.monitor.statuses()] == ["shop"]
    assert await samples(rig.metrics, "estimator_sum_total", service="other", term="n") != {}


async def test_a_restart_goes_on_with_evidence_alarms_and_the_day(caplog: pytest.LogCaptureFixture) -> None:
    first = Rig()
    first.feed(*[0.0] * 40)
    first.monitor.save()
    second = Rig(first.store)
    second.now = first.now
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        await second.monitor.restore()
    assert second.monitor.statuses() == first.monitor.statuses()
    assert await second.gauge("alarm_state") == 1
    assert caplog.records == []


async def test_a_fault_here_costs_a_number_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    broken = evaluation(0.5, probability=1e-70)
    with caplog.at_level(logging.ERROR):
        rig.monitor.observe([broken])
    assert "missing in the statistics" in caplog.text


def test_it_saves_by_itself_and_judges_two_anchors_an_hour() -> None:
    async def story() -> None:
        store, judge = MemoryStore(), Judge()
        await pinned(store, judge, 3)
        asked = len(judge.judge.runs)
        rig = Rig(store, judge)
        await rig.monitor.restore()
        running = asyncio.create_task(rig.monitor.run())
        rig.feed(0.5)
        await asyncio.sleep(SAVE_SECONDS + 1)
        assert ("alarm_series", '["shop", "p", "v1"]') in store.texts
        await asyncio.sleep(10 * HOUR)
        assert len(judge.judge.runs) - asked == 20
        running.cancel()

    virtual_time.run(story())


def test_an_alarm_lets_all_anchors_be_judged_at_once() -> None:
    async def story() -> None:
        store, judge = MemoryStore(), Judge()
        await pinned(store, judge, 30)
        version = await version_of(judge)
        rig = Rig(store, judge)
        await rig.monitor.restore()
        running = asyncio.create_task(rig.monitor.run())
        rig.feed(*[0.0] * 40, scorer="context_precision", version=version)
        await asyncio.sleep(1)
        (record,) = rig.monitor.alarms.records()
        assert record.blame is not None
        assert (record.blame["culprit"], record.blame["anchors"]) == ("system", 30)
        running.cancel()

    virtual_time.run(story())


def test_a_failure_of_a_round_does_not_end_the_others() -> None:
    async def story() -> None:
        store, judge = MemoryStore(), Judge()
        await pinned(store, judge, 1)
        rig = Rig(store, nobody)
        await rig.monitor.restore()
        running = asyncio.create_task(rig.monitor.run())
        await asyncio.sleep(2 * HOUR)
        rig.feed(0.5)
        await asyncio.sleep(SAVE_SECONDS)
        assert ("alarm_series", '["shop", "p", "v1"]') in store.texts
        running.cancel()

    virtual_time.run(story())


async def test_other_sampling_rules_begin_the_evidence_anew() -> None:
    rig = Rig()
    rig.feed(*[0.5] * 5)
    rig.monitor.apply(parse({**PINNED, "sampling": {"rate": 0.5}}))
    assert await rig.gauge("alarm_ratio") == 0


async def test_an_inquiry_is_told_what_the_sums_do_not_hold() -> None:
    """The reference, the names of segments, the anchors that speak of the series, and the alarm before."""
    store, judge = MemoryStore(), Judge()
    version = await version_of(judge)
    await pinned(store, judge, 3)
    await pinned(store, judge, 2, service="docs")
    rig = Rig(store, judge)
    await rig.monitor.restore()
    rig.feed(*[0.0] * 40, scorer="context_precision", version=version)
    (first,) = rig.monitor.alarms.records()
    known = rig.monitor.circumstances(first)
    assert (known.anchors, known.segments, known.earlier) == (3, ("version",), None)
    assert known.reference is not None
    assert known.reference.means == (0.8,)
    rig.monitor.acknowledge(first.id, "ana")
    ended = rig.now
    rig.feed(*[0.0] * 40, scorer="context_precision", version=version)
    second = rig.monitor.alarms.records()[0]
    assert second.id != first.id
    assert rig.monitor.circumstances(second).earlier == ended
    assert rig.monitor.circumstances(first).earlier is None
