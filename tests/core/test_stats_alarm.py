"""The alarm: what each factor is, that no evidence comes from nothing, and the life of a detector."""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_ctxscore.core.stats import Detector, NullHypothesis, WeightedScore, observation, weight_cap

SCORES = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])
OBSERVATIONS = st.lists(st.tuples(SCORES, st.floats(0.5, 30.0)), max_size=12)
TICKS = st.lists(OBSERVATIONS, max_size=12)
NULL = NullHypothesis((0.78,), cap=5.0, horizon=100.0)
PLAIN = NullHypothesis((0.78,), horizon=48.0)


def low(count: int = 10) -> list[tuple[float, float]]:
    return [(0.0, 1.0), (0.5, 1.0)] * (count // 2)


def fed(detector: Detector, ticks: range, scores: list[tuple[float, float]]) -> Detector:
    for tick in ticks:
        detector = detector.after(tick, scores)
    return detector


def by_hand(null: NullHypothesis, ticks: list[list[tuple[float, float]]]) -> list[float]:
    """The recursion as it is written down, one bet at a time."""
    result = []
    for j in range(6):
        b, m = 0.5 / (1 - min(null.floors)) * 2**-j, 0.0
        for tick, runs in enumerate(ticks):
            m += 1 if runs else 0
            for x, w in runs:
                m = min(m * (1 + b * min(w, null.cap) / null.cap * (null.floor(tick) - x)), 12 * null.horizon)
        result.append(m)
    return result


class TestFactors:
    @pytest.mark.parametrize("floor", [0.05, 0.5, 0.78, 0.97])
    @pytest.mark.parametrize("weight", [0.3, 1.0, 9.0])
    def test_mean_of_a_factor_is_one_at_the_floor(self, floor: float, weight: float) -> None:
        """Scores of 0 and 1 with mean c: c*factor(1) + (1-c)*factor(0) = 1, for each bet and any weight."""
        null = NullHypothesis((floor,), cap=2.0)
        zero, one = null.factors(0, [(0.0, weight), (1.0, weight)])
        for bad, good in zip(zero, one, strict=True):
            assert floor * good + (1 - floor) * bad == pytest.approx(1.0)

    def test_weighted_sampling_keeps_it(self) -> None:
        """Low scores kept, the rest with 1/5: what was left out counts as a factor of 1."""
        null = NullHypothesis((0.8,), cap=5.0)
        zero, one = null.factors(0, [(0.0, 1.0), (1.0, 5.0)])
        for bad, good in zip(zero, one, strict=True):
            assert 0.8 * (0.2 * good + 0.8) + 0.2 * bad == pytest.approx(1.0)

    def test_no_factor_takes_more_than_half(self) -> None:
        null = NullHypothesis(tuple(0.6 + hour / 100 for hour in range(24)))
        for hour in range(24):
            assert min(min(row) for row in null.factors(hour, [(1.0, 1.0), (0.0, 1.0)])) >= 0.5

    def test_bets_halve(self) -> None:
        assert NullHypothesis((0.75,)).bets == tuple(2.0 * 0.5**j for j in range(6))

    def test_weights_beyond_the_cap_are_clipped(self) -> None:
        assert NULL.factors(0, [(0.0, 5.0)]) == NULL.factors(0, [(0.0, 50.0)])

    @pytest.mark.parametrize("bad", [(-0.1, 1.0), (1.1, 1.0), (math.nan, 1.0), (0.5, 0.0), (0.5, math.nan)])
    def test_what_is_no_score_is_refused(self, bad: tuple[float, float]) -> None:
        with pytest.raises(ValueError, match="not a score"):
            Detector(NULL).after(1, [bad])

    @pytest.mark.parametrize("floors", [(), (0.5, 0.6), (1.0,), (math.nan,), (-math.inf,)])
    def test_floors_that_cannot_be(self, floors: tuple[float, ...]) -> None:
        with pytest.raises(ValueError, match="floor"):
            NullHypothesis(floors)

    def test_cap_from_the_rules(self) -> None:
        assert weight_cap(1.0, 0.2) == 5.0
        assert weight_cap(0.5, 0.001) == 40.0
        with pytest.raises(ValueError, match="probabilities"):
            weight_cap(0.1, 0.2)

    def test_observation_of_a_trace(self) -> None:
        assert observation([WeightedScore(1.0, 0.5), WeightedScore(3.0, 1.0)]) == (0.875, 2.0)
        assert observation([]) is None


class TestEvidence:
    @given(TICKS)
    @settings(max_examples=60)
    def test_recursion(self, ticks: list[list[tuple[float, float]]]) -> None:
        detector = Detector(NULL)
        for tick, runs in enumerate(ticks):
            detector = detector.after(tick, runs)
        assert detector.evidence == pytest.approx(by_hand(NULL, ticks))
        assert detector.ratio == pytest.approx(sum(by_hand(NULL, ticks)) / 6 / 100)

    @given(TICKS)
    @settings(max_examples=60)
    def test_one_by_one_or_together(self, ticks: list[list[tuple[float, float]]]) -> None:
        together, singly = Detector(NULL), Detector(NULL)
        for tick, runs in enumerate(ticks):
            together = together.after(tick, runs)
            for run in runs:
                singly = singly.after(tick, [run])
        assert together == singly

    def test_silence_is_no_evidence(self) -> None:
        detector = Detector(NULL).after(5, [(0.5, 1.0)])
        assert detector.after(6, []) is detector
        late = detector.after(100_000, [(1.0, 1e-9)])
        assert late.ratio - detector.ratio == pytest.approx(1 / 100)

    def test_late_run_adds_to_the_last_tick(self) -> None:
        detector = Detector(NULL).after(5, [(0.5, 1.0)])
        late = detector.after(3, [(0.5, 1.0)])
        assert late.tick == 5
        assert late == detector.after(5, [(0.5, 1.0)])

    def test_floor_by_hour(self) -> None:
        null = NullHypothesis(tuple(0.5 if hour < 12 else 0.9 for hour in range(24)))
        assert Detector(null).after(24 * 400 + 3, [(0.7, 1.0)]).ratio < 1 / null.horizon
        assert Detector(null).after(24 * 400 + 13, [(0.7, 1.0)]).ratio > 1 / null.horizon

    @pytest.mark.parametrize("mean", [0.8, 0.85, 0.75])
    def test_grows_by_one_a_tick(self, mean: float) -> None:
        """The mean evidence over all outcomes of three ticks of two runs: 3 at the floor, less above it."""
        null, expected = NullHypothesis((0.8,), horizon=1e6), 0.0
        for outcomes in itertools.product((0.0, 1.0), repeat=6):
            detector = Detector(null)
            for tick in range(3):
                detector = detector.after(tick, [(score, 1.0) for score in outcomes[2 * tick : 2 * tick + 2]])
            chance = math.prod(mean if score else 1 - mean for score in outcomes)
            expected += chance * detector.ratio * null.horizon
        assert expected == pytest.approx(3) if mean == 0.8 else (expected < 3) == (mean > 0.8)

    def test_few_false_alarms_and_a_drop_is_found(self) -> None:
        dice = random.Random(7)

        def scores(mean: float) -> list[tuple[float, float]]:
            return [(float(dice.random() < mean), 1.0) for _ in range(10)]

        false, delays = 0, []
        for _ in range(30):
            detector = Detector(NullHypothesis((0.78,), horizon=480.0))
            for tick in range(200):
                detector = detector.after(tick, scores(0.8))
            false += detector.raised is not None
            detector = replace(detector, raised=None)
            while detector.raised is None:
                tick += 1
                detector = detector.after(tick, scores(0.6))
            delays.append(tick - 199)
        assert false <= 1
        assert sum(delays) / len(delays) < 10

    @given(TICKS, st.lists(st.tuples(SCORES, st.floats(0.5, 30.0)), min_size=1, max_size=8))
    @settings(max_examples=60)
    def test_never_negative_nor_beyond_twice_the_alarm(
        self, ticks: list[list[tuple[float, float]]], more: list[tuple[float, float]]
    ) -> None:
        detector = Detector(NULL)
        for tick, runs in enumerate([*ticks, *[more] * 50]):
            detector = detector.after(tick, runs)
            assert all(0.0 <= m <= 12 * NULL.horizon for m in detector.evidence)


class TestLife:
    def test_alarm_with_its_onset(self) -> None:
        quiet = fed(Detector(PLAIN), range(1000, 1100), [(1.0, 1.0), (0.5, 1.0), (1.0, 1.0)])
        assert quiet.raised is None
        alarm = fed(quiet, range(1100, 1110), low())
        assert alarm.ratio >= 1
        assert alarm.began == 1100
        assert alarm.raised is not None
        assert 1100 <= alarm.raised < 1105

    def test_ends_below_a_tenth(self) -> None:
        alarm = fed(Detector(PLAIN), range(10), low())
        assert alarm.raised is not None
        seen, tick = [], 10
        while alarm.raised is not None:
            alarm = alarm.after(tick, [(1.0, 1.0)] * 5)
            seen.append(alarm.ratio)
            tick += 1
        assert seen[-2] >= 0.1 > seen[-1]
        assert alarm.began is None

    def test_second_alarm_has_an_onset_of_its_own(self) -> None:
        once = fed(fed(Detector(PLAIN), range(10), low()), range(10, 60), [(1.0, 1.0)] * 10)
        assert once.raised is None
        again = fed(once, range(60, 70), low())
        assert again.began == 60

    def test_acknowledged(self) -> None:
        alarm = fed(Detector(PLAIN), range(10), low())
        quiet = alarm.acknowledged()
        assert (quiet.raised, quiet.began, quiet.ratio) == (None, None, 0.0)
        assert quiet.tick == alarm.tick
        assert fed(quiet, range(10, 20), low()).raised is not None

    def test_state_survives(self) -> None:
        state = fed(Detector(PLAIN), range(3), low())
        assert Detector.restored(json.loads(json.dumps(state.as_dict())), PLAIN) == state

    @pytest.mark.parametrize("other", [NullHypothesis((0.77,), horizon=48.0), NullHypothesis((0.78,), 2.0, 48.0)])
    def test_other_hypothesis_starts_anew(self, other: NullHypothesis) -> None:
        state = fed(Detector(PLAIN), range(3), low()).as_dict()
        assert Detector.restored(state, other) == Detector(other)

    @pytest.mark.parametrize(
        "wrong", [{"evidence": [1.0]}, {"evidence": [math.nan] * 6}, {"growth": "x"}, {"tick": "3"}, {"raised": True}]
    )
    def test_damaged_state_is_refused(self, wrong: dict[str, object]) -> None:
        with pytest.raises(ValueError, match="not the state"):
            Detector.restored({**Detector(PLAIN).as_dict(), **wrong}, PLAIN)

    def test_foreign_state_is_refused(self) -> None:
        with pytest.raises(ValueError, match="not the state"):
            Detector.restored({"a": 1}, PLAIN)
