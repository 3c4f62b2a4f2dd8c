"""What all scorers do with a number: scale it, round it once, name it."""

from __future__ import annotations

import math
from collections.abc import Sequence

EPSILON = 2.0**-52

Steps = Sequence[tuple[float, str]]
"""(lowest ratio, label), from the highest down; the last one takes the rest."""


def round2(x: float) -> float:
    """`x` to two decimals, ties up, as `Math.round((x + Number.EPSILON) * 100) / 100` of ECMAScript has it."""
    cents = (x + EPSILON) * 100
    whole = math.floor(cents)
    return (whole + (cents - whole >= 0.5)) / 100


def label(ratio: float, steps: Steps) -> str:
    """The label of the unscaled value, rounded to two decimals."""
    rounded = round2(ratio)
    return next((name for lowest, name in steps if rounded >= lowest), steps[-1][1])


def check_scale(scale: float) -> None:
    """Raises ValueError unless `scale` is a finite number above 0."""
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"scale must be a number above 0, not {scale!r}")
