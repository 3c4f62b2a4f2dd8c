"""What the alarm compares with: a pinned target, or a mean learned once from a quiet time (STATISTICS, "the alarm").

A learned reference is an estimate and may lie above the truth; the floor is therefore 1.645 of its standard errors
lower. Where the score swings with the hour of the day a single floor would be undercut every day by itself, so the
reference is then by hour.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from otel_ctxscore.core.stats.alarm import HORIZON, HOURS, NullHypothesis
from otel_ctxscore.core.stats.daily import daily_curve
from otel_ctxscore.core.stats.quantiles import Z_ONE_SIDED
from otel_ctxscore.core.stats.sums import Sums

MARGIN = 0.02
"""How far the mean may lie below the reference before evidence collects."""

MIN_TRACES = 500
"""Judged traces that a learned reference needs, at least."""

MIN_DAYS = 7
"""Days with a judged trace that a learned reference needs, at least."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference of one series: `means` in 0..1, one for all hours or one for each hour of the day (UTC), and the
    standard errors of these means, all 0 where it is pinned."""

    means: tuple[float, ...]
    errors: tuple[float, ...]

    @classmethod
    def pinned(cls, target: float) -> Reference:
        """A target that a person has set (0..1); it needs no history and is not reduced."""
        return cls((target,), (0.0,))

    def as_dict(self) -> dict[str, object]:
        """The reference as JSON has it."""
        return {"means": list(self.means), "errors": list(self.errors)}

    @classmethod
    def restored(cls, state: Mapping[str, object]) -> Reference:
        """What `as_dict` wrote. Raises ValueError for anything else."""
        means, errors = state.get("means"), state.get("errors")
        if not (isinstance(means, list) and isinstance(errors, list) and len(means) == len(errors)):
            raise ValueError("not a reference")
        return cls(tuple(map(float, means)), tuple(map(float, errors)))

    def at(self, tick: int) -> float:
        """The reference in a tick (hours since the Unix epoch)."""
        return self.means[tick % len(self.means)]

    def null(self, *, margin: float = MARGIN, cap: float = 1.0, horizon: float = HORIZON) -> NullHypothesis:
        """The hypothesis that the alarm tests. `margin` as in the configuration, `cap` as by `weight_cap`, `horizon`
        in hours. Raises ValueError where the floor would not be below 1 (a reference of 1 without a margin)."""
        floors = tuple(mean - margin - Z_ONE_SIDED * s for mean, s in zip(self.means, self.errors, strict=True))
        return NullHypothesis(floors, cap, horizon)


@dataclass(frozen=True, slots=True)
class ReferenceSums:
    """The judged sums from which a reference is learned, by hour of the day. Learning ends when `learned` gives one:
    a reference that went on learning would follow a slow decline."""

    hours: tuple[Sums, ...] = (Sums(),) * HOURS
    days: int = 0
    last_day: int | None = None

    def after(self, tick: int, judged: Sums) -> ReferenceSums:
        """The state after judged traces of one tick (hours since the Unix epoch)."""
        hour, day = tick % HOURS, tick // HOURS
        hours = (*self.hours[:hour], self.hours[hour] + judged, *self.hours[hour + 1 :])
        if self.last_day is not None and day <= self.last_day:
            return replace(self, hours=hours)
        return ReferenceSums(hours, self.days + 1, day)

    @property
    def total(self) -> Sums:
        """The sums over all hours."""
        return sum(self.hours, Sums())

    def learned(self, *, margin: float = MARGIN, traces: int = MIN_TRACES, days: int = MIN_DAYS) -> Reference | None:
        """The reference, or None (`no reference`) before so many judged traces on so many different days. By hour
        where the daily swing (peak to peak) exceeds half the margin and is more than noise."""
        total = self.total
        if total.n < traces or self.days < days or not total.n_eff > 0.0:
            return None
        mean = total.wy / total.w
        square = max(total.wwyy - 2 * mean * total.wwy + mean * mean * total.ww, 0.0) / total.w / total.w
        curve = daily_curve(self.hours, mean, square * total.n_eff, margin / 2)
        return Reference((mean,), (math.sqrt(square),)) if curve is None else Reference(curve.means, curve.errors)

    def as_dict(self) -> dict[str, object]:
        """The state as JSON has it."""
        return {"hours": [sums.terms("judged") for sums in self.hours], "days": self.days, "last_day": self.last_day}

    @classmethod
    def restored(cls, state: Mapping[str, object]) -> ReferenceSums:
        """What `as_dict` wrote. Raises ValueError for anything else."""
        hours, days, last_day = state.get("hours"), state.get("days"), state.get("last_day")
        if not (isinstance(hours, list) and len(hours) == HOURS and all(isinstance(terms, Mapping) for terms in hours)):
            raise ValueError("not the sums of a reference")
        if not isinstance(days, int) or not isinstance(last_day, int | None):
            raise ValueError("not the sums of a reference")
        return cls(tuple(Sums.of_terms(terms) for terms in hours), days, last_day)
