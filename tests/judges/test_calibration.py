"""Platt scaling: it recovers what was bent, keeps the order, and composes."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.judges.calibration import Calibration, fitted, logistic, logit

SLOPES, SHIFTS = st.floats(0.05, 8), st.floats(-4, 4)


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (0.5, -1.0), (2.0, 1.5)])
def test_a_bent_judge_is_straightened(a: float, b: float) -> None:
    draw = random.Random(4)
    pairs = []
    for _ in range(20_000):
        p = draw.random()
        pairs.append((p, draw.random() < Calibration(a, b)(p)))
    found = fitted(pairs)
    assert found is not None
    assert (found.a, found.b) == pytest.approx((a, b), abs=0.08)


def test_labels_that_the_judge_parts_without_overlap_give_a_finite_slope() -> None:
    found = fitted([(0.9, True)] * 10 + [(0.1, False)] * 10)
    assert found is not None
    assert found(0.9) == pytest.approx(11 / 12, abs=1e-4)
    assert found(0.1) == pytest.approx(1 / 12, abs=1e-4)


@pytest.mark.parametrize(
    "pairs",
    [[], [(0.3, True), (0.6, True)], [(0.9, False)] * 5 + [(0.1, True)] * 5],
    ids=["nothing", "one kind", "the wrong way round"],
)
def test_there_is_none_where_the_labels_say_nothing_good(pairs: list[tuple[float, bool]]) -> None:
    assert fitted(pairs) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40))
def test_it_is_finite_and_keeps_the_order_on_any_labels(pairs: list[tuple[float, bool]]) -> None:
    found = fitted(pairs)
    if found is not None:
        moved = [found(p) for p in (0.0, 0.1, 0.5, 0.9, 1.0)]
        assert moved == sorted(moved)
        assert 0 <= moved[0] <= moved[-1] <= 1


@given(SLOPES, SHIFTS, SLOPES, SHIFTS, st.floats(0.01, 0.99))
def test_one_after_the_other_is_one(a: float, b: float, c: float, d: float, p: float) -> None:
    first, second = Calibration(a, b), Calibration(c, d)
    middle = first(p)
    if 1e-6 < middle < 1 - 1e-6:  # nearer to the ends a probability no longer holds its log odds
        assert second.after(first)(p) == pytest.approx(second(middle), abs=1e-6)


@given(st.floats(1e-6, 1 - 1e-6))
def test_logistic_undoes_logit(p: float) -> None:
    assert logistic(logit(p)) == pytest.approx(p)
