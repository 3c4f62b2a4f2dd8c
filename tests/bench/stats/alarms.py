"""The alarm: false alarms, delays, and what a rolling z-test and a fixed line do beside it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median

import numpy as np
import numpy.typing as npt

from otel_ctxscore.core.stats import (
    Detector,
    NullHypothesis,
    Reference,
    ReferenceSums,
    Sums,
    TraceTotals,
    WeightedScore,
)
from tests.bench.stats.goal import Row
from tests.bench.stats.population import Array, Population

Observation = tuple[float, float]
Ticks = Iterator[list[Observation]]

HORIZON = 2160.0
QUARTER = 2160
WEEK = 168
MARGIN = 0.02
MEAN = 0.80
SMALL_RATIO = 5.0


def plain(rng: np.random.Generator, mean: Callable[[int], float], rate: float, ticks: int, first: int = 0) -> Ticks:
    """Ticks of Poisson traffic, equal weights, the mean a function of the tick."""
    counts = rng.poisson(rate, size=ticks)
    for tick, count in enumerate(counts.tolist(), first):
        scores = Population(round(mean(tick), 4))
        yield [(score, 1.0) for score in _cached(scores).draw(rng, count).tolist()]


@lru_cache(maxsize=512)
def _cached(population: Population) -> Population:
    return population


def tailed(rng: np.random.Generator, mean: Callable[[int], float], rate: float, ticks: int) -> Ticks:
    """The same with low scores kept and one in five of the rest: weights 1 and 5, `rate` judged runs an hour."""
    for tick in range(ticks):
        population = _cached(Population(round(mean(tick), 4)))
        scores, shares = population.distribution
        kept = np.where(scores < 0.5, 1.0, 1 / SMALL_RATIO)
        got = kept * shares / float(kept @ shares)
        picks = rng.choice(len(scores), size=rng.poisson(rate), p=got)
        yield [(float(scores[k]), float(1 / kept[k])) for k in picks.tolist()]


def alarm_time(detector: Detector, ticks: Ticks, first: int = 0) -> tuple[float | None, Detector]:
    """Hours from the first tick to the alarm (None where it does not rise), and the detector then."""
    for tick, observations in enumerate(ticks, first):
        after = detector.after(tick, observations)
        if after.raised is not None and detector.raised is None:
            return tick - first + _within(detector, tick, observations), after
        detector = after
    return None, detector


def _within(detector: Detector, tick: int, observations: Sequence[Observation]) -> float:
    """The part of the tick after which the alarm rose."""
    for place, observation in enumerate(observations, 1):
        detector = detector.after(tick, [observation])
        if detector.raised is not None:
            return place / len(observations)
    return 1.0


def edge_rows(rng: np.random.Generator, reps: int) -> list[Row]:
    """The mean exactly at the floor: the worst case that the promise speaks of."""
    horizon, rows = 240.0, []
    cases = (("10/h, equal weights", plain, 10.0, 1.0), ("100/h, equal weights", plain, 100.0, 1.0))
    for name, make, rate, cap in (*cases, ("10/h, weights 1:5", tailed, 10.0, SMALL_RATIO)):
        null = NullHypothesis((MEAN,), cap, horizon)
        few = reps if rate < 50 else reps // 2
        times = []
        for _ in range(few):
            found, _ = alarm_time(Detector(null), make(rng, Day(), rate, int(20 * horizon)))
            times.append(20 * horizon if found is None else found)
        mean, error = float(np.mean(times)), float(np.std(times) / math.sqrt(few))
        shown = f"{mean:.0f} h (s.e. {error:.0f})"
        rows.append(
            Row(
                f"mean time to a false alarm at the floor, {name}, H = 240 h",
                ">= 240 h",
                shown,
                mean + 2 * error >= 240,
            )
        )
    return rows


def grouped_rows(rng: np.random.Generator, reps: int) -> list[Row]:
    """Four runs a trace, correlation .5 inside, at the floor: one observation a trace, and one a run."""
    horizon = 240.0
    null = NullHypothesis((MEAN,), 1.0, horizon)
    population = _cached(Population(MEAN))
    by_trace: list[float] = []
    by_run: list[float] = []
    for _ in range(reps):
        traces, runs = [], []
        for count in rng.poisson(2.5, size=int(8 * horizon)).tolist():
            own = population.draw(rng, count)
            scores = np.where(
                rng.random((4, count)) < math.sqrt(0.5), own, population.draw(rng, 4 * count).reshape(4, -1)
            )
            traces.append([(score, 1.0) for score in scores.mean(axis=0).tolist()])
            runs.append([(score, 1.0) for score in scores.T.ravel().tolist()])
        for ticks, times in ((traces, by_trace), (runs, by_run)):
            found, _ = alarm_time(Detector(null), iter(ticks))
            times.append(8 * horizon if found is None else found)
    mean, error = float(np.mean(by_trace)), float(np.std(by_trace) / math.sqrt(reps))
    shown = f"{mean:.0f} h (s.e. {error:.0f}); one observation a run: {np.mean(by_run):.0f} h"
    goal = ">= 240 h, one observation a trace"
    return [Row("the same with 4 runs a trace that are alike (.5), 10 runs/h", goal, shown, mean + 2 * error >= 240)]


def quiet_rows(rng: np.random.Generator, streams: int) -> list[Row]:
    """90 days without drift at the reference; the same streams for the z-test and the fixed line."""
    rows = []
    for rate in (10.0, 100.0):
        few = streams if rate < 50 else max(streams // 3, 1)
        null = Reference.pinned(MEAN).null(margin=MARGIN, horizon=HORIZON)
        alarms, z_test, line = 0, 0, 0
        for _ in range(few):
            ticks = list(plain(rng, Day(), rate, QUARTER))
            alarms += alarm_time(Detector(null), iter(ticks))[0] is not None
            z_test += bool((_rolling_z(ticks) < -3).any())
            line += bool((_rolling_mean(ticks)[0] < MEAN - 0.05).any())
        rows.append(
            Row(
                f"90-day streams at the reference with a false alarm, margin .02, {rate:.0f}/h",
                "<= 5 %",
                f"{alarms / few:.1%} of {few}; hourly 3-sigma z-test over 6 h {z_test / few:.0%}; "
                f"6 h mean below the reference by .05 {line / few:.0%}",
                alarms / few <= 0.05,
            )
        )
    return rows


def _rolling_mean(ticks: Sequence[Sequence[Observation]]) -> tuple[Array, Array]:
    """Mean and number of runs of each window of six hours."""
    counts = np.array([len(tick) for tick in ticks], dtype=float)
    totals = np.array([sum(score for score, _ in tick) for tick in ticks])
    n = np.convolve(counts, np.ones(6), "valid")
    return np.convolve(totals, np.ones(6), "valid") / np.maximum(n, 1), n


def _rolling_z(ticks: Sequence[Sequence[Observation]]) -> Array:
    mean, n = _rolling_mean(ticks)
    spread = _cached(Population(MEAN)).deviation
    z: npt.NDArray[np.float64] = (mean - MEAN) * np.sqrt(n) / spread
    return z


@dataclass(frozen=True)
class Day:
    """The mean by hour: a wave of the given swing, and two night hours that are worse by `night`; less `drop`."""

    swing: float = 0.0
    night: float = 0.0
    drop: float = 0.0

    def __call__(self, tick: int) -> float:
        """The mean in a tick."""
        dip = self.night if tick % 24 in (2, 3) else 0.0
        return MEAN + self.swing * math.sin(2 * math.pi * tick / 24) - dip - self.drop


def learned_reference(rng: np.random.Generator, mean: Callable[[int], float], rate: float) -> Reference:
    """A reference as the product learns it, from as many days as it asks for."""
    sums, learned, day = ReferenceSums(), None, 0
    while learned is None:
        for tick, observations in enumerate(plain(rng, mean, rate, 24, 24 * day), 24 * day):
            traces = [TraceTotals.of([WeightedScore(weight, score)]).judged for score, weight in observations]
            sums = sums.after(tick, sum(traces, Sums())) if traces else sums
        learned, day = sums.learned(margin=MARGIN), day + 1
    return learned


def learned_rows(rng: np.random.Generator, streams: int) -> list[Row]:
    """90 days without drift against a reference that was learned, with and without a daily swing; and what the
    learned reference costs in delay."""
    rows = []
    shapes = {"no daily swing": Day(), "daily swing +-.03": Day(0.03), "daily swing +-.05": Day(0.05)}
    shapes["two night hours worse by .15"] = Day(night=0.15)
    for rate, (name, mean) in itertools.product((3.0, 10.0, 100.0), shapes.items()):
        few = streams if rate < 50 else max(streams // 5, 1)
        alarms, hourly, delays = 0, 0, []
        for _ in range(few):
            reference = learned_reference(rng, mean, rate)
            hourly += len(reference.means) > 1
            null = reference.null(margin=MARGIN, horizon=HORIZON)
            found, detector = alarm_time(Detector(null), plain(rng, mean, rate, QUARTER, WEEK), WEEK)
            alarms += found is not None
            if found is None:
                start = QUARTER + WEEK
                fallen = plain(rng, replace(mean, drop=0.1), rate, 1000, start)
                delays.append(alarm_time(detector, fallen, start)[0] or 1000.0)
        rows.append(
            Row(
                f"90-day streams with a false alarm, learned reference, {name}, {rate:.0f}/h",
                "<= 5 %",
                f"{alarms / few:.1%} of {few}; by hour in {hourly / few:.0%}; then a drop of .1 found after "
                f"{np.mean(delays):.1f} h",
                alarms / few <= 0.05,
            )
        )
    return rows


def delay_rows(rng: np.random.Generator, reps: int) -> list[Row]:
    """The delay of a drop after a quiet week, beside CUSUMs that know the distributions before and after."""
    rows = []
    goals = {(10.0, 0.2): 6.0, (10.0, 0.1): 21.0, (10.0, 0.05): 96.0}
    goals |= {(100.0, 0.2): 0.75, (100.0, 0.1): 3.0, (100.0, 0.05): 15.0}
    limits = {0.2: 2.0, 0.1: 2.5, 0.05: 4.0}
    null = Reference.pinned(MEAN).null(margin=MARGIN, horizon=HORIZON)
    for (rate, drop), goal in goals.items():
        delays, misses = detector_delays(rng, null, rate, drop, reps if rate < 50 else reps // 2)
        mean, error = float(np.mean(delays)), float(np.std(delays) / math.sqrt(len(delays)))
        oracle, edge = oracle_delay(rng, MEAN, drop, rate), oracle_delay(rng, MEAN - MARGIN, drop - MARGIN, rate)
        rows.append(
            Row(
                f"mean delay of a drop of {drop} from .80, {rate:.0f}/h",
                f"{goal:g} h (within 2 s.e.)",
                f"{mean:.2f} h (s.e. {error:.2f}), 90 % within {np.quantile(delays, 0.9):.1f} h; onset off by "
                f"{median(misses):.0f} h (median)",
                mean - 2 * error <= goal,
            )
        )
        rows.append(
            Row(
                "- its ratio to an oracle CUSUM / to one whose null is the floor",
                f"<= {limits[drop]} / 1.5",
                f"{mean / oracle:.2f} / {mean / edge:.2f}",
                mean / oracle <= limits[drop] and mean / edge <= 1.5,
            )
        )
    return rows


def detector_delays(
    rng: np.random.Generator, null: NullHypothesis, rate: float, drop: float, reps: int
) -> tuple[list[float], list[float]]:
    """Delays in hours, and by how many hours the estimated onset misses the true one."""
    delays: list[float] = []
    misses: list[float] = []
    while len(delays) < reps:
        early, detector = alarm_time(Detector(null), plain(rng, Day(), rate, WEEK))
        if early is not None:
            continue
        fallen = plain(rng, Day(drop=drop), rate, 20_000, WEEK)
        found, detector = alarm_time(detector, fallen, WEEK)
        assert found is not None
        assert detector.began is not None
        delays.append(found)
        misses.append(abs(detector.began - WEEK))
    return delays, misses


@lru_cache(maxsize=64)
def _cusum_threshold(before: float, after: float) -> float:
    """Of the likelihood-ratio CUSUM, for one false alarm in 21 600 runs (90 days at 10 an hour)."""
    rng = np.random.default_rng(99)
    low, high = 2.0, 14.0
    steps = _ratios(before, after)
    for _ in range(9):
        middle = (low + high) / 2
        state, alarms = np.zeros(500), 0
        picks = rng.choice(len(steps), size=(8000, 500), p=_cached(Population(before)).distribution[1])
        for k in picks:
            state = np.maximum(state + steps[k], 0)
            over = state >= middle
            alarms += int(over.sum())
            state[over] = 0
        low, high = (middle, high) if alarms * 21_600 > 4_000_000 else (low, middle)
    return (low + high) / 2


def _ratios(before: float, after: float) -> Array:
    old, new = _cached(Population(before)).distribution[1], _cached(Population(after)).distribution[1]
    steps: Array = np.log(new / old)
    return steps


def oracle_delay(rng: np.random.Generator, before: float, drop: float, rate: float) -> float:
    """Mean delay in hours of the CUSUM that knows both distributions, one false alarm in 90 days; its null has the
    mean `before`. At ten times the traffic the threshold is higher by log 10."""
    after = round(before - drop, 4)
    threshold = _cusum_threshold(round(before, 4), after) + math.log(rate / 10)
    steps, shares = _ratios(round(before, 4), after), _cached(Population(after)).distribution[1]
    state, runs, alive = np.zeros(2000), np.zeros(2000), np.ones(2000, dtype=bool)
    while alive.any():
        runs[alive] += 1
        state = np.maximum(state + steps[rng.choice(len(steps), size=2000, p=shares)], 0)
        alive &= state < threshold
    return float(runs.mean() / rate)


def ending_rows(rng: np.random.Generator, reps: int) -> list[Row]:
    """How long the alarm stays after 24 h of a drop and a full recovery."""
    rows = []
    null = Reference.pinned(MEAN).null(margin=MARGIN, horizon=HORIZON)
    for rate, drop in ((10.0, 0.2), (100.0, 0.1)):
        times = []
        for _ in range(reps):
            detector = Detector(null)
            for tick, observations in enumerate(plain(rng, Day(drop=drop), rate, 24)):
                detector = detector.after(tick, observations)
            for tick, observations in enumerate(plain(rng, Day(), rate, 2000), 24):
                if detector.raised is None:
                    break
                detector = detector.after(tick, observations)
            times.append(tick - 24)
        rows.append(
            Row(f"alarm ends after a drop of {drop} for 24 h, {rate:.0f}/h", "shown", f"median {median(times)} h")
        )
    return rows


def rows(seed: int, quick: bool) -> list[Row]:
    """All of this part."""
    rng = np.random.default_rng(seed)
    return [
        *edge_rows(rng, 60 if quick else 400),
        *grouped_rows(rng, 40 if quick else 200),
        *quiet_rows(rng, 20 if quick else 200),
        *learned_rows(rng, 10 if quick else 100),
        *delay_rows(rng, 40 if quick else 300),
        *ending_rows(rng, 20 if quick else 100),
    ]
