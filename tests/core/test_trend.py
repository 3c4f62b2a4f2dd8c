from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.trend import RECENT_RUNS, REFERENCE_RUNS, Trend, TrendState

score = st.floats(0, 1)


def fed(*values: float, weight: float = 1.0) -> Trend:
    trend = Trend()
    for value in values:
        trend.add(value, weight)
    return trend


def test_there_is_no_state_without_a_reference() -> None:
    assert fed().state is TrendState.LEARNING
    assert fed(*[0.0] * (REFERENCE_RUNS - 1)).state is TrendState.LEARNING
    assert fed().now is None


def test_a_drop_is_seen_and_its_end_too() -> None:
    trend = fed(*[0.9, 1.0] * (REFERENCE_RUNS // 2), *[0.9, 1.0] * RECENT_RUNS)
    states = [trend.state]
    for values in ([0.1, 0.5], [0.9, 1.0]):
        for value in values * (RECENT_RUNS // 2):
            trend.add(value, 1.0)
        states.append(trend.state)
    assert states == [TrendState.STEADY, TrendState.FELL, TrendState.STEADY]


@given(st.lists(score, min_size=REFERENCE_RUNS, max_size=REFERENCE_RUNS + 2 * RECENT_RUNS), st.floats(0.1, 100))
def test_a_better_mean_is_no_alarm_whatever_the_weight(values: list[float], weight: float) -> None:
    trend = fed(*values, *[1.0] * RECENT_RUNS, weight=weight)
    assert trend.state is TrendState.STEADY
    assert trend.reference is not None
    assert trend.reference == fed(*values[:REFERENCE_RUNS], weight=weight).reference
