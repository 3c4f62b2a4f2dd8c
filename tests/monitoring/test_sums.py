"""The estimator sums of traces."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.model import CheapScore, Evaluation, Screening
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.monitoring.series import Series, by_series, counted
from otel_ctxscore.monitoring.sums import EstimatorSums
from otel_ctxscore.telemetry import Metrics
from tests.monitoring.stores import evaluation, samples

share = st.floats(0.01, 1)


async def terms(metrics: Metrics, stage: str, name: str = "estimator_sum_total", **labels: str) -> dict[str, float]:
    where = {"service": "shop", "scorer": "p", "version": "v1", "stage": stage, **labels}
    return {term: value for (term,), value in (await samples(metrics, name, **where)).items()}


async def test_one_judge_feeds_the_stage_judged_by_trace_totals() -> None:
    metrics = Metrics()
    EstimatorSums(metrics, {}).add([evaluation(1.0, 0.5, probability=0.5), evaluation(0.0)])
    found = await terms(metrics, "judged")
    # w = 2, 2, 1 and y = 1, .5, 0: t0 = 5, ty = 3
    assert found == {
        "n": 1, "w": 5, "wf": 0, "ww": 25, "wwf": 0, "wwff": 0, "wy": 3, "wwy": 15, "wwyy": 9, "wwyf": 0
    }  # fmt: skip
    assert await terms(metrics, "screened") == {}


async def test_two_judges_feed_both_stages_each_with_its_own_weights() -> None:
    metrics = Metrics()
    sums = EstimatorSums(metrics, {})
    screened = Screening(0.5, [CheapScore("p", "v1", 0, 0.8)])
    sums.add([evaluation(0.5, probability=0.05, screening=screened)])
    sums.add([evaluation(screening=screened, outcome=TraceOutcome.SCREENED)])
    first, second = await terms(metrics, "screened"), await terms(metrics, "judged")
    assert [first[name] for name in ("n", "w", "wf")] == pytest.approx([2, 4, 3.2])
    assert (second["n"], second["w"]) == (1, 20)
    assert [second[name] for name in ("wf", "wy")] == pytest.approx([16, 10])


async def test_a_cheap_judge_that_says_nothing_counts_alike_in_both_stages() -> None:
    metrics = Metrics()
    silent = Screening(1.0, [CheapScore("p", "v1", 0, None)])
    EstimatorSums(metrics, {}).add([evaluation(0.5, screening=silent)])
    for stage in ("screened", "judged"):
        found = await terms(metrics, stage)
        assert (found["n"], found["wf"]) == (1, 0)


@given(st.lists(st.tuples(st.lists(st.floats(0, 1), max_size=3), share), min_size=1, max_size=5))
def test_totals_do_not_depend_on_how_scores_are_spread_over_the_runs_of_a_trace(
    runs: list[tuple[list[float], float]],
) -> None:
    together = by_series([evaluation(*ratios, probability=p) for ratios, p in runs])
    apart = by_series([evaluation(ratio, probability=p) for ratios, p in runs for ratio in ratios])
    assert together.keys() == apart.keys()
    for series, scores in together.items():
        ((_, a),), ((_, b),) = scores.stages(), apart[series].stages()
        assert a == b
        assert math.isclose(a.ww, a.w**2)


async def test_segments_have_sums_of_their_own() -> None:
    metrics = Metrics()
    trace = [
        evaluation(1.0, attributes={"v": "1.2", "index": True}),
        evaluation(0.0, attributes={"v": 7}),
        evaluation(0.5, attributes={"v": ["a", "b"]}),
        evaluation(0.5),
    ]
    EstimatorSums(metrics, {"version": "v", "idx": "index"}).add(trace)
    found = await samples(metrics, "segment_estimator_sum_total", term="w", service="shop", scorer="p", version="v1")
    by_segment = {frozenset(key): value for key, value in found.items()}
    assert by_segment == {
        frozenset({"version", "1.2", "judged"}): 1,
        frozenset({"version", "7", "judged"}): 1,
        frozenset({"idx", "true", "judged"}): 1,
    }
    assert (await terms(metrics, "judged"))["ww"] == 16, "the trace as a whole"


@pytest.mark.parametrize(
    "changed",
    [{"redelivered": True}, {"revision": 1}, {"backfill": True}, {"outcome": TraceOutcome.NOT_SAMPLED}],
)
def test_what_comes_from_the_past_or_was_left_out_enters_nothing(changed: dict[str, Any]) -> None:
    kept: Evaluation = evaluation(0.25)
    assert counted([evaluation(0.5, **changed), kept]) == [kept]


@given(st.text(), st.text(), st.text())
def test_a_series_is_what_its_name_says(service: str, scorer: str, version: str) -> None:
    series = Series(service, scorer, version)
    assert Series.named(series.name()) == series


@pytest.mark.parametrize("name", ["", "[]", '["a", "b"]', '["a", "b", 1]', "{}"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- json's own error is one too
        Series.named(name)
