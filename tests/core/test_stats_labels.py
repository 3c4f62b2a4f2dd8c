"""What labels by people correct."""

from __future__ import annotations

import random

import pytest

from otel_ctxscore.core.stats import (
    JudgeRates,
    LabelledQuery,
    Sums,
    TraceTotals,
    WeightedScore,
    corrected_precision,
    corrected_share,
    estimate,
    judge_rates,
)

QUERIES = [
    LabelledQuery(positives=3, true_positives=3, negatives=2, true_negatives=1),
    LabelledQuery(positives=2, true_positives=1, negatives=3, true_negatives=3),
    LabelledQuery(positives=4, true_positives=4, negatives=1, true_negatives=1),
]


def rates(sensitivity: float, specificity: float) -> JudgeRates:
    return JudgeRates(sensitivity, specificity, 0.0, 0.0, 0.0)


class TestRates:
    def test_counts(self) -> None:
        query = LabelledQuery.of([(True, True), (True, False), (False, False), (False, True), (True, True)])
        assert query == LabelledQuery(3, 2, 2, 1)

    def test_ratios_over_queries(self) -> None:
        found = judge_rates(QUERIES)
        assert found is not None
        assert (found.sensitivity, found.specificity) == pytest.approx((8 / 9, 5 / 6))
        a = [3 - 8 / 3, 1 - 16 / 9, 4 - 32 / 9]
        b = [1 - 10 / 6, 3 - 15 / 6, 1 - 5 / 6]
        assert found.var_sensitivity == pytest.approx(sum(x * x for x in a) / 81 * 1.5)
        assert found.var_specificity == pytest.approx(sum(x * x for x in b) / 36 * 1.5)
        assert found.covariance == pytest.approx(sum(x * y for x, y in zip(a, b, strict=True)) / 54)

    @pytest.mark.parametrize(
        "queries", [[], QUERIES[:1], [LabelledQuery(2, 2, 0, 0)] * 5, [LabelledQuery(0, 0, 2, 2)] * 5]
    )
    def test_unknown(self, queries: list[LabelledQuery]) -> None:
        assert judge_rates(queries) is None


class TestShare:
    def test_inverts_the_judge(self) -> None:
        """Of 60 % useful a judge of .9 and .8 finds .6*.9 + .4*.2 = .62."""
        found = corrected_share(0.62, 0.0, rates(0.9, 0.8))
        assert found is not None
        assert (found.value, found.lower, found.upper) == pytest.approx((0.6, 0.6, 0.6))

    def test_variance(self) -> None:
        found = corrected_share(0.62, 0.0004, JudgeRates(0.9, 0.8, 0.0009, 0.0016, 0.0002))
        assert found is not None
        expected = (0.0004 + 0.36 * 0.0009 + 0.16 * 0.0016 - 2 * 0.6 * 0.4 * 0.0002) / 0.49
        assert found.variance == pytest.approx(expected)
        assert found.upper - found.lower == pytest.approx(2 * 1.96 * expected**0.5)

    @pytest.mark.parametrize(("pair", "refused"), [((0.7, 0.59), True), ((0.7, 0.61), False), ((0.5, 0.5), True)])
    def test_weak_judge_is_refused(self, pair: tuple[float, float], *, refused: bool) -> None:
        assert (corrected_share(0.5, 0.001, rates(*pair)) is None) is refused

    @pytest.mark.parametrize("apparent", [0.0, 1.0])
    def test_stays_within_0_and_1(self, apparent: float) -> None:
        found = corrected_share(apparent, 0.01, rates(0.8, 0.8))
        assert found is not None
        assert 0 <= found.lower <= found.value <= found.upper <= 1


class TestPrecision:
    def sums(self, n: int) -> tuple[Sums, Sums]:
        """A window of 400 and the first n of it labelled; people are stricter than the judge."""
        dice, window, labelled = random.Random(1), Sums(), Sums()
        for place in range(400):
            judge = dice.choice([0.2, 0.6, 1.0])
            window += TraceTotals.of([WeightedScore(1.0, judge)]).judged
            if place < n:
                labelled += TraceTotals.of([WeightedScore(400 / n, judge * dice.choice([0.8, 1.0]), judge)]).judged
        return window, labelled

    def test_is_the_prediction_powered_mean(self) -> None:
        window, labelled = self.sums(80)
        frame = Sums(window.n, window.w, window.wy, window.ww, window.wwy, window.wwyy)
        found = corrected_precision(window, labelled)
        assert found == estimate(frame, labelled)
        assert found is not None
        assert found.mean == pytest.approx(0.9 * window.wy / window.w, abs=0.03)
        assert found.lambda_ > 0.8

    def test_fewer_than_fifty_labels(self) -> None:
        window, labelled = self.sums(49)
        assert corrected_precision(window, labelled) is None
