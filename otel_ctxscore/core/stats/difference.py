"""Two means beside each other, and means of what is no score.

The interval of a difference is made of the two intervals (MOVER: Newcombe, *Statistics in Medicine* 17, 1998; Zou and
Donner, *Statistics in Medicine* 27, 2008), so that it is as unsymmetric near 0 and 1 as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from otel_ctxscore.core.stats.estimate import LOW_N_EFF, MIN_N_EFF, Estimate
from otel_ctxscore.core.stats.quantiles import student_t95
from otel_ctxscore.core.stats.sums import Sums


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean minus another one, with its 95 % interval, None where either mean has none."""

    value: float
    lower: float | None = None
    upper: float | None = None

    @property
    def told(self) -> bool:
        """Whether it is more than noise: the interval is there and leaves 0 out."""
        return self.lower is not None and self.upper is not None and not self.lower <= 0.0 <= self.upper


def difference(after: Estimate, before: Estimate) -> Difference | None:
    """After minus before, of traces that are in one of them only. None where either has no mean."""
    if after.mean is None or before.mean is None:
        return None
    value = after.mean - before.mean
    ends = after.lower, after.upper, before.lower, before.upper
    if None in ends:
        return Difference(value)
    low, high, low_before, high_before = (end for end in ends if end is not None)
    down = math.hypot(after.mean - low, high_before - before.mean)
    up = math.hypot(high - after.mean, before.mean - low_before)
    return Difference(value, value - down, value + up)


def estimate_mean(sums: Sums) -> Estimate:
    """The weighted mean of any number, with a symmetric 95 % interval from 10 effective traces on.

    A trace adds `TraceTotals(t0, ty, 0).judged` with ty the sum of weight times value and t0 that of the weights: over
    runs, or over the parts of runs (contexts), whose mean is then a ratio of totals.
    """
    n = sums.n_eff
    if not n > 0.0:
        return Estimate()
    w, mean = sums.w, sums.wy / sums.w
    variance = max(sums.wwyy / w / w - 2 * mean * (sums.wwy / w / w) + mean * mean * (sums.ww / w / w), 0.0)
    if not (math.isfinite(mean) and math.isfinite(variance)):
        return Estimate()
    if n < MIN_N_EFF:
        return Estimate(mean, None, None, n, True, 0.0, variance)
    half = student_t95(n - 1.0) * math.sqrt(variance * n / (n - 1.0))
    return Estimate(mean, mean - half, mean + half, n, n < LOW_N_EFF, 0.0, variance)
