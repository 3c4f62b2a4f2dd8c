"""What an alarm that has just risen says of when the fall began."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np

from otel_ctxscore.core.stats import (
    ChangePoint,
    Detector,
    Reference,
    Sums,
    TraceTotals,
    WeightedScore,
    change_point,
)
from tests.bench.stats.alarms import MEAN, QUARTER, SMALL_RATIO, WEEK, Ticks, plain, tailed
from tests.bench.stats.goal import Row

FELL = WEEK
"""The tick of the fall: a week of good runs stands before it."""
Stream = Callable[[np.random.Generator, Callable[[int], float], float, int], Ticks]


@dataclass(frozen=True, slots=True)
class Seen:
    """One alarm: the place that it states, and the hour that the detector itself noted."""

    place: ChangePoint | None
    noted: int


def risen(rng: np.random.Generator, stream: Stream, rate: float, drop: float, cap: float) -> Seen | None:
    """The alarm of one stream that falls; None where it rose before the fall, or not at all."""
    detector = Detector(Reference.pinned(MEAN).null(cap=cap))
    by_tick: dict[int, Sums] = {}
    for tick, runs in enumerate(stream(rng, lambda t: MEAN if t < FELL else MEAN - drop, rate, FELL + QUARTER)):
        for score, weight in runs:
            trace = TraceTotals.of([WeightedScore(weight, score)]).judged
            by_tick[tick] = by_tick.get(tick, Sums()) + trace
        detector = detector.after(tick, runs)
        if detector.raised is not None and detector.began is not None:
            return _seen(by_tick, detector.began) if tick >= FELL else None
    return None


def _seen(by_tick: dict[int, Sums], noted: int) -> Seen:
    return Seen(change_point([one for one in sorted(by_tick.items()) if one[0] >= noted - WEEK]), noted)


def rows(seed: int, quick: bool) -> list[Row]:
    """All of this part."""
    rng, result = np.random.default_rng(seed), []
    streams: tuple[tuple[str, Stream, float], ...] = (
        ("equal weights", plain, 1.0),
        ("weights 1:5", tailed, SMALL_RATIO),
    )
    for (name, stream, cap), rate, drop in itertools.product(streams, (3.0, 10.0, 100.0), (0.1, 0.2)):
        reps = (30 if quick else 100) // (5 if rate > 50 else 1)
        seen = [one for _ in range(reps) if (one := risen(rng, stream, rate, drop, cap)) is not None]
        result.append(_row(f"{rate:.0f} an hour, {name}, fall of {drop}", seen))
    return result


def _row(what: str, seen: list[Seen]) -> Row:
    placed = [one.place for one in seen if one.place is not None]
    off = [abs(place.tick - FELL) for place in placed]
    inside = sum(place.low <= FELL <= place.high for place in placed) / len(placed)
    widths = [place.high - place.low + 1 for place in placed]
    said = (
        f"{inside:.1%} of {len(placed)} (none said: {len(seen) - len(placed)}); off by {median(off):.0f} h in the middle; "
        f"{median(widths):.0f} h stated"
    )
    error = math.sqrt(0.9 * 0.1 / len(placed))
    return Row(f"when it began, as the alarm rises: {what}", "inside >= 90 %", said, inside + 2 * error >= 0.9)
