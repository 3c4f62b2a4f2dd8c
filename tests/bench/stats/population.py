"""The scores that are drawn: average precision of five contexts, and a cheap score that goes with it.

A query's contexts are useful with a probability of their own, Beta distributed over queries, so there is much mass at
0 and 1. One family, by its mean: standard deviation .36 at a mean of .68, .29 at .80, .23 at .89.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

CONTEXTS = 5
CONCENTRATION = 1.6
NOISE_LEVELS = 9


def average_precision(useful: tuple[int, ...]) -> float:
    """Average precision of a ranked list; 0 where nothing is useful."""
    hits, total = 0, 0.0
    for rank, hit in enumerate(useful, 1):
        hits += hit
        total += hit * hits / rank
    return total / hits if hits else 0.0


PATTERNS = np.array(list(itertools.product((0, 1), repeat=CONTEXTS)))
SCORES: Array = np.array([average_precision(tuple(pattern)) for pattern in PATTERNS])


def _beta_binomial(p: float) -> Array:
    a, b = p * CONCENTRATION, (1 - p) * CONCENTRATION

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    by_hits = [math.exp(log_beta(a + k, b + CONTEXTS - k) - log_beta(a, b)) for k in range(CONTEXTS + 1)]
    return np.array([by_hits[int(k)] for k in PATTERNS.sum(axis=1)])


@lru_cache(maxsize=256)
def _pattern_shares(mean: float) -> tuple[float, ...]:
    low, high = 1e-6, 1 - 1e-6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(_beta_binomial(middle) @ SCORES) < mean else (low, middle)
    return tuple(_beta_binomial((low + high) / 2))


@dataclass(frozen=True)
class Population:
    """The 32 patterns with the shares that give a mean score."""

    mean: float

    @cached_property
    def shares(self) -> Array:
        """One share a pattern."""
        shares: Array = np.array(_pattern_shares(self.mean))
        return shares / float(shares.sum())

    @cached_property
    def distribution(self) -> tuple[Array, Array]:
        """The different scores and their shares."""
        scores, place = np.unique(SCORES, return_inverse=True)
        return scores, np.bincount(place, weights=self.shares).astype(np.float64)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of a score."""
        return math.sqrt(float(self.shares @ (SCORES - self.mean) ** 2))

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """Scores of n runs."""
        scores: Array = SCORES[rng.choice(len(SCORES), size=n, p=self.shares)]
        return scores

    def patterns(self, rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
        """Patterns of n runs, one row a run."""
        return PATTERNS[rng.choice(len(SCORES), size=n, p=self.shares)]


@dataclass(frozen=True)
class Joint:
    """Score and cheap score together, as cells: a biased cheap score of correlation `rho`."""

    population: Population
    rho: float

    @cached_property
    def cells(self) -> tuple[Array, Array, Array]:
        """(y, f, share) of each cell."""
        noise = np.array([NormalDist().inv_cdf((k + 0.5) / NOISE_LEVELS) for k in range(NOISE_LEVELS)])
        noise /= math.sqrt(float((noise**2).mean()))
        scores, shares = self.population.distribution
        standard = (scores - self.population.mean) / self.population.deviation
        latent = self.rho * standard[:, None] + math.sqrt(1 - self.rho**2) * noise[None, :]
        y = np.repeat(scores, NOISE_LEVELS)
        f = 0.1 + 0.8 * (self.population.mean + 0.7 * self.population.deviation * latent.ravel())
        return y, f, np.repeat(shares / NOISE_LEVELS, NOISE_LEVELS)

    def residual(self, bins: int = 10) -> Array:
        """Of each cell, the standard deviation of y among runs with such an f (by tenths of f)."""
        y, f, share = self.cells
        order = np.argsort(f, kind="stable")
        place = np.empty(len(f), dtype=int)
        place[order] = np.minimum((np.cumsum(share[order]) * bins).astype(int), bins - 1)
        spread = np.zeros(bins)
        for k in range(bins):
            of = place == k
            mean = np.average(y[of], weights=share[of])
            spread[k] = math.sqrt(np.average((y[of] - mean) ** 2, weights=share[of]))
        return spread[place]
