"""Points of the normal, Student, chi-square and Kolmogorov distributions, from the standard library alone."""

from __future__ import annotations

import math
from functools import lru_cache

Z95 = 1.96
"""The two-sided 95 % point of the normal distribution, rounded as the recording rules have it."""

Z_ONE_SIDED = 1.645
"""The one-sided 95 % point of the normal distribution, rounded likewise."""


def student_t95(freedom: float) -> float:
    """The two-sided 95 % point of Student's t by its Cornish-Fisher expansion: plain arithmetic, so that a recording
    rule can have the same value (2.568 for 2.571 at 5 degrees of freedom). `freedom` is greater than 0.
    """
    z, v = Z95, freedom
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / v + second / (v * v) + third / (v * v * v)


@lru_cache(maxsize=256)
def chi_square(tail: float, freedom: int) -> float:
    """The value that a chi-square variable exceeds with probability `tail` (0 < tail < 1), to 1e-9 and better.

    Found by bisection on the regularised upper incomplete gamma function. Raises ValueError out of range.
    """
    if not 0.0 < tail < 1.0 or freedom < 1:
        raise ValueError("a tail lies within 0..1 and the degrees of freedom are at least 1")
    low, high = 0.0, float(freedom)
    while chi_square_tail(high, freedom) > tail:
        low, high = high, 2.0 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if chi_square_tail(middle, freedom) > tail else (low, middle)
    return (low + high) / 2


def chi_square_tail(value: float, freedom: int) -> float:
    """The probability that a chi-square variable exceeds `value` (0 or more)."""
    a, x = freedom / 2, value / 2
    if x <= 0.0:
        return 1.0
    if x < a + 1.0:
        return 1.0 - _lower_series(a, x)
    return _upper_fraction(a, x)


def kolmogorov(tail: float) -> float:
    """The value that sqrt(n)*D exceeds with probability `tail`, first term of Kolmogorov's series (good to four
    digits for a tail of 5 % and less): 1.63 at 1 %, 1.95 at .1 %.
    """
    return math.sqrt(-math.log(tail / 2) / 2)


def _scale(a: float, x: float) -> float:
    return math.exp(a * math.log(x) - x - math.lgamma(a))


def _lower_series(a: float, x: float) -> float:
    term = total = 1.0 / a
    step = a
    while abs(term) > 1e-17 * abs(total):
        step += 1.0
        term *= x / step
        total += term
    return total * _scale(a, x)


def _upper_fraction(a: float, x: float) -> float:
    """Lentz's evaluation of the continued fraction of the upper incomplete gamma function."""
    b = x + 1.0 - a
    c, d = math.inf, 1.0 / b
    total = d
    for step in range(1, 10_000):
        numerator = -step * (step - a)
        b += 2.0
        d = 1.0 / (numerator * d + b)
        c = b + numerator / c
        total *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return total * _scale(a, x)
