"""Pinned baselines: what the distribution of scores is compared with, as gauges for the recording rules."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from otel_ctxscore.core.stats import CELLS, Baseline
from otel_ctxscore.core.stats.drift import MIN_N_EFF, POINTS
from otel_ctxscore.core.stats.quantiles import chi_square
from otel_ctxscore.monitoring.histograms import Histogram
from otel_ctxscore.monitoring.series import Series
from otel_ctxscore.monitoring.store import UNREADABLE, Store
from otel_ctxscore.telemetry import Metrics, catalogue
from otel_ctxscore.telemetry.labels import clean

log = logging.getLogger(__name__)

KIND = "baseline"
Rows = Iterator[tuple[tuple[str, ...], float]]


def pin(store: Store, found: Mapping[Series, Histogram]) -> dict[Series, Baseline | None]:
    """Pin a baseline for each series, in place of the one before. None where there are fewer than 100 effective runs:
    such a baseline would be noise, and the one before stays."""
    pinned = {series: _baseline(histogram) for series, histogram in found.items()}
    for series, baseline in pinned.items():
        if baseline is not None:
            store.put(KIND, series.name(), asdict(baseline))
    return pinned


def _baseline(histogram: Histogram) -> Baseline | None:
    return histogram.baseline() if histogram.sums.n_eff >= MIN_N_EFF else None


async def pinned(store: Store) -> dict[Series, Baseline]:
    """The baselines that are pinned."""
    found: dict[Series, Baseline] = {}
    for name, state in (await store.all(KIND)).items():
        try:
            found[Series.named(name)] = _restored(state)
        except UNREADABLE:
            log.error("state: the baseline of %s cannot be read; pin it again", name)
    return found


def _restored(state: Mapping[str, Any]) -> Baseline:
    shares, groups = tuple(map(float, state["shares"])), tuple(map(int, state["groups"]))
    if len(shares) != len(CELLS) or len(groups) != len(CELLS):
        raise ValueError("not a baseline")
    return Baseline(shares, groups, float(state["n_eff"]))


class Baselines:
    """Exports what is pinned. It is read again now and then, for another process may pin."""

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self._store = store
        self._pinned: dict[Series, Baseline] = {}
        metrics.watch_rows(catalogue.BASELINE_SHARE, self._shares)
        metrics.watch_rows(catalogue.BASELINE_N_EFF, self._n_eff)
        metrics.watch_rows(catalogue.DRIFT_FLOOR, self._floors)

    async def refresh(self) -> None:
        """Read what is pinned."""
        found = await pinned(self._store)
        self._pinned = {Series(clean(s), scorer, clean(v)): baseline for (s, scorer, v), baseline in found.items()}

    def _shares(self) -> Rows:
        for series, baseline in self._pinned.items():
            for name, group, share in zip(CELLS, baseline.groups, baseline.shares, strict=True):
                yield (*series, name, str(group)), share

    def _n_eff(self) -> Rows:
        return ((series, baseline.n_eff) for series, baseline in self._pinned.items())

    def _floors(self) -> Rows:
        """A baseline of a single group has no drift that could be told, and so no floor."""
        for series, baseline in self._pinned.items():
            if baseline.group_count > 1:
                for level in POINTS:
                    yield (*series, f"{level:g}"), chi_square(level, baseline.group_count - 1)
