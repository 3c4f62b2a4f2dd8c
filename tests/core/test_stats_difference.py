"""Two means beside each other, and means of any number."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.stats import (
    Estimate,
    Sums,
    TraceTotals,
    WeightedScore,
    difference,
    estimate_judged,
    estimate_mean,
)


def scores(draw: random.Random, n: int, mean: float) -> Sums:
    runs = (WeightedScore(1.0, float(draw.random() < mean)) for _ in range(n))
    return sum((TraceTotals.of([run]).judged for run in runs), Sums())


@pytest.mark.parametrize(("before", "after"), [(0.5, 0.5), (0.95, 0.8), (0.97, 0.97)])
def test_the_interval_of_a_difference_covers_it(before: float, after: float) -> None:
    inside = 0
    for seed in range(200):
        draw = random.Random(seed)
        found = difference(estimate_judged(scores(draw, 60, after)), estimate_judged(scores(draw, 150, before)))
        assert found is not None
        assert found.lower is not None
        assert found.upper is not None
        inside += found.lower <= after - before <= found.upper
    assert inside >= 181, "95 % of 200, less three standard errors"


@given(st.floats(0, 1), st.floats(0, 1))
def test_without_intervals_there_is_none_of_the_difference(before: float, after: float) -> None:
    found = difference(Estimate(after), Estimate(before))
    assert found is not None
    assert (found.value, found.lower, found.told) == (after - before, None, False)
    assert difference(Estimate(), Estimate(before)) is None


def test_a_fall_that_is_more_than_noise_is_told() -> None:
    draw = random.Random(1)
    before, after = (estimate_judged(scores(draw, 200, mean)) for mean in (0.9, 0.5))
    same = estimate_judged(scores(draw, 200, 0.9))
    fell, stayed = difference(after, before), difference(same, before)
    assert fell is not None
    assert stayed is not None
    assert (fell.told, stayed.told) == (True, False)


def test_a_mean_of_contexts_is_a_ratio_of_totals() -> None:
    """Characters a context, where each run has another number of contexts."""

    def run(draw: random.Random) -> Sums:
        n = draw.randint(1, 6)
        return TraceTotals(n, sum(draw.gauss(400 + 10 * n, 80) for _ in range(n)), 0.0).judged

    inside = 0
    for seed in range(200):
        found = estimate_mean(sum((run(random.Random(f"{seed} {n}")) for n in range(40)), Sums()))
        assert found.lower is not None
        assert found.upper is not None
        inside += found.lower <= 400 + 10 * (91 / 21) <= found.upper
    assert inside >= 180


def test_few_traces_have_a_mean_and_no_interval() -> None:
    few = estimate_mean(sum((TraceTotals(1.0, 5.0, 0.0).judged for _ in range(9)), Sums()))
    assert (few.mean, few.lower, few.low_n) == (5.0, None, True)
    assert estimate_mean(Sums()) == Estimate()
    assert estimate_mean(Sums(1.0, 1.0, 0.0, 1.0, 0.0, 0.0, float("inf"), 1.0, 1.0, 0.0)) == Estimate()
