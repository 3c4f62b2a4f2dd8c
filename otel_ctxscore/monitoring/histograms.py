"""The distribution of each series by day: what a baseline is pinned from."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.core.stats import CELLS, Baseline, Sums, TraceTotals, WeightedScore, cell
from otel_ctxscore.monitoring.series import Label, Series, by_series
from otel_ctxscore.monitoring.store import UNREADABLE, Store

log = logging.getLogger(__name__)

KIND = "day"
DAY = 86400
MAX_SERIES = 2000
"""Series whose days are kept; those beyond it have none."""


@dataclass(slots=True)
class Histogram:
    """Summed weights of the twelve cells, and the sums of the traces behind them."""

    weights: list[float] = field(default_factory=lambda: [0.0] * len(CELLS))
    sums: Sums = field(default_factory=Sums)

    def add(self, runs: Sequence[WeightedScore]) -> None:
        """Take the judged runs of one trace."""
        for run in runs:
            self.weights[cell(run.score)] += run.weight
        self.sums += TraceTotals.of(runs).judged

    def merge(self, other: Histogram) -> None:
        """Take what another holds. No trace may be in both."""
        self.weights = [a + b for a, b in zip(self.weights, other.weights, strict=True)]
        self.sums += other.sums

    def baseline(self) -> Baseline:
        """The baseline of this distribution. Raises ValueError where it is empty."""
        return Baseline.pin(self.weights, self.sums.n_eff)

    def as_dict(self) -> dict[str, Any]:
        """The histogram as JSON has it."""
        return {"weights": self.weights, "sums": self.sums.terms("judged")}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Histogram:
        """What `as_dict` wrote. Raises ValueError, KeyError or TypeError for anything else."""
        weights = [float(weight) for weight in state["weights"]]
        if len(weights) != len(CELLS):
            raise ValueError("not a histogram")
        return cls(weights, Sums.of_terms(state["sums"]))


class DailyHistograms:
    """The histograms of the day that runs (UTC); those of `days` days before it lie in the state."""

    def __init__(self, store: Store, *, days: int = 30) -> None:
        self._store = store
        self._days = days
        self._day: int | None = None
        self._today: dict[Series, Histogram] = {}
        self._unsaved: set[Series] = set()

    async def restore(self, now: float) -> None:
        """Go on with the day that runs."""
        self._day = int(now // DAY)
        self._today = {series: histogram for (_, series), histogram in (await read(self._store, self._day)).items()}

    def observe(self, evaluations: Sequence[Evaluation], label: Label, now: float) -> None:
        """Take the evaluations of one trace. `label`: see `Label`."""
        day = int(now // DAY)
        if day != self._day:
            self.save()
            self._day, self._today = day, {}
        for series, scores in by_series(evaluations).items():
            named = label(series) if scores.judged else None
            if named is not None and (named in self._today or len(self._today) < MAX_SERIES):
                self._today.setdefault(named, Histogram()).add(scores.judged)
                self._unsaved.add(named)

    def save(self) -> None:
        """Hand over what has changed since."""
        for series in self._unsaved:
            self._store.put(KIND, f"{self._day:08d} {series.name()}", self._today[series].as_dict())
        self._unsaved.clear()

    async def forget_old(self, now: float) -> None:
        """Forget the days that are too old."""
        first = int(now // DAY) - self._days
        for name in await self._store.all(KIND):
            if name[:8] < f"{first:08d}":
                self._store.remove(KIND, name)


async def read(store: Store, day: int | None = None) -> dict[tuple[int, Series], Histogram]:
    """The histograms of one day (days since the Unix epoch), or of all, by day and series."""
    found: dict[tuple[int, Series], Histogram] = {}
    for name, state in (await store.all(KIND, "" if day is None else f"{day:08d} ")).items():
        try:
            found[int(name[:8]), Series.named(name[9:])] = Histogram.restored(state)
        except UNREADABLE:
            log.error("state: the scores of day %s cannot be read and are left out", name)
    return found


async def since(store: Store, day: int) -> dict[Series, Histogram]:
    """The histograms of all days from `day` on, together, by series."""
    found: dict[Series, Histogram] = {}
    for (at, series), histogram in (await read(store)).items():
        if at >= day:
            found.setdefault(series, Histogram()).merge(histogram)
    return found


def of_traces(traces: Iterable[tuple[Series, Sequence[WeightedScore]]]) -> dict[Series, Histogram]:
    """The histograms of traces, each given as a series and its judged runs."""
    found: dict[Series, Histogram] = {}
    for series, runs in traces:
        found.setdefault(series, Histogram()).add(runs)
    return found
