"""Where a mean fell, and what of the fall comes from where."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.stats import (
    ChangePoint,
    Sums,
    TraceTotals,
    WeightedScore,
    change_point,
    contributions,
    estimate_judged,
)

SCORES = st.sampled_from([0.0, 0.25, 0.5, 1.0])
RUN = st.builds(WeightedScore, st.floats(1.0, 20.0), SCORES)
PARTS = st.dictionaries(st.sampled_from("abc"), st.lists(RUN, max_size=20), max_size=3)
Ticks = list[tuple[int, Sums]]


def judged(runs: list[WeightedScore]) -> Sums:
    return sum((TraceTotals.of([run]).judged for run in runs), Sums())


def stream(
    draw: random.Random, mean: Callable[[int], float], ticks: int, rate: int = 10, weights: tuple[float, ...] = (1.0,)
) -> Ticks:
    """So many runs a tick; a third of the scores lies between 0 and 1. Weights go without regard to the score."""
    found = []
    for tick in range(ticks):
        m = mean(tick)
        runs = [
            WeightedScore(draw.choice(weights), m if draw.random() < 1 / 3 else float(draw.random() < m))
            for _ in range(rate)
        ]
        found.append((tick, judged(runs)))
    return found


def found_in(ticks: Ticks) -> ChangePoint:
    found = change_point(ticks)
    assert found is not None
    return found


@pytest.mark.parametrize(("before", "after", "most"), [(0.9, 0.4, 1), (0.8, 0.6, 4), (0.95, 0.8, 8)])
@pytest.mark.parametrize("weights", [(1.0,), (1.0, 4.0)])
def test_a_fall_is_found_near_its_place(before: float, after: float, most: int, weights: tuple[float, ...]) -> None:
    """Within a few ticks on average, and inside what is stated nearly always, also just after it began."""
    errors, inside = [], 0
    for seed in range(20):
        ticks = stream(random.Random(seed), lambda t: before if t < 60 else after, 72, weights=weights)
        found = found_in(ticks)
        errors.append(abs(found.tick - 60))
        inside += found.low <= 60 <= found.high
    assert sum(errors) / len(errors) <= most
    assert inside >= 16, "95 % of 20 are 19; fewer than 16 come by chance once in four hundred"


def test_certainty_grows_with_the_runs_and_the_fall() -> None:
    def width(fall: float, rate: int) -> float:
        widths = []
        for seed in range(8):
            found = found_in(stream(random.Random(seed), lambda t: 0.9 if t < 60 else 0.9 - fall, 100, rate))
            widths.append(found.high - found.low)
        return sum(widths) / len(widths)

    assert width(0.4, 10) < width(0.2, 10)
    assert width(0.2, 40) < width(0.2, 10)


def test_hours_without_a_run_are_part_of_the_doubt() -> None:
    good, bad = judged([WeightedScore(1.0, 1.0)] * 50), judged([WeightedScore(1.0, 0.0)] * 50)
    found = found_in([(0, good), (1, good), (7, bad), (8, bad)])
    assert (found.tick, found.low, found.high) == (7, 2, 7)
    assert found.probability > 0.99


def test_equal_scores_are_no_certainty_of_little() -> None:
    one, none = judged([WeightedScore(1.0, 1.0)] * 3), judged([WeightedScore(1.0, 0.0)])
    found = found_in([(0, one), (1, one), (2, none)])
    assert found.probability < 0.95


def test_a_swing_that_comes_every_day_is_no_change() -> None:
    """The descent of each day is not where the fall began."""

    def daily(tick: int) -> float:
        return 0.8 + 0.15 * math.cos(2 * math.pi * tick / 24)

    ticks = stream(random.Random(3), lambda t: daily(t) - (0.06 if t >= 72 else 0.0), 90, rate=100)
    told = change_point(ticks, daily)
    assert told is not None
    assert abs(told.tick - 72) <= 2
    plain = change_point(ticks)
    assert plain is not None
    assert abs(plain.tick - 72) > 2, "without it the fall would be sought at the wrong hour"


@pytest.mark.parametrize(
    "ticks",
    [
        [],
        [(0, judged([WeightedScore(1.0, 1.0)] * 100))],
        [(0, judged([WeightedScore(1.0, 0.5)] * 9)), (1, judged([WeightedScore(1.0, 0.9)] * 9))],
        [(0, judged([WeightedScore(1.0, 1.0)])), (1, judged([WeightedScore(1.0, 0.0)]))],
    ],
    ids=["nothing", "one tick", "it rose", "too little"],
)
def test_where_nothing_fell_there_is_no_place(ticks: Ticks) -> None:
    assert change_point(ticks) is None


@given(st.lists(st.tuples(st.integers(1, 5), st.lists(RUN, min_size=1, max_size=5)), max_size=12))
def test_what_is_told_holds_together(gaps: list[tuple[int, list[WeightedScore]]]) -> None:
    tick, ticks = 0, []
    for gap, runs in gaps:
        tick += gap
        ticks.append((tick, judged(runs)))
    found = change_point(ticks)
    if found is not None:
        assert found.low <= found.tick <= found.high
        assert found.tick in dict(ticks)
        assert ticks[0][0] < found.low
        assert 0.0 < found.probability <= 1.0


def test_a_mean_that_stays_has_seldom_a_place() -> None:
    found = [change_point(stream(random.Random(seed), lambda t: 0.8, 60, 5)) for seed in range(40)]
    assert sum(one is not None for one in found) <= 13, "one of seven, and three standard errors"


# ---- parts ------------------------------------------------------------------------------------------------------


@given(PARTS, PARTS)
def test_the_parts_of_a_change_add_up_to_it(
    before: dict[str, list[WeightedScore]], after: dict[str, list[WeightedScore]]
) -> None:
    early = {name: judged(runs) for name, runs in before.items()}
    late = {name: judged(runs) for name, runs in after.items()}
    found = contributions(early, late)
    whole_before = estimate_judged(sum(early.values(), Sums())).mean
    whole_after = estimate_judged(sum(late.values(), Sums())).mean
    if whole_before is None or whole_after is None:
        assert found == {}
        return
    assert math.fsum(part.change for part in found.values()) == pytest.approx(whole_after - whole_before, abs=1e-9)
    assert math.fsum(part.share_before for part in found.values()) == pytest.approx(1.0)
    assert math.fsum(part.share_after for part in found.values()) == pytest.approx(1.0)
    assert all(part.error >= 0.0 for part in found.values())


def test_the_part_that_fell_carries_the_fall() -> None:
    def ones(n: int, score: float) -> Sums:
        return judged([WeightedScore(1.0, score)] * n)

    found = contributions({"eu": ones(60, 0.9), "us": ones(40, 0.9)}, {"eu": ones(60, 0.4), "us": ones(40, 0.9)})
    assert found["eu"].change == pytest.approx(-0.3)
    assert found["us"].change == pytest.approx(0.0)


def test_a_version_that_takes_the_place_of_another_carries_the_whole() -> None:
    found = contributions(
        {"r1": judged([WeightedScore(1.0, 0.9)] * 50)}, {"r2": judged([WeightedScore(1.0, 0.5)] * 50)}
    )
    assert found["r2"].share_before == 0.0
    assert found["r2"].change == pytest.approx(-0.4)
    assert found["r1"].change == pytest.approx(0.0)


def test_the_error_of_a_part_is_that_of_many_draws() -> None:
    def drawn(seed: int) -> float:
        draw = random.Random(seed)
        sides = []
        for mean in (0.8, 0.5):
            side: dict[str, list[WeightedScore]] = {"a": [], "b": []}
            for _ in range(100):
                weight = draw.choice([1.0, 5.0])
                side[draw.choice("aab")].append(WeightedScore(weight, float(draw.random() < mean)))
            sides.append({name: judged(runs) for name, runs in side.items()})
        part = contributions(*sides)["a"]
        errors.append(part.error)
        return part.change

    errors: list[float] = []
    changes = [drawn(seed) for seed in range(200)]
    centre = sum(changes) / len(changes)
    spread = math.sqrt(sum((change - centre) ** 2 for change in changes) / (len(changes) - 1))
    assert sum(errors) / len(errors) == pytest.approx(spread, rel=0.2)
