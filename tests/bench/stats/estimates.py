"""Intervals, bias, width and cost of the estimate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from otel_ctxscore.core.stats import (
    Estimate,
    Sums,
    TraceTotals,
    Traffic,
    WeightedScore,
    adaptive_probability,
    estimate,
    estimate_judged,
    judging_probability,
    mean_spread,
)
from tests.bench.stats.goal import Row, span
from tests.bench.stats.population import SCORES, Array, Joint, Population

RATIOS = (2, 5, 20, 100)
RHOS = (0.3, 0.5, 0.7)


@dataclass(frozen=True)
class Design:
    """Probability to be screened and, if so, to be judged, of each cell; and the traffic it is applied to."""

    screen: Array
    judge: Array
    traffic: float


def _rescaled(shape: Array, weight: Array, mean: float) -> Array:
    """Probabilities in proportion to `shape`, at most 1, with the given weighted mean."""
    low, high = 0.0, 1e9
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if float(np.minimum(shape * middle, 1) @ weight) < mean else (low, middle)
    return np.minimum(shape * high, 1.0)


def _design(screen: Array, shape: Array, share: Array, n: float, ratio: float) -> Design:
    screened = screen * share / float(screen @ share)
    return Design(screen, _rescaled(shape, screened, 1 / ratio), n * ratio / float(screen @ share))


def uniform(joint: Joint, n: float, ratio: float) -> Design:
    """Every run alike."""
    y, _, share = joint.cells
    return _design(np.ones_like(y), np.ones_like(y), share, n, ratio)


def low_cheap(joint: Joint, n: float, ratio: float) -> Design:
    """Runs of a low cheap score are judged four times as often."""
    y, f, share = joint.cells
    return _design(np.ones_like(y), np.where(f < float(f @ share), 4.0, 1.0), share, n, ratio)


def low_scores(joint: Joint, n: float, ratio: float) -> Design:
    """Runs of a low score are screened five times as often (a tail rule that goes with quality)."""
    y, _, share = joint.cells
    return _design(np.where(y < 0.5, 1.0, 0.2), np.ones_like(y), share, n, ratio)


def band(joint: Joint, n: float, ratio: float) -> Design:
    """Half of the judge's calls go to a band of the cheap score that is always judged."""
    y, f, share = joint.cells
    order = np.argsort(np.abs(f - float(f @ share)), kind="stable")
    inside = np.zeros(len(f), dtype=bool)
    inside[order] = np.cumsum(share[order]) <= 0.5 / ratio
    covered = float(share[inside].sum())
    return Design(np.ones_like(y), np.where(inside, 1.0, (1 / ratio - covered) / (1 - covered)), n * ratio)


def high_scores(joint: Joint, n: float, ratio: float) -> Design:
    """Runs of a high score are screened five times as often: the rare low scores weigh five times more."""
    y, _, share = joint.cells
    return _design(np.where(y > 0.9, 1.0, 0.2), np.ones_like(y), share, n, ratio)


def adaptive(joint: Joint, n: float, ratio: float) -> Design:
    """The product's rule: the probability follows the residual deviation, with a floor."""
    y, _, share = joint.cells
    spreads = joint.residual()
    picks = np.repeat(spreads, np.maximum((share * 4000).round().astype(int), 1))
    typical = mean_spread(list(picks))
    judge = np.array([adaptive_probability(1 / ratio, float(spread), typical) for spread in spreads])
    return Design(np.ones_like(y), judge, n * ratio)


DESIGNS: tuple[Callable[[Joint, float, float], Design], ...] = (uniform, low_cheap, low_scores, band, high_scores)


def _terms(weight: Array, y: Array, f: Array) -> Array:
    """What a one-run trace of each cell adds, one column a term."""
    w2 = weight**2
    ones = np.ones_like(weight)
    return np.stack([ones, weight, weight * f, w2, w2 * f, w2 * f * f, weight * y, w2 * y, w2 * y * y, w2 * y * f], 1)


def windows(joint: Joint, design: Design, rng: np.random.Generator, reps: int) -> Iterator[tuple[Sums, Sums]]:
    """(screened, judged) sums of windows of Poisson traffic."""
    y, f, share = joint.cells
    got = design.traffic * share * design.screen
    judged = rng.poisson(got * design.judge, size=(reps, len(y)))
    rest = rng.poisson(got * (1 - design.judge), size=(reps, len(y)))
    first = _terms(1 / design.screen, y, f)[:, :6]
    second = _terms(1 / (design.screen * design.judge), y, f)
    for screened, full in zip((judged + rest) @ first, judged @ second, strict=True):
        yield Sums(*screened.tolist()), Sums(*full.tolist())


@dataclass
class Measured:
    """What the estimates of one cell of the grid came to."""

    coverage: float
    bias: float
    bias_error: float
    above: float
    width: float
    variance: float


def measure(mean: float, estimates: list[Estimate]) -> Measured:
    """Coverage and width of the published intervals; bias of the published means."""
    known = [e for e in estimates if e.lower is not None and e.upper is not None and e.mean is not None]
    low = np.array([e.lower for e in known], dtype=float)
    high = np.array([e.upper for e in known], dtype=float)
    points = np.array([e.mean for e in known], dtype=float)
    return Measured(
        coverage=float(((low <= mean) & (mean <= high)).mean()),
        bias=float(points.mean() - mean),
        bias_error=float(points.std() / math.sqrt(len(points))),
        above=float((high < mean).mean()),
        width=float((high - low).mean()),
        variance=float(points.var()),
    )


@lru_cache(maxsize=256)
def _joint(mean: float, rho: float) -> Joint:
    return Joint(Population(mean), rho)


def coverage_rows(rng: np.random.Generator, reps: int) -> list[Row]:
    """The whole grid: five designs, N/n 2 to 100, correlation .3 to .7, for each mean and number of judged runs.

    Beyond a mean of .9, N/n is 10 and the design that gives rare low scores the greatest weight has a row of its own.
    """
    rows = []
    for mean, n in itertools.product((0.68, 0.89, 0.956, 0.982), (20, 50, 200, 1000)):
        cells: list[float] = []
        hard: list[float] = []
        above: list[float] = []
        few = mean > 0.9
        for make, ratio, rho in itertools.product(DESIGNS, (10,) if few else RATIOS, RHOS):
            joint = _joint(mean, rho)
            got = windows(joint, make(joint, n, ratio), rng, reps)
            measured = measure(mean, [estimate(screened, judged) for screened, judged in got])
            (hard if few and make is high_scores else cells).append(measured.coverage)
            above.append(measured.above)
        average = sum(cells) / len(cells)
        slack = 2 * math.sqrt(0.95 * 0.05 / reps)
        ok = min(cells) >= 0.92 - slack and max(cells) <= 0.995 + slack and (n < 50 or 0.94 <= average <= 0.965)
        goal = "every cell .92-.995" + ("" if n < 50 else ", mean .94-.965")
        shown = f"{span(cells)}; truth above it {sum(above) / len(above):.3f}"
        rows.append(Row(f"coverage of the 95 % interval, mean {mean}, n = {n}", goal, shown, ok))
        if hard:
            what = f"- where high scores are kept, so that rare low ones weigh 5, mean {mean}, n = {n}"
            rows.append(Row(what, "every cell .92-.995", span(hard), min(hard) >= 0.92 - slack))
    return rows


def bias_rows(rng: np.random.Generator, reps: int) -> list[Row]:
    """The mean under tail sampling, weighted and prediction-powered; the design that weighs rare low scores beside."""
    rows = []
    for (n_eff, limit), make in itertools.product(((30, 0.003), (150, 0.001)), (low_cheap, low_scores, high_scores)):
        found = []
        for mean, rho in itertools.product((0.68, 0.89), (0.3, 0.7)):
            joint = _joint(mean, rho)
            trial = list(windows(joint, make(joint, n_eff, 20), rng, 400))
            n = n_eff * n_eff / (sum(judged.n_eff for _, judged in trial) / len(trial))
            got = list(windows(joint, make(joint, n, 20), rng, 4 * reps))
            found.append(measure(mean, [estimate(screened, judged) for screened, judged in got]))
            found.append(measure(mean, [estimate_judged(judged) for _, judged in got]))
        worst = max(found, key=lambda one: abs(one.bias))
        known = make is not high_scores
        rows.append(
            Row(
                f"bias, {make.__name__} kept, n_eff {n_eff}, worst of 8 cells",
                f"<= {limit} (within 2 s.e.)" if known else "shown",
                f"{worst.bias:+.4f} (s.e. {worst.bias_error:.4f}; s.d. of the mean {math.sqrt(worst.variance):.3f})",
                abs(worst.bias) <= limit + 2 * worst.bias_error if known else None,
            )
        )
    return rows


def width_rows(rng: np.random.Generator, reps: int) -> list[Row]:
    """Width against judged only, at equal calls."""
    rows = []
    goals = {0.35: 0.96, 0.45: 0.91, 0.55: 0.85, 0.65: 0.78, 0.0: 1.02}
    for n, (rho, goal) in itertools.product((200, 1000), goals.items()):
        shown = []
        for ratio, mean in itertools.product((20, 100), (0.68, 0.89)):
            joint = _joint(mean, rho)
            pairs = list(windows(joint, uniform(joint, n, ratio), rng, reps))
            helped = measure(mean, [estimate(screened, judged) for screened, judged in pairs]).width
            shown.append(helped / measure(mean, [estimate_judged(judged) for _, judged in pairs]).width)
        what = f"width against judged only, correlation {rho}, N/n 20 and 100, n = {n}"
        rows.append(Row(what, f"<= {goal} in every cell", span(shown), max(shown) <= goal))
    return rows


def cost_rows(rng: np.random.Generator, reps: int) -> list[Row]:
    """Calls at equal width: uniform and adaptive sampling with the cheap score against judged only."""
    rows = []
    for (rho, goal), mean in itertools.product(((0.45, 0.2), (0.65, 0.4)), (0.68, 0.89)):
        joint = _joint(mean, rho)
        alone = measure(mean, [estimate_judged(j) for _, j in windows(joint, uniform(joint, 400, 50), rng, 2 * reps)])
        saved = {}
        for make in (uniform, adaptive):
            design = make(joint, 400, 50)
            calls = design.traffic * float(joint.cells[2] @ design.judge)
            found = measure(mean, [estimate(s, j) for s, j in windows(joint, design, rng, 2 * reps)])
            saved[make.__name__] = 1 - calls / 400 * (found.width / alone.width) ** 2
        rows.append(
            Row(
                f"calls saved at equal width, correlation {rho}, N/n 50, mean {mean}",
                f">= {goal:.0%} (adaptive)",
                f"adaptive {saved['adaptive']:.1%}, uniform {saved['uniform']:.1%}",
                saved["adaptive"] >= goal,
            )
        )
    return rows


def trace_rows(rng: np.random.Generator, reps: int) -> list[Row]:
    """One to four runs a trace, alike within it: terms by trace and terms by run."""
    rows = []
    population = Population(0.68)
    for alike in (0.2, 0.5, 0.8):
        by_trace, by_run = [], []
        for _ in range(reps):
            traces, runs = Sums(), Sums()
            for size in rng.integers(1, 5, size=100).tolist():
                own = population.draw(rng, size)
                scores = np.where(rng.random(size) < math.sqrt(alike), own[0], own)
                kept = [WeightedScore(1.0, float(score)) for score in scores]
                traces += TraceTotals.of(kept).judged
                for run in kept:
                    runs += TraceTotals.of([run]).judged
            by_trace.append(estimate_judged(traces))
            by_run.append(estimate_judged(runs))
        first, second = measure(0.68, by_trace).coverage, measure(0.68, by_run).coverage
        rows.append(
            Row(
                f"coverage with 1-4 runs a trace, correlation {alike} inside",
                ".92-.995",
                f"{first:.3f} (terms by run: {second:.3f})",
                0.92 <= first <= 0.995,
            )
        )
    return rows


def budget_rows(rng: np.random.Generator, reps: int) -> list[Row]:
    """A day of 2000 runs and 500 calls whose busy morning is worse by .15: as a rate, and first come first served."""
    morning, rest = Population(0.65), Population(0.80)
    rate, first, covered, calls = [], [], [], []
    for _ in range(reps):
        traffic = _yesterday()
        left, judged = 500.0, Sums()
        served: list[float] = []
        per_minute = [2.8 if 480 <= minute < 960 else 0.6875 for minute in range(1440)]
        for minute, runs in enumerate(rng.poisson(per_minute).tolist(), 1440):
            p = judging_probability(left, traffic.until_midnight())
            population = morning if 480 <= minute - 1440 < 960 else rest
            spent = 0
            for score in population.draw(rng, runs).tolist() if runs else []:
                if len(served) < 500:
                    served.append(score)
                if rng.random() < p:
                    judged += TraceTotals.of([WeightedScore(1 / p, score)]).judged
                    spent += 1
            left -= spent
            traffic = traffic.after(minute, runs)
        found = estimate_judged(judged)
        assert found.mean is not None
        mean = (0.65 * 2.8 * 480 + 0.80 * 0.6875 * 960) / (2.8 * 480 + 0.6875 * 960)
        rate.append(found.mean - mean)
        covered.append(found.lower is not None and found.upper is not None and found.lower <= mean <= found.upper)
        first.append(sum(served) / len(served) - mean)
        calls.append(judged.n)
    bias, error = float(np.mean(rate)), float(np.std(rate) / math.sqrt(reps))
    return [
        Row(
            "bias of a budget kept as a rate (500 calls a day, busy morning worse by .15)",
            "within 2 s.e.",
            f"{bias:+.4f} (s.e. {error:.4f}); first come, first served {float(np.mean(first)):+.3f}; "
            f"interval covers {np.mean(covered):.3f}; calls {np.mean(calls):.0f} on average, {max(calls):.0f} at most",
            abs(bias) <= 2 * error,
        )
    ]


def _yesterday() -> Traffic:
    traffic = Traffic()
    for minute in range(1440):
        traffic = traffic.after(minute, 2.8 if 480 <= minute < 960 else 0.6875)
    return traffic


def rows(seed: int, quick: bool) -> list[Row]:
    """All of this part."""
    rng = np.random.default_rng(seed)
    reps = 500 if quick else 4000
    assert abs(float(np.average(SCORES, weights=Population(0.68).shares)) - 0.68) < 1e-6
    return [
        *coverage_rows(rng, reps),
        *bias_rows(rng, reps),
        *width_rows(rng, reps),
        *cost_rows(rng, reps),
        *trace_rows(rng, reps // 2),
        *budget_rows(rng, 100 if quick else 2000),
    ]
