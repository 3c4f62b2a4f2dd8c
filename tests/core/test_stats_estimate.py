"""The estimate and its sums, against a straightforward computation from the traces themselves."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_ctxscore.core.stats import (
    JUDGED_TERMS,
    SCREENED_TERMS,
    Estimate,
    Sums,
    TraceTotals,
    WeightedScore,
    estimate,
    estimate_judged,
    estimate_screened,
)
from otel_ctxscore.core.stats.quantiles import chi_square, chi_square_tail, kolmogorov, student_t95

Trace = list[WeightedScore]

SCORES = st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.8333, 1.0])
RUNS = st.builds(WeightedScore, st.floats(1.0, 20.0), SCORES, st.floats(0.0, 1.0))
TRACES = st.lists(st.lists(RUNS, min_size=1, max_size=4), min_size=1, max_size=40)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
ANY_SUMS = st.builds(Sums, *[FINITE] * len(JUDGED_TERMS))


def judged(traces: Sequence[Trace]) -> Sums:
    return sum((TraceTotals.of(trace).judged for trace in traces), Sums())


def screened(traces: Sequence[Trace]) -> Sums:
    return sum((TraceTotals.of(trace).screened for trace in traces), Sums())


def drawn(seed: int, n: int, *, equal: bool = False) -> list[Trace]:
    """n traces of one to three runs; the cheap score follows the full one with noise and bias."""
    dice = random.Random(seed)
    traces = []
    for _ in range(n):
        trace = []
        for _ in range(dice.randint(1, 3)):
            score = dice.choice([0.0, 0.5, 0.7, 1.0, 1.0])
            cheap = 0.2 + 0.5 * score + dice.gauss(0, 0.2)
            trace.append(WeightedScore(1.0 if equal else dice.choice([1.0, 2.0, 5.0]), score, cheap))
        traces.append(trace)
    return traces


def by_hand(frame: Sequence[Trace] | None, sample: Sequence[Trace]) -> tuple[float, float, float, float]:
    """(mean, variance, lower, upper) from the traces: residuals squared, no sums of products."""

    def point(units: Sequence[tuple[float, float, float, float]]) -> tuple[float, float]:
        """Units are (multiplicity, t0, ty, tf)."""
        w = sum(k * t0 for k, t0, _, _ in units)
        y = sum(k * ty for k, _, ty, _ in units) / w
        f = sum(k * tf for k, _, _, tf in units) / w
        deviations = [(k, (ty - y * t0) / w, (tf - f * t0) / w) for k, t0, ty, tf in units]
        cyy = sum(k * a * a for k, a, _ in deviations)
        if frame is None:
            return y, cyy
        cff = sum(k * b * b for k, _, b in deviations)
        part = min(max(sum(k * a * b for k, a, b in deviations) / cff, 0.0), 1.0)
        totals = [TraceTotals.of(trace) for trace in frame]
        whole = sum(one.t0 for one in totals)
        mean = sum(one.tf for one in totals) / whole
        noise = sum(((one.tf - mean * one.t0) / whole) ** 2 for one in totals)
        rest = sum(k * (a - part * b) ** 2 for k, a, b in deviations)
        return y + part * (mean - f), rest + part * part * noise

    kept = [TraceTotals.of(trace) for trace in sample]
    units = [(1.0, one.t0, one.ty, one.tf) for one in kept]
    w, ww = sum(one.t0 for one in kept), sum(one.t0**2 for one in kept)
    n, m, f = w * w / ww, ww / w, sum(one.tf for one in kept) / w
    theta, variance = point(units)
    low, spread = point([*units, (0.5, m, 0.0, m * f), (0.5, m, m, m * f)])
    more = (w + m) ** 2 / (ww + m * m)
    p = min(max(low, 0.5 / more), 1 - 0.5 / more)
    half = student_t95(n - 1) * math.sqrt(spread * more / (more - 1)) / (p * (1 - p))
    ends = [1 / (1 + math.exp(-(math.log(p / (1 - p)) + sign * half))) for sign in (-1, 1)]
    mean = min(max(theta, 0.0), 1.0)
    return mean, variance, min(ends[0], mean), max(ends[1], mean)


def numbers(found: Estimate) -> tuple[float, float, float, float]:
    assert found.mean is not None
    assert found.variance is not None
    assert found.lower is not None
    assert found.upper is not None
    return found.mean, found.variance, found.lower, found.upper


class TestSums:
    def test_terms_of_a_trace(self) -> None:
        totals = TraceTotals.of([WeightedScore(2.0, 0.5, 0.25), WeightedScore(4.0, 1.0, 0.5)])
        assert totals == TraceTotals(6.0, 5.0, 2.5)
        assert totals.screened.terms("screened") == {"n": 1, "w": 6, "wf": 2.5, "ww": 36, "wwf": 15, "wwff": 6.25}
        expected = {
            "n": 1,
            "w": 6,
            "wf": 2.5,
            "ww": 36,
            "wwf": 15,
            "wwff": 6.25,
            "wy": 5,
            "wwy": 30,
            "wwyy": 25,
            "wwyf": 12.5,
        }
        assert totals.judged.terms("judged") == expected

    def test_names(self) -> None:
        assert SCREENED_TERMS == ("n", "w", "wf", "ww", "wwf", "wwff")
        assert (*SCREENED_TERMS, "wy", "wwy", "wwyy", "wwyf") == JUDGED_TERMS
        assert Sums.of_terms(Sums(1, 2, 3).terms("screened")) == Sums(1, 2, 3)
        with pytest.raises(ValueError, match="no such term: wff"):
            Sums.of_terms({"wff": 1.0})

    def test_no_runs_add_nothing(self) -> None:
        assert TraceTotals.of([]).judged == Sums() == TraceTotals.of([]).screened

    @pytest.mark.parametrize(
        ("weight", "score", "cheap"),
        [
            (0.0, 0.5, 0.0),
            (-1.0, 0.5, 0.0),
            (math.inf, 0.5, 0.0),
            (math.nan, 0.5, 0.0),
            (1.0, 1.1, 0.0),
            (1.0, -0.1, 0.0),
            (1.0, math.nan, 0.0),
            (1.0, 0.5, math.nan),
            (1.0, 0.5, math.inf),
        ],
    )
    def test_what_is_no_score_is_refused(self, weight: float, score: float, cheap: float) -> None:
        with pytest.raises(ValueError, match="not"):
            WeightedScore(weight, score, cheap)

    @given(TRACES, TRACES)
    @settings(max_examples=50)
    def test_additive(self, one: list[Trace], other: list[Trace]) -> None:
        both = judged(one) + judged(other)
        assert astuple(both) == pytest.approx(astuple(judged([*one, *other])), rel=1e-12)
        assert astuple(both - judged(one)) == pytest.approx(astuple(judged(other)), rel=1e-9, abs=1e-9)

    def test_n_eff(self) -> None:
        assert judged([[WeightedScore(3.0)]] * 7).n_eff == pytest.approx(7)
        assert judged([[WeightedScore(1.0)], [WeightedScore(5.0)]]).n_eff == pytest.approx(36 / 26)
        assert Sums().n_eff == 0.0


class TestAgainstTheTraces:
    @pytest.mark.parametrize("n", [20, 40, 300])
    def test_prediction_powered(self, n: int) -> None:
        sample = drawn(n, n)
        frame = [*sample, *drawn(n + 1, 9 * n)]
        found = estimate(screened(frame), judged(sample))
        assert numbers(found) == pytest.approx(by_hand(frame, sample), rel=1e-10)
        assert 0 < found.lambda_ <= 1

    @pytest.mark.parametrize("n", [20, 40, 300])
    def test_judged_only(self, n: int) -> None:
        sample = drawn(n, n)
        assert numbers(estimate_judged(judged(sample))) == pytest.approx(by_hand(None, sample), rel=1e-10)
        assert estimate_judged(judged(sample)).lambda_ == 0.0

    def test_screened_only_is_the_cheap_judge_by_itself(self) -> None:
        sample = drawn(5, 60)
        cheap = [[WeightedScore(run.weight, min(max(run.cheap, 0), 1)) for run in trace] for trace in sample]
        frame = [[WeightedScore(run.weight, 0.0, run.score) for run in trace] for trace in cheap]
        assert estimate_screened(screened(frame)) == estimate_judged(judged(cheap))

    def test_one_judge_is_the_weighted_mean(self) -> None:
        """Its score is the full and the cheap one, and every trace is judged: the cheap one changes nothing."""
        sample = [[WeightedScore(r.weight, r.score, r.score) for r in trace] for trace in drawn(3, 50)]
        weight = sum(run.weight for trace in sample for run in trace)
        mean = sum(run.weight * run.score for trace in sample for run in trace) / weight
        alone, helped = estimate_judged(judged(sample)), estimate(screened(sample), judged(sample))
        assert alone.mean == pytest.approx(mean)
        assert numbers(helped)[:2] == pytest.approx(numbers(alone)[:2])

    def test_known_values(self) -> None:
        """Twenty runs of equal weight, fourteen of score 1: p' = 14.5/21, by hand."""
        found = estimate_judged(judged([[WeightedScore(1.0, float(k < 14))] for k in range(20)]))
        p, variance = 14.5 / 21, (14.5 / 21) * (6.5 / 21) / 21
        half = 2.093054 * math.sqrt(variance * 21 / 20) / (p * (1 - p))
        lower = 1 / (1 + math.exp(half - math.log(p / (1 - p))))
        assert found.mean == pytest.approx(0.7)
        assert found.lower == pytest.approx(lower, rel=1e-6)
        assert found.variance == pytest.approx(0.7 * 0.3 / 20)


class TestThirteenTermsDoNotDo:
    """n w ww wf wff wy wyy wyf, fewer and not sufficient: the same for two samples whose errors differ."""

    def test_same_thirteen_other_variance(self) -> None:
        def traces(light: list[float], heavy: list[float]) -> list[Trace]:
            return [[WeightedScore(1.0, y)] for y in light] + [[WeightedScore(5.0, y)] for y in heavy]

        def thirteen(traces: list[Trace]) -> list[float]:
            runs = [run for trace in traces for run in trace]
            powers = ((0, 0), (1, 0), (2, 0), (1, 1), (1, 2))
            return [sum(run.weight**a * run.score**b for run in runs) for a, b in powers]

        one, other = traces([0.0, 1.0] * 5, [0.5] * 2), traces([0.5] * 10, [0.0, 1.0])
        assert thirteen(one) == thirteen(other)
        first, second = estimate_judged(judged(one)), estimate_judged(judged(other))
        assert first.mean == second.mean == 0.5
        assert first.variance == pytest.approx(2.5 / 20**2)
        assert second.variance == pytest.approx(12.5 / 20**2)

    def test_and_it_is_the_deviation_by_weight_that_counts(self) -> None:
        traces = [[WeightedScore(1.0, 1.0)]] * 20 + [[WeightedScore(5.0, 0.0)]]
        found = estimate_judged(judged(traces))
        runs = [run for trace in traces for run in trace]
        w, ww = sum(r.weight for r in runs), sum(r.weight**2 for r in runs)
        mean = sum(r.weight * r.score for r in runs) / w
        unrelated = ww / w**2 * sum(r.weight * (r.score - mean) ** 2 for r in runs) / w
        exact = sum((r.weight * (r.score - mean)) ** 2 for r in runs) / w**2
        assert found.variance is not None
        assert found.variance == pytest.approx(exact)
        assert found.variance > 2 * unrelated

    def test_equal_weights_need_no_more(self) -> None:
        scores = [0.0, 0.5, 1.0, 1.0] * 5
        found = estimate_judged(judged([[WeightedScore(2.0, y)] for y in scores]))
        assert found.variance == pytest.approx(sum((y - 0.625) ** 2 for y in scores) / 20**2)


class TestPublication:
    def test_no_runs(self) -> None:
        assert estimate(None, Sums()) == Estimate()
        assert estimate(Sums(n=5, w=5, ww=5), Sums()).mean is None

    def test_below_ten_there_is_no_interval(self) -> None:
        found = estimate_judged(judged(drawn(1, 9, equal=True)))
        assert found.mean is not None
        assert (found.lower, found.upper, found.low_n) == (None, None, True)

    @pytest.mark.parametrize(("n", "low"), [(10, True), (29, True), (30, False)])
    def test_low_n(self, n: int, *, low: bool) -> None:
        found = estimate_judged(judged([[WeightedScore(4.0, 1.0)]] * n))
        assert found.low_n is low
        assert found.lower is not None

    def test_all_one(self) -> None:
        found = estimate_judged(judged([[WeightedScore(1.0, 1.0)]] * 50))
        assert found.mean == found.upper == 1.0
        assert found.lower is not None
        assert 0.8 < found.lower < 0.95

    def test_truncated_window_has_a_mean_only(self) -> None:
        found = estimate(None, judged(drawn(2, 100)), truncated=True)
        assert found.mean is not None
        assert found.lower is None is found.upper

    def test_constant_cheap_score_changes_nothing(self) -> None:
        sample = [[WeightedScore(r.weight, r.score, 0.1) for r in trace] for trace in drawn(4, 200)]
        frame = [*sample, *[[WeightedScore(1.0, 0.0, 0.1)]] * 1000]
        helped, alone = estimate(screened(frame), judged(sample)), estimate_judged(judged(sample))
        assert helped.lambda_ == 0.0
        assert helped == alone

    def test_useful_cheap_score_narrows(self) -> None:
        sample = drawn(6, 200, equal=True)
        frame = [*sample, *drawn(7, 4000, equal=True)]
        helped, alone = numbers(estimate(screened(frame), judged(sample))), numbers(estimate_judged(judged(sample)))
        assert helped[3] - helped[2] < 0.85 * (alone[3] - alone[2])


class TestProperties:
    @given(TRACES, st.randoms(use_true_random=False))
    @settings(max_examples=60)
    def test_order_and_partition(self, traces: list[Trace], dice: random.Random) -> None:
        shuffled = list(traces)
        dice.shuffle(shuffled)
        cut = dice.randint(0, len(shuffled))
        parts = judged(shuffled[:cut]) + judged(shuffled[cut:])
        one, other = estimate(screened(traces), judged(traces)), estimate(screened(shuffled), parts)
        assert one.mean == pytest.approx(other.mean, abs=1e-7)
        assert one.n_eff == pytest.approx(other.n_eff)

    @given(TRACES)
    @settings(max_examples=100)
    def test_interval_holds_the_point_within_0_and_1(self, traces: list[Trace]) -> None:
        for found in (estimate(screened(traces), judged(traces)), estimate_judged(judged(traces))):
            assert found.mean is not None
            assert 0.0 <= found.mean <= 1.0
            if found.lower is not None and found.upper is not None:
                assert 0.0 <= found.lower <= found.mean <= found.upper <= 1.0
            assert (found.lower is None) == (found.n_eff < 10)

    @given(ANY_SUMS, ANY_SUMS)
    @settings(max_examples=300)
    def test_no_nan(self, frame: Sums, sample: Sums) -> None:
        for found in (estimate(frame, sample), estimate_judged(sample), estimate_screened(frame)):
            kept = [x for x in (found.mean, found.lower, found.upper, found.variance) if x is not None]
            assert all(map(math.isfinite, [*kept, found.n_eff, found.lambda_]))
            assert all(0.0 <= x <= 1.0 for x in (found.mean, found.lower, found.upper) if x is not None)

    @given(TRACES, st.floats(1e-6, 1e6))
    @settings(max_examples=60)
    def test_scale_of_the_weights_is_free(self, traces: list[Trace], scale: float) -> None:
        scaled = [[WeightedScore(run.weight * scale, run.score, run.cheap) for run in trace] for trace in traces]
        one, other = estimate_judged(judged(traces)), estimate_judged(judged(scaled))
        assert one.mean == pytest.approx(other.mean, abs=1e-9)
        assert one.n_eff == pytest.approx(other.n_eff)
        if one.lower is not None:
            assert one.lower == pytest.approx(other.lower, abs=1e-9)
            assert one.upper == pytest.approx(other.upper, abs=1e-9)

    def test_extrapolated_counters_scale_the_variance_only(self) -> None:
        """`increase()` multiplies every term by one factor: the mean stays, the variance goes by its inverse."""
        sample, frame = judged(drawn(8, 100)), screened(drawn(9, 900))
        by = [Sums(*(1.05 * x for x in astuple(sums))) for sums in (frame, sample)]
        one, other = estimate(frame, sample), estimate(*by)
        assert other.mean == pytest.approx(one.mean)
        assert one.variance is not None
        assert other.variance == pytest.approx(one.variance / 1.05)


class TestQuantiles:
    @pytest.mark.parametrize(
        ("tail", "freedom", "value"),
        [
            (0.01, 4, 13.2767),
            (0.01, 5, 15.0863),
            (0.01, 6, 16.8119),
            (0.001, 4, 18.4668),
            (0.001, 5, 20.5150),
            (0.001, 6, 22.4577),
            (0.05, 1, 3.84146),
            (0.05, 23, 35.1725),
            (0.5, 2, 2 * math.log(2)),
        ],
    )
    def test_chi_square(self, tail: float, freedom: int, value: float) -> None:
        assert chi_square(tail, freedom) == pytest.approx(value, rel=1e-5)

    @given(st.floats(1e-6, 0.999), st.integers(1, 60))
    @settings(max_examples=100)
    def test_chi_square_is_the_inverse_of_its_tail(self, tail: float, freedom: int) -> None:
        assert chi_square_tail(chi_square(tail, freedom), freedom) == pytest.approx(tail, rel=1e-8)

    def test_chi_square_of_two_degrees_is_exponential(self) -> None:
        assert chi_square_tail(3.0, 2) == pytest.approx(math.exp(-1.5))
        assert chi_square_tail(0.0, 2) == 1.0

    @pytest.mark.parametrize(("tail", "freedom"), [(0.0, 3), (1.0, 3), (0.5, 0)])
    def test_out_of_range(self, tail: float, freedom: int) -> None:
        with pytest.raises(ValueError, match="tail"):
            chi_square(tail, freedom)

    def test_student(self) -> None:
        assert student_t95(5) == pytest.approx(2.568, abs=5e-4)
        assert student_t95(19) == pytest.approx(2.0930, abs=2e-4)
        assert student_t95(1e9) == pytest.approx(1.96)

    def test_kolmogorov(self) -> None:
        assert (round(kolmogorov(0.01), 2), round(kolmogorov(0.001), 2)) == (1.63, 1.95)
