"""The budget as a rate, and the probability that follows the local judge's uncertainty."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.stats import Traffic, adaptive_probability, judging_probability, mean_spread, refilled

SPREADS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50)


class TestRate:
    @pytest.mark.parametrize(
        ("left", "expected", "p"), [(50, 200, 0.25), (200, 50, 1.0), (0, 10, 0.0), (-3, 10, 0.0), (5, 0, 1.0)]
    )
    def test_probability(self, left: float, expected: float, p: float) -> None:
        assert judging_probability(left, expected) == p

    def test_refilled(self) -> None:
        assert refilled(2.0, 10.0, 7.0) == 5.0
        assert refilled(45.0, 10.0, 0.0) == 50.0
        assert refilled(0.0, 10.0, 25.0) == -15.0

    def test_a_minute_budget_is_spent_and_not_more(self) -> None:
        dice, traffic, left, spent = random.Random(2), Traffic(), 10.0, 0
        for minute in range(600):
            p = judging_probability(left, traffic.expected(1))
            runs = dice.randint(60, 140)
            judged = sum(dice.random() < p for _ in range(runs)) if minute else 0
            traffic, left, spent = traffic.after(minute, runs), refilled(left, 10.0, judged), spent + judged
        assert spent / 599 == pytest.approx(10, rel=0.03)


class TestTraffic:
    def fed(self, runs: list[int], first: int = 0) -> Traffic:
        traffic = Traffic()
        for minute, count in enumerate(runs, first):
            traffic = traffic.after(minute, count)
        return traffic

    def test_nothing_seen(self) -> None:
        assert Traffic().expected(60) == 0.0
        assert Traffic().until_midnight() == 0.0

    def test_recent_rate(self) -> None:
        assert self.fed([7] * 30).expected(10) == pytest.approx(70)
        assert self.fed([4, 8]).expected(1) == pytest.approx(6)

    def test_recent_rate_forgets(self) -> None:
        assert self.fed([100] * 40 + [10] * 60).recent == pytest.approx(10, abs=1)
        gap = self.fed([100] * 40).after(100, 0)
        assert gap.recent < 1

    def test_an_hour_like_yesterday(self) -> None:
        day = [10 if 540 <= minute < 600 else 1 for minute in range(1440)]
        traffic = self.fed(day)
        assert traffic.until_midnight() == pytest.approx(9 * 60 + 1440)
        nine = self.fed([*day, *[1] * 539])
        assert nine.expected(61) == pytest.approx(1 + 600)

    def test_first_hour_counts_as_a_whole_one(self) -> None:
        """It was seen from its fiftieth minute on."""
        traffic = self.fed([6] * 20, first=50)
        assert traffic.day[0] == pytest.approx(360)

    def test_silent_hours_are_hours_of_none(self) -> None:
        traffic = self.fed([6] * 60).after(60 * 5, 6)
        assert traffic.day[:6] == (360.0, 0.0, 0.0, 0.0, 0.0, None)

    def test_minute_that_is_over_is_ignored(self) -> None:
        traffic = self.fed([3] * 5)
        assert traffic.after(4, 1000) is traffic

    @given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 1000)), max_size=30), st.integers(0, 3000))
    def test_expectation_is_finite_and_not_negative(self, seen: list[tuple[int, int]], minutes: int) -> None:
        traffic = Traffic()
        for minute, runs in sorted(seen):
            traffic = traffic.after(minute, runs)
        assert 0 <= traffic.expected(minutes) <= 1000 * 60 * (minutes + 60)


class TestAdaptive:
    @pytest.mark.parametrize(("spread", "p"), [(0.2, 0.1), (0.4, 0.2), (0.0, 0.025), (0.01, 0.025), (10.0, 1.0)])
    def test_follows_the_spread_with_a_floor(self, spread: float, p: float) -> None:
        assert adaptive_probability(0.1, spread, 0.2) == pytest.approx(p)

    def test_without_a_spread_it_is_the_rate(self) -> None:
        assert adaptive_probability(0.3, 0.0, 0.0) == 0.3
        assert adaptive_probability(3.0, 0.2, 0.0) == 1.0

    @given(SPREADS)
    def test_mean_rate_is_kept(self, spreads: list[float]) -> None:
        mean = mean_spread(spreads)
        if mean > 0:
            p = [adaptive_probability(0.01, spread, mean) for spread in spreads]
            assert sum(p) / len(p) == pytest.approx(0.01, rel=1e-6)
            assert min(p) >= 0.0025 * (1 - 1e-12)

    def test_no_spread(self) -> None:
        assert mean_spread([]) == mean_spread([0.0, 0.0]) == 0.0
