"""The reference: pinned, learned, and by hour of the day."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable

import pytest

from otel_ctxscore.core.stats import Reference, ReferenceSums, Sums, TraceTotals, WeightedScore, estimate_judged


def learnt(mean: Callable[[int], float], per_hour: int, days: int, *, hours: range = range(24)) -> ReferenceSums:
    dice, sums = random.Random(3), ReferenceSums()
    for tick in range(1000 * 24, (1000 + days) * 24):
        if tick % 24 in hours:
            scores = [WeightedScore(2.0, float(dice.random() < mean(tick % 24))) for _ in range(per_hour)]
            sums = sums.after(tick, sum((TraceTotals.of([score]).judged for score in scores), Sums()))
    return sums


def found(sums: ReferenceSums, margin: float = 0.02) -> Reference:
    reference = sums.learned(margin=margin)
    assert reference is not None
    return reference


class TestPinned:
    def test_not_reduced(self) -> None:
        null = Reference.pinned(0.8).null(margin=0.05, cap=3.0, horizon=100.0)
        assert null.floors == (0.75,)
        assert (null.cap, null.horizon) == (3.0, 100.0)

    def test_same_at_any_hour(self) -> None:
        assert {Reference.pinned(0.8).at(tick) for tick in range(30)} == {0.8}

    def test_one_without_a_margin_cannot_be(self) -> None:
        with pytest.raises(ValueError, match="below 1"):
            Reference.pinned(1.0).null(margin=0.0)


class TestLearned:
    @pytest.mark.parametrize(("per_hour", "days"), [(20, 6), (2, 7), (0, 30)])
    def test_no_reference_yet(self, per_hour: int, days: int) -> None:
        assert learnt(lambda _: 0.8, per_hour, days).learned() is None

    def test_many_traces_of_one_day_do_not_do(self) -> None:
        assert learnt(lambda _: 0.8, 500, 1).learned() is None

    def test_mean_and_reduction(self) -> None:
        sums = learnt(lambda _: 0.8, 6, 7)
        reference, plain = found(sums), estimate_judged(sums.total)
        assert plain.variance is not None
        assert reference.means == pytest.approx((plain.mean,))
        assert reference.errors == pytest.approx((math.sqrt(plain.variance),))
        floor = reference.means[0] - 0.02 - 1.645 * math.sqrt(plain.variance)
        assert reference.null().floors == pytest.approx((floor,))

    def test_state_survives(self) -> None:
        sums = learnt(lambda _: 0.8, 3, 8)
        assert ReferenceSums.restored(json.loads(json.dumps(sums.as_dict()))) == sums
        assert ReferenceSums.restored(ReferenceSums().as_dict()) == ReferenceSums()

    @pytest.mark.parametrize("wrong", [{"hours": []}, {"hours": [1] * 24}, {"days": None}, {"last_day": "x"}])
    def test_damaged_state_is_refused(self, wrong: dict[str, object]) -> None:
        with pytest.raises(ValueError, match="not the sums"):
            ReferenceSums.restored({**ReferenceSums().as_dict(), **wrong})

    def test_all_scores_alike(self) -> None:
        assert found(learnt(lambda _: 1.0, 5, 7)) == Reference((1.0,), (0.0,))


class TestByHour:
    def test_wave_is_followed(self) -> None:
        def wave(hour: int) -> float:
            return 0.75 + 0.1 * math.sin(2 * math.pi * hour / 24)

        reference = found(learnt(wave, 40, 14))
        assert len(reference.means) == 24
        for hour, (mean, error) in enumerate(zip(reference.means, reference.errors, strict=True)):
            assert abs(mean - wave(hour)) < 3.5 * error
        assert max(reference.errors) < 0.01

    def test_single_worse_hour_is_followed(self) -> None:
        reference = found(learnt(lambda hour: 0.4 if hour == 3 else 0.85, 40, 14))
        assert reference.at(24 * 50 + 3) < 0.55
        assert reference.at(24 * 50 + 15) == pytest.approx(0.85, abs=0.04)

    def test_noise_is_no_swing(self) -> None:
        assert len(found(learnt(lambda _: 0.8, 10, 14)).means) == 1

    def test_small_swing_is_the_margins(self) -> None:
        """A swing below half the margin needs no hours, however certain it is."""
        sums = learnt(lambda hour: 0.75 + 0.1 * math.sin(2 * math.pi * hour / 24), 40, 14)
        assert len(found(sums, margin=0.5).means) == 1

    def test_few_hours_of_traffic_have_one_mean(self) -> None:
        """Two hours a day cannot show a wave."""
        assert len(found(learnt(lambda hour: 0.6 + hour / 100, 50, 7, hours=range(9, 11))).means) == 1

    def test_unseen_hours_pay_with_their_error(self) -> None:
        sums = learnt(lambda hour: 0.5 + 0.35 * (hour > 13), 60, 14, hours=range(8, 20))
        reference = found(sums)
        assert reference.errors[2] > 2 * reference.errors[13]
        assert all(0.0 <= mean <= 1.0 for mean in reference.means)
