"""How the mean score goes with the hour of the day, from sums by hour.

Each hour alone has few runs. Hours are therefore fitted by a wave of 24 hours, and what is left of an hour is believed
as far as it exceeds noise (empirical Bayes, variance between hours by DerSimonian and Laird). Measured against hours
that are each drawn to the common mean: a reference with half the standard error on a smooth day, the same on others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from otel_ctxscore.core.stats.quantiles import chi_square
from otel_ctxscore.core.stats.sums import Sums

HOURS = 24
WAVE_TAIL = 0.05
"""The chance to take noise for a daily wave. What that costs is some delay, not a false alarm."""

REST_TAIL = 0.01
"""The chance to take noise for hours that differ from the wave."""

Matrix = list[list[float]]


@dataclass(frozen=True, slots=True)
class DailyCurve:
    """The mean of each of the 24 hours (0..1) and its standard error."""

    means: tuple[float, ...]
    errors: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Hour:
    hour: int
    n: float
    mean: float


def daily_curve(hours: Sequence[Sums], mean: float, variance: float, least: float) -> DailyCurve | None:
    """The curve, or None where one mean serves all hours: the swing is noise, or not above `least`.

    `hours`: judged sums, one for each hour of the day. `mean`: of all, `variance`: of one trace of weight 1. `least`:
    peak to peak.
    """
    seen = [_Hour(hour, sums.n_eff, sums.wy / sums.w) for hour, sums in enumerate(hours) if sums.n_eff > 0.0]
    inverse = _inverse(_normal(seen)) if variance > 0.0 else None
    if inverse is None:
        return None
    right = [math.fsum(cell.n * cell.mean * x for cell, x in _rows(seen, term)) for term in range(3)]
    wave = [math.fsum(a * b for a, b in zip(row, right, strict=True)) for row in inverse]
    rest = _between(seen, wave, variance)
    if not _swings(seen, wave, mean, variance, least, inverse) and 2.0 * math.sqrt(2.0 * rest) <= least:
        return None
    by_hour = {cell.hour: cell for cell in seen}
    points = [_point(hour, by_hour.get(hour), wave, inverse, variance, rest) for hour in range(HOURS)]
    return DailyCurve(tuple(point for point, _ in points), tuple(error for _, error in points))


def _terms(hour: int) -> tuple[float, float, float]:
    angle = 2.0 * math.pi * hour / HOURS
    return 1.0, math.cos(angle), math.sin(angle)


def _rows(seen: Sequence[_Hour], term: int) -> list[tuple[_Hour, float]]:
    return [(cell, _terms(cell.hour)[term]) for cell in seen]


def _normal(seen: Sequence[_Hour]) -> Matrix:
    """The normal matrix of the weighted least squares."""
    return [
        [math.fsum(cell.n * _terms(cell.hour)[a] * _terms(cell.hour)[b] for cell in seen) for b in range(3)]
        for a in range(3)
    ]


def _inverse(m: Matrix) -> Matrix | None:
    """The inverse of a symmetric 3 by 3 matrix by its minors; None where too few hours were seen to fit a wave."""
    minors = [[_minor(m, a, b) for b in range(3)] for a in range(3)]
    determinant = math.fsum(m[0][k] * minors[0][k] for k in range(3))
    if not determinant > 1e-6 * m[0][0] ** 3:
        return None
    return [[minor / determinant for minor in row] for row in minors]


def _minor(m: Matrix, row: int, column: int) -> float:
    """The cofactor of one place, sign included, for rows and columns are taken in a circle."""
    r, s, c, d = (row + 1) % 3, (row + 2) % 3, (column + 1) % 3, (column + 2) % 3
    return m[r][c] * m[s][d] - m[r][d] * m[s][c]


def _fitted(hour: int, wave: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(wave, _terms(hour), strict=True))


def _swings(
    seen: Sequence[_Hour], wave: Sequence[float], mean: float, variance: float, least: float, inverse: Matrix
) -> bool:
    """Whether the wave is more than noise and, freed of its own noise, above `least` from peak to peak."""
    flat = math.fsum(cell.n * (cell.mean - mean) ** 2 for cell in seen) / variance
    explained = flat - _unexplained(seen, wave, variance)
    square = wave[1] ** 2 + wave[2] ** 2 - variance * (inverse[1][1] + inverse[2][2])
    return explained > chi_square(WAVE_TAIL, 2) and 2.0 * math.sqrt(max(square, 0.0)) > least


def _unexplained(seen: Sequence[_Hour], wave: Sequence[float], variance: float) -> float:
    return math.fsum(cell.n * (cell.mean - _fitted(cell.hour, wave)) ** 2 for cell in seen) / variance


def _between(seen: Sequence[_Hour], wave: Sequence[float], variance: float) -> float:
    """The variance of hours around the wave; 0 where noise explains what is seen."""
    freedom = len(seen) - 3
    if freedom < 1:
        return 0.0
    q = _unexplained(seen, wave, variance)
    if q <= chi_square(REST_TAIL, freedom):
        return 0.0
    total = math.fsum(cell.n for cell in seen)
    return (q - freedom) * variance / (total - 3.0 * math.fsum(cell.n**2 for cell in seen) / total)


def _point(
    hour: int, cell: _Hour | None, wave: Sequence[float], inverse: Matrix, variance: float, rest: float
) -> tuple[float, float]:
    """Mean and standard error of one hour: the wave, and as much of the hour's own mean as it deserves."""
    fitted = _fitted(hour, wave)
    square = variance * math.fsum(x * _fitted(hour, row) for x, row in zip(_terms(hour), inverse, strict=True))
    share = rest / (rest + variance / cell.n) if cell is not None else 0.0
    own = fitted if cell is None else fitted + share * (cell.mean - fitted)
    error = math.sqrt(rest * (1.0 - share) + (1.0 - share) ** 2 * max(square, 0.0))
    return min(max(own, 0.0), 1.0), error
