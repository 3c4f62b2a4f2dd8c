"""From judged lists to a stream of runs under one way of judging, and to the run at which an alarm sees a fault."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from otel_ctxscore.core.stats import Detector, NullHypothesis, Reference, Sums, TraceTotals, WeightedScore, estimate
from otel_ctxscore.core.stats.estimate import Estimate
from otel_ctxscore.judges.cascade import CascadeJudge
from otel_ctxscore.judges.drawing import TwoJudges
from otel_ctxscore.judges.sampled import SampledJudge
from otel_ctxscore.testing import ScriptedJudge
from tests.bench.faults.judges import Judged, Scores

Score = Literal["precision", "share"]
Way = Literal["local", "sampled", "cascade", "full"]
Pool = Sequence[Judged | None]

RATE, FLOOR = 0.05, 0.25
REFERENCE = 5000
"""Healthy runs from which the reference is learned."""
LONGEST = 5000
"""Runs after which a fault counts as not seen."""
LOOK = 20
"""The plain alarm looks each time so many runs have passed; a tick of the sequential one holds TICK."""
TICK = 100
MARGIN = 0.02


def of(scores: Scores, score: Score) -> float:
    return scores.precision if score == "precision" else scores.share


@dataclass(frozen=True, slots=True)
class Run:
    """What one run adds: the cheap score, and weight and score where it was judged."""

    cheap: float
    weight: float | None
    value: float


def _never(run: object) -> None:
    raise AssertionError("nobody is asked here")


def drawing(way: Way) -> TwoJudges | None:
    """The product's own rule of drawing; nobody is asked."""
    nobody = ScriptedJudge(_never)  # type: ignore[arg-type]
    if way == "sampled":
        return SampledJudge(nobody, nobody, rate=RATE, floor=FLOOR)
    return CascadeJudge(nobody, nobody, rate=RATE) if way == "cascade" else None


def stream(pool: Pool, way: Way, score: Score, draw: random.Random) -> Iterator[Run | None]:
    """Endless runs out of a pool; None for one without contexts, which has no score."""
    rule = drawing(way)
    while True:
        one = draw.choice(pool)
        if one is None:
            yield None
        elif rule is None:
            value = of(one.local if way == "local" else one.full, score)
            yield Run(value, 1.0, value)
        else:
            p = rule.probability(one.screened)
            weight = 1 / p if draw.random() < p else None
            yield Run(of(one.expected, score), weight, of(one.full, score))


@dataclass(slots=True)
class Window:
    """The sums of the runs since a moment."""

    screened: Sums = field(default_factory=Sums)
    judged: Sums = field(default_factory=Sums)
    helped: bool = False

    def add(self, run: Run) -> None:
        if self.helped:
            self.screened += TraceTotals.of([WeightedScore(1.0, cheap=run.cheap)]).screened
        if run.weight is not None:
            self.judged += TraceTotals.of([WeightedScore(run.weight, run.value, run.cheap)]).judged

    @property
    def estimate(self) -> Estimate:
        return estimate(self.screened if self.helped else None, self.judged)


def watched(pool: Pool, way: Way, score: Score, draw: random.Random, runs: int) -> tuple[Window, int]:
    """The window of so many runs, and how many were judged."""
    window, judged = Window(helped=drawing(way) is not None), 0
    found = stream(pool, way, score, draw)
    for _ in range(runs):
        run = next(found)
        if run is not None:
            window.add(run)
            judged += run.weight is not None
    return window, judged


def learned(pool: Pool, way: Way, score: Score, draw: random.Random) -> NullHypothesis:
    """What is tested against, learned as the product does: judged runs only, their standard error taken off."""
    window, _ = watched(pool, way, score, draw, REFERENCE)
    alone = estimate(None, window.judged)
    assert alone.mean is not None
    assert alone.variance is not None
    cap = {"sampled": 20.0, "cascade": 1 / RATE}.get(way, 1.0)
    return Reference((alone.mean,), (alone.variance**0.5,)).null(margin=MARGIN, cap=cap)


@dataclass(frozen=True, slots=True)
class Seen:
    """The run at which each alarm rose, None where it did not."""

    plain: int | None
    sequential: int | None


def alarms(found: Iterator[Run | None], null: NullHypothesis, *, helped: bool) -> Seen:
    """Both alarms on one stream. The plain one rises when the 95 % interval of all runs since the beginning lies below
    the floor."""
    window, detector = Window(helped=helped), Detector(null)
    plain = sequential = None
    tick: list[tuple[float, float]] = []
    for place in range(1, LONGEST + 1):
        run = next(found)
        if run is not None:
            window.add(run)
            if run.weight is not None:
                tick.append((run.value, run.weight))
        if plain is None and place % LOOK == 0:
            upper = window.estimate.upper
            plain = place if upper is not None and upper < null.floor(0) else None
        if sequential is None and place % TICK == 0:
            detector = detector.after(place // TICK, tick)
            sequential = place if detector.raised is not None else None
            tick.clear()
        if plain is not None and sequential is not None:
            break
    return Seen(plain, sequential)


def runs_until(seen: Sequence[int | None]) -> float | None:
    """The median, None where half of the streams ended unseen."""
    middle = median(LONGEST + 1 if one is None else one for one in seen)
    return None if middle > LONGEST else middle
