"""A first plain alarm: the interval of the recent mean against the mean that a series began with."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

from otel_ctxscore.core.stats import Estimate, Sums, TraceTotals, WeightedScore, estimate_judged

REFERENCE_RUNS = 60
RECENT_RUNS = 30
"""Runs of the two means. Few, so that a drop is seen within minutes of small traffic; the interval says how sure."""


class TrendState(StrEnum):
    """What the recent mean says."""

    LEARNING = "no reference"
    STEADY = "steady"
    FELL = "alarm"


@dataclass(slots=True)
class Trend:
    """Scores in 0..1 of one series (service, scorer, version): the first `REFERENCE_RUNS` and the last
    `RECENT_RUNS`, each a run with its weight.

    The alarm is up while the upper end of the 95 % interval of the recent mean lies more than `margin` below the
    reference mean. It looks again at every run and makes no promise of the time between false alarms.
    """

    margin: float = 0.02
    began: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=REFERENCE_RUNS))
    recent: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=RECENT_RUNS))

    def add(self, score: float, weight: float) -> None:
        """Take the score of one more run."""
        if len(self.began) < REFERENCE_RUNS:
            self.began.append((score, weight))
        else:
            self.recent.append((score, weight))

    @property
    def reference(self) -> Estimate | None:
        """The mean that the series began with, once it is known."""
        return _estimate(self.began) if len(self.began) == REFERENCE_RUNS else None

    @property
    def now(self) -> Estimate | None:
        """The recent mean; that of the beginning while there is no other."""
        return _estimate(self.recent or self.began)

    @property
    def state(self) -> TrendState:
        reference, now = self.reference, self.now
        if reference is None or reference.mean is None or len(self.recent) < RECENT_RUNS // 2 or now is None:
            return TrendState.LEARNING if reference is None else TrendState.STEADY
        fell = now.upper is not None and now.upper < reference.mean - self.margin
        return TrendState.FELL if fell else TrendState.STEADY


def _estimate(runs: deque[tuple[float, float]]) -> Estimate | None:
    traces = (TraceTotals.of([WeightedScore(weight, score)]).judged for score, weight in runs)
    return estimate_judged(sum(traces, Sums())) if runs else None
