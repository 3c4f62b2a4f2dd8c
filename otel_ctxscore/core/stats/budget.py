"""A budget as a rate that is fixed ahead of each minute (STATISTICS, "weights" and "cost").

"Judge the first so many, then stop" leaves runs without a chance, and a mean that is off by what the morning differs
from the day. Here each minute's probability follows from the past alone, before the minute's runs are seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

MINUTES = 60
DAY = 24 * MINUTES

MEMORY = 10.0
"""Minutes after which a minute's count has lost 1/e of its part in the recent rate."""

FLOOR = 0.25
"""The least probability of an adaptive rule, as a part of the mean rate."""


def judging_probability(left: float, expected: float) -> float:
    """The probability p_t for the runs of the next tick: min(1, left/expected).

    `left`: what the budget has left (runs, tokens or money; 0 and less gives 0, and the window is truncated).
    `expected`: what all runs until it is filled again would cost in the same unit, from the past only; 0 gives 1.
    """
    if not left > 0.0:
        return 0.0
    return min(1.0, left / expected) if expected > 0.0 else 1.0


def refilled(left: float, allowance: float, spent: float, *, burst: float = 5.0) -> float:
    """What an allowance a minute has left at the start of the next one. What was not used is kept up to `burst`
    minutes' worth; what was used beyond it is owed."""
    return min(left + allowance - spent, burst * allowance)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Runs seen up to now, from which those to come are expected.

    `recent`: runs a minute, a mean that forgets. `day`: runs of each of the last 24 hours of the day (UTC) that are
    over, None where none was seen. `hour`: runs of the open hour. `minute`: the last minute that is in the state,
    `since`: the first one.
    """

    recent: float = 0.0
    day: tuple[float | None, ...] = (None,) * 24
    hour: float = 0.0
    minute: int | None = None
    since: int | None = None

    def after(self, minute: int, runs: float) -> Traffic:
        """The state after a minute (minutes since the Unix epoch) that had so many runs. Minutes left out had none;
        a minute that lies before the last one is ignored."""
        if self.minute is None or self.since is None:
            return Traffic(float(runs), self.day, float(runs), minute, minute)
        if minute <= self.minute:
            return self
        seen = self.minute - self.since + 1
        keep = min(1.0 - 1.0 / (seen + 1.0), math.exp(-1.0 / MEMORY))
        recent = self.recent * keep ** (minute - self.minute) + runs * (1.0 - keep)
        day, hour = self._hours(minute)
        return Traffic(recent, day, hour + runs, minute, self.since)

    def expected(self, minutes: int) -> float:
        """Runs to expect in so many minutes after the last one seen: an hour like the same hour a day ago, or, where
        that was not seen and for the hour that is open, at the recent rate."""
        if self.minute is None:
            return 0.0
        total, at, left = 0.0, self.minute + 1, minutes
        while left > 0:
            part = min(left, MINUTES - at % MINUTES)
            known = self.day[at // MINUTES % 24]
            rate = self.recent if known is None or at // MINUTES == self.minute // MINUTES else known / MINUTES
            total, at, left = total + rate * part, at + part, left - part
        return total

    def until_midnight(self) -> float:
        """Runs to expect until the day (UTC) ends: what a budget a day must reach for."""
        return self.expected(DAY - (self.minute + 1) % DAY) if self.minute is not None else 0.0

    def _hours(self, minute: int) -> tuple[tuple[float | None, ...], float]:
        """The counts by hour at the start of a minute: hours that ended since are closed."""
        assert self.minute is not None
        assert self.since is not None
        last, now = self.minute // MINUTES, minute // MINUTES
        if last == now:
            return self.day, self.hour
        day = list(self.day)
        missed = self.since % MINUTES if self.since // MINUTES == last else 0
        day[last % 24] = self.hour * MINUTES / (MINUTES - missed)
        for skipped in range(last + 1, min(now, last + 25)):
            day[skipped % 24] = 0.0
        return tuple(day), 0.0


def adaptive_probability(rate: float, spread: float, mean_spread: float, *, floor: float = FLOOR) -> float:
    """The probability to judge a run that follows the local judge's uncertainty (Neyman's allocation).

    `rate`: the mean probability, as by `judging_probability`. `spread`: standard deviation of the full score around
    what the cheap one predicts for this run, calibrated, known before the draw. `mean_spread`: its mean over recent
    screened runs. The probability is proportional to the spread and never below `floor` times the rate, so each run
    keeps a chance. Without a mean spread it is the rate.
    """
    if not mean_spread > 0.0:
        return min(1.0, rate)
    return min(1.0, rate * max(spread / mean_spread, floor))


def mean_spread(spreads: Sequence[float], *, floor: float = FLOOR) -> float:
    """The mean spread at which `adaptive_probability` keeps its mean rate on runs like these, its floor included: the
    fixed point of mean(max(s, floor * m)) = m. 0 where there is no spread."""
    if not spreads or not any(spreads):
        return 0.0
    mean = math.fsum(spreads) / len(spreads)
    for _ in range(60):  # each turn is at least `floor` times nearer
        mean = math.fsum(max(spread, floor * mean) for spread in spreads) / len(spreads)
    return mean
