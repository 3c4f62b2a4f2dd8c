"""Agreement with people: known values, and what must hold for any labels."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.stats import LabelledQuery
from otel_ctxscore.core.stats.agreement import (
    Pair,
    agreement,
    band,
    calibration_error,
    kappa,
    log_loss,
    quadratic_kappa,
    reliability,
)

PAIRS = st.lists(st.builds(Pair, st.floats(0, 1), st.booleans()), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("both", "only_people", "only_judge", "neither", "value"),
    [
        (20, 5, 10, 15, 0.4),  # Cohen's textbook table: agreement .7, chance .5
        (10, 0, 0, 10, 1.0),
        (5, 5, 5, 5, 0.0),
        (0, 10, 10, 0, -1.0),
    ],
)
def test_kappa_of_a_table(both: int, only_people: int, only_judge: int, neither: int, value: float) -> None:
    table = LabelledQuery(both + only_people, both, only_judge + neither, neither)
    assert kappa([table]) == pytest.approx(value)


def test_kappa_says_nothing_where_there_is_one_word_or_no_label() -> None:
    assert kappa([LabelledQuery(3, 3, 0, 0)]) is None
    assert kappa([]) is None
    assert agreement([]).kappa is None


@given(st.lists(PAIRS, min_size=1, max_size=6))
def test_intervals_hold_their_value_and_stay_in_range(queries: list[list[Pair]]) -> None:
    found = agreement(queries)
    assert found.contexts == sum(map(len, queries))
    assert found.queries == len(queries)
    for interval, least in ((found.kappa, -1.0), (found.sensitivity, 0.0), (found.specificity, 0.0)):
        if interval is not None:
            assert least - 1e-9 <= interval.lower <= interval.value + 1e-9
            assert interval.value - 1e-9 <= interval.upper <= 1 + 1e-9


def test_more_queries_of_the_same_kind_narrow_the_interval() -> None:
    some = [[Pair(0.9, True), Pair(0.2, False)], [Pair(0.8, False), Pair(0.1, True)], [Pair(0.7, True)]] * 3
    few, many = agreement(some).kappa, agreement(some * 9).kappa
    assert few is not None
    assert many is not None
    assert few.value == pytest.approx(many.value)
    assert (many.upper - many.lower) < (few.upper - few.lower) / 2


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([(0, 0), (1, 1), (2, 2), (3, 3)], 1.0),
        ([(0, 3), (3, 0)], -1.0),
        ([(0, 0), (0, 3), (3, 0), (3, 3)], 0.0),
        # seen 1; by chance (0 + 1 + 4) + 2 * (1 + 0 + 1) over 3
        ([(0, 0), (1, 1), (1, 2)], 1 - 1 / 3),
    ],
)
def test_quadratic_kappa(pairs: list[tuple[int, int]], value: float) -> None:
    assert quadratic_kappa(pairs) == pytest.approx(value)


def test_quadratic_kappa_of_nothing_and_of_one_level() -> None:
    assert quadratic_kappa([]) is None
    assert quadratic_kappa([(2, 2), (2, 2)]) is None


@given(PAIRS)
def test_bins_hold_each_context_once(pairs: list[Pair]) -> None:
    bins = reliability(pairs)
    assert sum(cell.n for cell in bins) == len(pairs)
    assert all(cell.low <= cell.mean <= cell.high for cell in bins)
    assert sum(cell.n * cell.share for cell in bins) == pytest.approx(sum(pair.human for pair in pairs))
    assert 0 <= calibration_error(bins) <= 1


def test_calibration_error_and_log_loss_of_known_pairs() -> None:
    pairs = [Pair(0.25, True), *[Pair(0.25, False)] * 3, *[Pair(0.95, True)] * 2]
    assert calibration_error(reliability(pairs)) == pytest.approx(2 * 0.05 / 6)
    assert log_loss([Pair(0.5, True), Pair(0.5, False)]) == pytest.approx(math.log(2))
    assert math.isfinite(log_loss([Pair(0.0, True), Pair(1.0, False)]))


def queries_of(*parts: tuple[float, int, int]) -> list[list[Pair]]:
    """(probability, how many are useful, how many are not), a query a context."""
    return [[Pair(p, human)] for p, yes, no in parts for human in [True] * yes + [False] * no]


@pytest.mark.parametrize(
    ("parts", "edges"),
    [
        ([(0.1, 1, 30), (0.4, 20, 20), (0.6, 20, 20), (0.9, 30, 1)], (0.1, 0.9)),
        ([(0.1, 1, 18), (0.9, 18, 1)], (0.0, 1.0)),  # too few of either
        ([(0.1, 0, 30), (0.9, 20, 10)], (0.1, 1.0)),  # its yes cannot be believed
        ([(0.1, 3, 27), (0.2, 0, 30), (0.8, 30, 0)], (0.2, 0.8)),
    ],
)
def test_band(parts: list[tuple[float, int, int]], edges: tuple[float, float]) -> None:
    found = band(queries_of(*parts))
    assert found is not None
    assert (found.low, found.high) == edges
    inside = sum(yes + no for p, yes, no in parts if edges[0] < p < edges[1])
    assert found.open_queries == pytest.approx(inside / sum(yes + no for _, yes, no in parts))


def test_a_judge_of_words_has_no_band() -> None:
    assert band(queries_of((0.0, 1, 40), (1.0, 40, 1))) is None
