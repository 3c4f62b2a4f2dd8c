"""Drift against its noise floor."""

from __future__ import annotations

import math
import random
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_ctxscore.core.stats import CELLS, Baseline, Drift, cell, compare, drifted

LUMPY = [14.0, 1, 2, 6, 3, 12, 4, 5, 8, 9, 2, 34]
WEIGHTS = st.lists(st.floats(0.0, 1e6), min_size=12, max_size=12).filter(lambda weights: sum(weights) > 1e-3)


def drawn(seed: int, shares: list[float], n: int) -> list[float]:
    dice, counts = random.Random(seed), [0.0] * 12
    for place in dice.choices(range(12), shares, k=n):
        counts[place] += 1
    return counts


def by_hand(baseline: Baseline, window: list[float], n_eff: float) -> float:
    """PSI from the definition."""
    total, psi, k = sum(window), 0.0, len(set(baseline.groups))
    for group in sorted(set(baseline.groups)):
        inside = [place for place in range(12) if baseline.groups[place] == group]
        p = (baseline.n_eff * sum(baseline.shares[place] for place in inside) + 0.5) / (baseline.n_eff + k / 2)
        q = (n_eff * sum(window[place] for place in inside) / total + 0.5) / (n_eff + k / 2)
        psi += (q - p) * math.log(q / p)
    return psi


class TestCells:
    @pytest.mark.parametrize(
        ("score", "name"),
        [
            (0.0, "0"),
            (1e-9, "0.0-0.1"),
            (0.1, "0.0-0.1"),
            (0.11, "0.1-0.2"),
            (0.3, "0.2-0.3"),
            (0.7, "0.6-0.7"),
            (0.95, "0.9-1.0"),
            (1 - 1e-9, "0.9-1.0"),
            (1.0, "1"),
        ],
    )
    def test_score(self, score: float, name: str) -> None:
        assert CELLS[cell(score)] == name

    @given(st.floats(0, 1))
    def test_a_cell_bounds_its_score(self, score: float) -> None:
        low, _, high = CELLS[cell(score)].partition("-")
        assert float(low) <= score <= float(high or low)

    def test_twelve(self) -> None:
        assert len(CELLS) == 12
        assert CELLS[:2] == ("0", "0.0-0.1")
        assert CELLS[-2:] == ("0.9-1.0", "1")


class TestPin:
    def test_neighbours_are_joined(self) -> None:
        baseline = Baseline.pin(LUMPY, 500)
        assert baseline.groups == tuple(sorted(baseline.groups))
        assert 5 <= baseline.group_count <= 9
        assert baseline.groups[0] == 0  # 14 % at 0 stand alone
        assert baseline.groups[-1] > baseline.groups[-2]  # and 34 % at 1

    @given(WEIGHTS)
    @settings(max_examples=100)
    def test_every_group_holds_five_percent(self, weights: list[float]) -> None:
        baseline = Baseline.pin(weights, 100)
        assert min(baseline.grouped(baseline.shares)) >= 0.05 - 1e-12
        assert [key for key, _ in groupby(baseline.groups)] == list(range(baseline.group_count))
        assert sum(baseline.shares) == pytest.approx(1)

    @pytest.mark.parametrize("weights", [[0.0] * 12, [1.0] * 11, [-1.0, *[1.0] * 11], [math.inf, *[1.0] * 11]])
    def test_no_distribution(self, weights: list[float]) -> None:
        with pytest.raises(ValueError, match="12 weights"):
            Baseline.pin(weights, 100)

    def test_no_runs(self) -> None:
        with pytest.raises(ValueError, match="needs runs"):
            Baseline.pin(LUMPY, 0)


class TestCompare:
    def test_against_the_definition(self) -> None:
        baseline, window = Baseline.pin(LUMPY, 500), drawn(1, LUMPY, 300)
        found = compare(baseline, [3 * weight for weight in window], 300)
        noise = 1 / 300 + 1 / 500
        assert found.psi == pytest.approx(by_hand(baseline, window, 300))
        assert found.g == pytest.approx(by_hand(baseline, window, 300) / noise)
        steps = [abs(sum(window[: k + 1]) / 300 - sum(LUMPY[: k + 1]) / 100) for k in range(12)]
        assert found.ks == pytest.approx(max(steps))

    def test_floors(self) -> None:
        baseline = Baseline.pin([20.0, 0, 0, 0, 0, 20, 20, 0, 0, 20, 0, 20], 500)
        assert baseline.group_count == 5
        found = compare(baseline, LUMPY, 200)
        noise = 1 / 200 + 1 / 500
        assert found.psi_floors == pytest.approx((13.2767 * noise, 18.4668 * noise), rel=1e-5)
        assert found.ks_floors == pytest.approx((1.6276 * math.sqrt(noise), 1.9495 * math.sqrt(noise)), rel=1e-4)

    def test_same_distribution_is_quiet(self) -> None:
        baseline = Baseline.pin(drawn(1, LUMPY, 5000), 5000)
        seen = [compare(baseline, drawn(seed, LUMPY, 150), 150) for seed in range(2, 200)]
        assert not any(drift.moved for drift in seen)
        assert any((drift.psi or 0) > 0.1 for drift in seen)  # where a fixed line would have cried

    def test_shift_is_found(self) -> None:
        baseline = Baseline.pin(LUMPY, 5000)
        assert compare(baseline, drawn(3, LUMPY[::-1], 200), 200).moved

    def test_certain_and_small_is_no_alert(self) -> None:
        baseline = Baseline.pin(LUMPY, 1e6)
        found = compare(baseline, [weight + 1 for weight in LUMPY], 1e6)
        assert found.psi is not None
        assert found.psi_floors is not None
        assert found.psi_floors[1] < found.psi < 0.1
        assert not found.moved

    def test_not_enough_is_never_zero(self) -> None:
        found = compare(Baseline.pin(LUMPY, 500), LUMPY, 99.9)
        assert found == Drift()
        assert not found.enough
        assert not found.moved
        assert compare(Baseline.pin(LUMPY, 500), LUMPY, 100).enough

    def test_single_group_says_nothing(self) -> None:
        assert not compare(Baseline.pin([*[0.1] * 11, 99.0], 500), LUMPY, 500).enough

    def test_two_windows(self) -> None:
        baseline = Baseline.pin(LUMPY, 5000)
        moved, quiet = compare(baseline, LUMPY[::-1], 300), compare(baseline, LUMPY, 300)
        assert drifted(moved, moved)
        assert not drifted(moved, quiet)
        assert not drifted(quiet, moved)
        assert not drifted(Drift(), moved)

    @given(WEIGHTS, WEIGHTS, st.floats(100, 1e6))
    @settings(max_examples=100)
    def test_finite_and_not_negative(self, old: list[float], new: list[float], n_eff: float) -> None:
        found = compare(Baseline.pin(old, 200), new, n_eff)
        for value in (found.psi, found.g, found.ks):
            assert value is None or 0 <= value < math.inf
