"""Drift of the distribution: PSI and KS with their own noise floor (STATISTICS, "drift of the distribution").

The usual lines at a PSI of .1 and .25 are noise below 200 runs. Here the floor is drawn beside the number: what PSI
reaches by chance is a chi-square variable over the effective numbers of runs, and an alert needs a value beyond its
.1 % point and beyond .1, from at least 100 effective runs, in two windows that do not overlap.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from otel_ctxscore.core.stats.quantiles import chi_square, kolmogorov

EDGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
CELLS = ("0", *(f"{low:.1f}-{high:.1f}" for low, high in pairwise((0.0, *EDGES, 1.0))), "1")
"""The twelve cells: exactly 0, ten tenths with their upper edge (but for 1), exactly 1."""

MIN_SHARE = 0.05
"""What a group holds of the baseline, at least."""

MIN_N_EFF = 100.0
"""Below this effective number of runs nothing is said."""

MIN_PSI = 0.1
"""A smaller PSI is no alert, however certain it is."""

POINTS = (0.01, 0.001)
"""The chances that the two noise floors are exceeded without any drift."""


def cell(score: float) -> int:
    """The index in `CELLS` of a score in 0..1 before any scale."""
    if score <= 0.0:
        return 0
    return len(CELLS) - 1 if score >= 1.0 else 1 + bisect_left(EDGES, score)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A distribution that windows are compared with.

    `shares`: twelve, one for each of `CELLS`, of sum 1. `groups`: for each cell the index of its group, never falling.
    `n_eff`: effective number of runs behind it.
    """

    shares: tuple[float, ...]
    groups: tuple[int, ...]
    n_eff: float

    @classmethod
    def pin(cls, weights: Sequence[float], n_eff: float) -> Baseline:
        """Fix a baseline from the summed weights of the twelve cells. Groups are fixed with it: the smallest group
        is joined to its smaller neighbour until each holds 5 %. Raises ValueError where there is no weight."""
        shares = _shares(weights)
        if not n_eff > 0.0:
            raise ValueError("a baseline needs runs")
        return cls(shares, _joined(shares), n_eff)

    @property
    def group_count(self) -> int:
        """How many groups there are."""
        return self.groups[-1] + 1

    def grouped(self, shares: Sequence[float]) -> list[float]:
        """The shares of the groups from those of the cells."""
        totals = [0.0] * self.group_count
        for group, share in zip(self.groups, shares, strict=True):
            totals[group] += share
        return totals


@dataclass(frozen=True, slots=True)
class Drift:
    """A window compared with the baseline. All are None where there is not enough to say anything.

    `psi`: population stability index over the groups. `g`: PSI over its expected noise, chi-square with one degree of
    freedom less than groups. `psi_floors`: what PSI exceeds by chance in 1 % and in .1 % of windows. `ks`: greatest
    difference of the two distribution functions. `ks_floors`: likewise (on scores of few values it is exceeded less).
    """

    psi: float | None = None
    g: float | None = None
    psi_floors: tuple[float, float] | None = None
    ks: float | None = None
    ks_floors: tuple[float, float] | None = None

    @property
    def enough(self) -> bool:
        """Whether anything can be said."""
        return self.psi is not None

    @property
    def moved(self) -> bool:
        """Whether PSI is beyond its .1 % point and beyond .1."""
        return self.psi is not None and self.psi_floors is not None and self.psi > max(MIN_PSI, self.psi_floors[1])


def compare(baseline: Baseline, weights: Sequence[float], n_eff: float) -> Drift:
    """Compare a window with the baseline.

    `weights`: summed weights of the window's twelve cells. `n_eff`: w^2/ww of the window. Not `enough` below an
    effective number of 100, or where the baseline has a single group. Raises ValueError for other than twelve cells.
    """
    if not n_eff >= MIN_N_EFF or baseline.group_count < 2:
        return Drift()
    shares = _shares(weights)
    noise = 1.0 / n_eff + 1.0 / baseline.n_eff
    psi = _psi(baseline, shares, n_eff)
    ks = max(abs(a - b) for a, b in zip(accumulate(shares), accumulate(baseline.shares), strict=True))
    freedom = baseline.group_count - 1
    return Drift(
        psi=psi,
        g=psi / noise,
        psi_floors=(chi_square(POINTS[0], freedom) * noise, chi_square(POINTS[1], freedom) * noise),
        ks=ks,
        ks_floors=(kolmogorov(POINTS[0]) * math.sqrt(noise), kolmogorov(POINTS[1]) * math.sqrt(noise)),
    )


def drifted(earlier: Drift, later: Drift) -> bool:
    """Whether to alert: two windows that do not overlap have both moved."""
    return earlier.moved and later.moved


def _psi(baseline: Baseline, shares: Sequence[float], n_eff: float) -> float:
    """PSI over the groups, with half a run added to each group on both sides."""
    old = _smoothed(baseline.grouped(baseline.shares), baseline.n_eff)
    new = _smoothed(baseline.grouped(shares), n_eff)
    return math.fsum((q - p) * math.log(q / p) for p, q in zip(old, new, strict=True))


def _smoothed(shares: Sequence[float], n_eff: float) -> list[float]:
    return [(n_eff * share + 0.5) / (n_eff + 0.5 * len(shares)) for share in shares]


def _shares(weights: Sequence[float]) -> tuple[float, ...]:
    total = math.fsum(weights)
    if len(weights) != len(CELLS) or min(weights) < 0.0 or not 0.0 < total < math.inf:
        raise ValueError(f"{len(CELLS)} weights of 0 and more are wanted, one of them greater than 0")
    return tuple(weight / total for weight in weights)


def _joined(shares: Sequence[float]) -> tuple[int, ...]:
    sizes, lengths = list(shares), [1] * len(shares)
    while len(sizes) > 1 and min(sizes) < MIN_SHARE:
        at = sizes.index(min(sizes))
        beside = [place for place in (at - 1, at + 1) if 0 <= place < len(sizes)]
        left = min(at, min(beside, key=lambda place: sizes[place]))
        sizes[left : left + 2] = [sizes[left] + sizes[left + 1]]
        lengths[left : left + 2] = [lengths[left] + lengths[left + 1]]
    return tuple(group for group, length in enumerate(lengths) for _ in range(length))
