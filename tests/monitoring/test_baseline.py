"""Histograms by day, and the baselines that are pinned from them."""

from __future__ import annotations

import logging
import random

import pytest

from otel_ctxscore.core.stats import CELLS
from otel_ctxscore.core.stats.quantiles import chi_square
from otel_ctxscore.monitoring import baseline, histograms
from otel_ctxscore.monitoring.baseline import Baselines
from otel_ctxscore.monitoring.histograms import DAY, DailyHistograms
from otel_ctxscore.monitoring.series import Series
from otel_ctxscore.telemetry import Metrics
from tests.monitoring.stores import START, MemoryStore, evaluation, samples

SERIES = Series("shop", "p", "v1")


def feed(days: DailyHistograms, n: int, at: float, *, seed: int = 1, probability: float = 1.0) -> None:
    draw = random.Random(seed)
    for _ in range(n):
        ratio = draw.choice([0.0, 0.25, 0.5, 0.75, 1.0])
        days.observe([evaluation(ratio, probability=probability)], lambda series: series, at)


async def test_days_are_kept_apart_and_added_up_over_restarts() -> None:
    store = MemoryStore()
    for day, n in enumerate([10, 20, 30]):
        for half in range(2):  # a restart in the middle of each day
            days = DailyHistograms(store)
            await days.restore(START + day * DAY)
            feed(days, n, START + day * DAY + half * 3600)
            days.save()
    kept = await histograms.read(store)
    assert [histogram.sums.n for histogram in kept.values()] == [20, 40, 60]
    together = await histograms.since(store, int(START // DAY) + 1)
    assert together[SERIES].sums.n == 100
    assert sum(together[SERIES].weights) == pytest.approx(100)


async def test_a_day_that_ends_is_kept_and_old_ones_are_forgotten() -> None:
    store = MemoryStore()
    days = DailyHistograms(store, days=2)
    for day in range(5):
        feed(days, 1, START + day * DAY)
    days.save()
    assert len(await histograms.read(store)) == 5
    await days.forget_old(START + 4 * DAY)
    assert [day for day, _ in await histograms.read(store)] == [int(START // DAY) + day for day in (2, 3, 4)]


async def test_the_effective_number_counts_traces_by_weight() -> None:
    days = DailyHistograms(store := MemoryStore())
    days.observe([evaluation(1.0, 0.0), evaluation(0.5)], lambda series: series, START)
    days.observe([evaluation(0.5, probability=1 / 3)], lambda series: series, START)
    days.save()
    ((_, histogram),) = (await histograms.read(store)).items()
    assert [histogram.sums.n, histogram.sums.n_eff] == pytest.approx([2, 2])
    assert sum(histogram.weights) == pytest.approx(6)


async def test_what_is_pinned_is_shown_and_fewer_than_100_are_left_out() -> None:
    store, metrics = MemoryStore(), Metrics()
    days = DailyHistograms(store)
    feed(days, 300, START)
    days.observe([evaluation(0.5, service="docs")] * 99, lambda series: series, START)
    days.save()
    pinned = baseline.pin(store, await histograms.since(store, 0))
    assert pinned[SERIES] is not None
    assert pinned[Series("docs", "p", "v1")] is None
    shown = Baselines(store, metrics)
    await shown.refresh()
    labels = {"service": "shop", "scorer": "p", "version": "v1"}
    shares = await samples(metrics, "baseline_share", **labels)
    assert [bucket for bucket, _ in shares] == list(CELLS)
    assert sum(shares.values()) == pytest.approx(1)
    assert await samples(metrics, "baseline_n_eff", **labels) == {(): pytest.approx(300)}
    groups = len({group for _, group in shares})
    floors = await samples(metrics, "drift_floor", **labels)
    assert floors == {(f"{level:g}",): pytest.approx(chi_square(level, groups - 1)) for level in (0.01, 0.001)}


async def test_a_baseline_that_cannot_be_read_is_said(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    store.put("baseline", SERIES.name(), {"shares": [1.0], "groups": [0], "n_eff": 5})
    store.put("day", f"{int(START // DAY):08d} {SERIES.name()}", {"weights": [1]})
    with caplog.at_level(logging.ERROR):
        assert await baseline.pinned(store) == {}
        assert await histograms.read(store) == {}
    assert len(caplog.records) == 2


async def test_a_single_group_has_no_floor() -> None:
    store, metrics = MemoryStore(), Metrics()
    days = DailyHistograms(store)
    for _ in range(200):
        days.observe([evaluation(1.0)], lambda series: series, START)
    days.save()
    baseline.pin(store, await histograms.since(store, 0))
    await Baselines(store, metrics).refresh()
    assert await samples(metrics, "drift_floor") == {}
