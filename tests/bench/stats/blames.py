"""Anchors: whom a burst blames, and how soon the steady trickle finds a judge that moved."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from statistics import median

import numpy as np
import numpy.typing as npt

from otel_ctxscore.core.stats import AnchorWatch, blame, kept_score
from tests.bench.stats.goal import Row
from tests.bench.stats.population import CONTEXTS, PATTERNS, SCORES, Array, Population

Patterns = npt.NDArray[np.int64]

FLIPS = 0.067
LIVE_RUNS = 300
MEAN = 0.80
PLACES = 2 ** np.arange(CONTEXTS - 1, -1, -1)


def judged(rng: np.random.Generator, truth: Patterns, harsh: float = 0.0) -> Array:
    """Scores that the judge gives: verdicts flip on repetition, and a harsher judge drops useful ones."""
    verdicts = np.where(rng.random(truth.shape) < FLIPS, 1 - truth, truth)
    verdicts = np.where(rng.random(truth.shape) < harsh, 0, verdicts)
    return SCORES[verdicts @ PLACES]


def mean_score(mean: float, harsh: float = 0.0) -> float:
    """The exact mean of `judged` over a population."""
    keep = (1 - FLIPS) * (1 - harsh), FLIPS * (1 - harsh)
    total = 0.0
    for truth, share in zip(PATTERNS, Population(mean).shares.tolist(), strict=True):
        says = np.where(truth == 1, keep[0], keep[1])
        chance = np.prod(np.where(PATTERNS == 1, says, 1 - says), axis=1)
        total += share * float(chance @ SCORES)
    return total


def _solved(change: float, *, system: bool) -> float:
    """The population's mean, or the judge's harshness, that lowers the mean score by `change`."""
    aim = mean_score(MEAN) - change
    low, high = (0.05, MEAN) if system else (0.0, 0.9)
    for _ in range(40):
        middle = (low + high) / 2
        now = mean_score(middle) if system else mean_score(MEAN, middle)
        below = now < aim
        low, high = (middle, high) if below == system else (low, middle)
    return (low + high) / 2


def bursts(rng: np.random.Generator, reps: int, anchors: int, system: float, judge: float) -> Counter[str]:
    """What `blame` says when the system and the judge fell by so much."""
    mean = round(_solved(system, system=True), 6) if system else MEAN
    harsh = _solved(judge, system=False) if judge else 0.0
    before, said = mean_score(MEAN), Counter[str]()
    for _ in range(reps):
        truth = Population(MEAN).patterns(rng, anchors)
        passes = np.stack([judged(rng, truth) for _ in range(3)])
        kept = [kept_score(column) for column in passes.T.tolist()]
        differences = (judged(rng, truth, harsh) - np.array(kept)).tolist()
        live = judged(rng, Population(mean).patterns(rng, LIVE_RUNS), harsh)
        error = float(live.std()) / math.sqrt(LIVE_RUNS)
        said[blame(float(live.mean()) - before, error, differences).culprit] += 1
    return said


def steady_hours(rng: np.random.Generator, anchors: int, per_hour: int, change: float, ticks: int) -> float | None:
    """Hours until the steady watch sees a judge that fell by `change` at hour 0, None where it does not."""
    harsh = _solved(change, system=False) if change else 0.0
    truth = Population(MEAN).patterns(rng, anchors)
    kept = np.mean([judged(rng, truth) for _ in range(3)], axis=0)
    watch = AnchorWatch()
    for tick in range(ticks):
        drawn = rng.integers(0, anchors, size=per_hour)
        watch = watch.after(tick, (judged(rng, truth[drawn], harsh) - kept[drawn]).tolist())
        if watch.ratio >= 1.0:
            return tick + 1.0
    return None


def rows(seed: int, quick: bool) -> list[Row]:
    """All of this part."""
    rng = np.random.default_rng(seed)
    reps, result = 300 if quick else 3000, []
    for drop, culprit in itertools.product((0.05, 0.1, 0.2), ("system", "judge")):
        system, judge = (drop, 0.0) if culprit == "system" else (0.0, drop)
        said = bursts(rng, reps, 100, system, judge)
        right, wrong = said[culprit] / reps, said["judge" if culprit == "system" else "system"] / reps
        small = drop < 0.1
        result.append(
            Row(
                f"the {culprit} fell by {drop}, 100 anchors, 300 live runs",
                "wrong <= 3 %" if small else "right >= 95 %, wrong <= 1 %",
                f"right {right:.1%}, wrong {wrong:.1%}, both {said['both'] / reps:.1%}, open {said['open'] / reps:.1%}",
                wrong <= 0.03 if small else wrong <= 0.01 and right + 2 * math.sqrt(0.05 * 0.95 / reps) >= 0.95,
            )
        )
    said = bursts(rng, reps, 100, 0.1, 0.1)
    result.append(Row("both fell by .1, 100 anchors", "shown (.90)", f"both {said['both'] / reps:.1%}"))
    few = 15 if quick else 100
    for change in (0.1, 0.2):
        times = [steady_hours(rng, 100, 2, change, 3000) or 3000.0 for _ in range(few)]
        result.append(
            Row(f"steady anchors, 2 an hour, judge fell by {change}", "shown", f"median {median(times):.0f} h")
        )
    alarms = sum(steady_hours(rng, 100, 2, 0.0, 2160) is not None for _ in range(few))
    result.append(
        Row("steady anchors, 2 an hour, 90 days with no change", "<= 5 %", f"{alarms} of {few}", alarms <= 0.05 * few)
    )
    return result
