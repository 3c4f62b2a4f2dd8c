"""The alarm in the running service, in fake time."""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.config import parse
from otel_ctxscore.core.stats import Reference, WeightedScore
from otel_ctxscore.monitoring.alarms import Alarms, AlarmStatus
from otel_ctxscore.monitoring.records import AlarmRecord
from otel_ctxscore.monitoring.rules import Pace, Rules, Thinning
from otel_ctxscore.monitoring.series import Series
from otel_ctxscore.monitoring.watched import RECENT_PIECES, Watched
from tests.monitoring.stores import HOUR, START, MemoryStore, evaluation

SERIES = Series("shop", "p", "v1")
PINNED = Rules(pinned=Reference.pinned(0.8))


class Rig:
    """Alarms with a clock that goes an hour a run unless told otherwise."""

    def __init__(self, rules: Rules = PINNED, store: MemoryStore | None = None, **options: object) -> None:
        self.store = store or MemoryStore()
        self.rose: list[AlarmRecord] = []
        self.alarms = Alarms({"p"}, rules, self.store, rose=self.rose.append, **options)  # type: ignore[arg-type]
        self.now = START
        self.runs = 0

    def feed(self, ratios: Iterable[float], every: float = HOUR / 10, **changed: object) -> None:
        for ratio in ratios:
            self.runs += 1
            self.alarms.observe(
                [evaluation(ratio, query=f"q{self.runs}", **changed)],  # type: ignore[arg-type]
                lambda series: series,
                self.now,
            )
            self.now += every

    def status(self, series: Series = SERIES) -> AlarmStatus:
        found = self.alarms.status(series, self.now)
        assert found is not None
        return found


def healthy(n: int, mean: float = 0.8, seed: int = 1) -> list[float]:
    draw = random.Random(seed)
    return [1.0 if draw.random() < mean else 0.0 for _ in range(n)]


def test_a_drop_is_an_alarm_that_says_since_when_and_from_where() -> None:
    rig = Rig()
    rig.feed(healthy(500))
    fell = rig.now
    assert rig.status().state == "quiet"
    rig.feed([0.0] * 40)
    (record,) = rig.rose
    assert rig.status().state == "alarm"
    assert rig.status().record == record
    assert abs(record.began - fell) <= 2 * HOUR
    assert record.began <= record.rose
    assert record.reference == pytest.approx(0.8)
    assert record.mean is not None
    assert record.mean < 0.3
    assert rig.alarms.records() == [record]


def test_in_one_hour_the_numbers_are_of_the_time_since_the_fall() -> None:
    """The first ten minutes: good runs and bad ones in the same tick, whose mean is neither."""
    rig = Rig()
    rig.feed([1.0] * 200, every=0.01)
    rig.feed(healthy(600, 0.95), every=0.1)
    fell = rig.now
    rig.feed([0.0] * 600, every=0.1)
    (record,) = rig.rose
    assert abs(record.began - fell) <= 2
    assert record.mean == pytest.approx(0.0, abs=0.1)
    change = rig.alarms.change(record)
    assert change is not None
    assert change[0] == pytest.approx(-0.8, abs=0.1)


def test_what_is_kept_of_seconds_is_bounded_and_loses_no_run() -> None:
    watched = Watched()
    for second in range(5000):
        watched.take(START + second, [WeightedScore(1.0, 1.0)], 1.0, PINNED, Pace())
        assert len(watched.pieces) <= RECENT_PIECES
    assert sum(sums.n for _, sums in watched.pieces) == 5000
    begins = [at - START for at, _ in watched.pieces]
    widths = [later - at for at, later in itertools.pairwise(begins)]
    assert widths == sorted(widths, reverse=True), "the longer ago, the less fine"
    assert widths[-1] == 1


def test_recovery_ends_it_and_a_second_drop_is_a_second_alarm() -> None:
    rig = Rig()
    rig.feed([0.0] * 40)
    rig.feed([1.0] * 500)
    (record,) = rig.alarms.records()
    assert (record.ended_by, record.acknowledged, rig.status().state) == ("recovered", None, "quiet")
    assert record.ended is not None
    rig.feed([0.0] * 100)
    assert len(rig.rose) == 2
    assert len({one.id for one in rig.rose}) == 2


def test_acknowledged_it_is_quiet_and_may_rise_again() -> None:
    rig = Rig()
    rig.feed([0.0] * 40)
    (record,) = rig.rose
    assert rig.alarms.acknowledge("nothing", "me", rig.now) is None
    taken = rig.alarms.acknowledge(record.id, "me", rig.now)
    assert taken is not None
    assert (taken.acknowledged, taken.acknowledged_by, taken.ended_by) == (rig.now, "me", "acknowledged")
    assert (rig.status().state, rig.status().ratio) == ("quiet", 0)
    again = rig.alarms.acknowledge(record.id, "somebody else", rig.now + 1)
    assert again == taken, "who was first stays"
    rig.feed([0.0] * 40)
    assert len(rig.rose) == 2


def test_an_alarm_that_is_over_can_still_be_acknowledged_without_touching_the_evidence() -> None:
    rig = Rig()
    rig.feed([0.0] * 40)
    rig.feed([1.0] * 500)
    ratio = rig.status().ratio
    taken = rig.alarms.acknowledge(rig.rose[0].id, "me", rig.now)
    assert taken is not None
    assert (taken.ended_by, taken.acknowledged_by, rig.status().ratio) == ("recovered", "me", ratio)


def test_without_a_reference_nothing_is_quiet_and_what_it_learns_from_is_no_evidence() -> None:
    rig = Rig(Rules())
    rig.feed(healthy(499), every=8 * 24 * HOUR / 500)
    status = rig.status()
    assert (status.state, status.ratio, status.reference, status.traces) == ("no reference", None, None, 499)
    rig.feed(healthy(1))
    status = rig.status()
    assert (status.state, status.ratio) == ("quiet", 0)
    assert status.reference == pytest.approx(0.8, abs=0.06)


def test_many_runs_of_few_days_are_no_reference() -> None:
    rig = Rig(Rules())
    rig.feed(healthy(1000), every=6 * 24 * HOUR / 1000)
    assert (rig.status().state, rig.status().days) == ("no reference", 6)


def test_a_daily_swing_is_learned_by_hour_of_day() -> None:
    rig = Rig(Rules())
    for hour in range(14 * 24):
        day = 6 <= hour % 24 < 18
        rig.feed([0.9 if day else 0.6, 0.8 if day else 0.5] * 3, every=HOUR / 6)
    at = rig.alarms.pace.tick_at(START)
    night = rig.alarms.status(SERIES, rig.alarms.pace.begin(at))
    noon = rig.alarms.status(SERIES, rig.alarms.pace.begin(at + 12))
    assert night is not None
    assert noon is not None
    assert [night.reference, noon.reference] == pytest.approx([0.55, 0.85], abs=0.05)


def test_a_run_repeated_word_for_word_counts_once_a_tick() -> None:
    rig = Rig()
    for _ in range(100):
        rig.alarms.observe([evaluation(0.0, query="hot")], lambda series: series, rig.now)
    once = rig.status().ratio
    other = Rig()
    other.feed([0.0], every=0)
    assert once == other.status().ratio
    rig.alarms.observe([evaluation(0.0, query="hot")], lambda series: series, rig.now + HOUR)
    assert (rig.status().ratio or 0) > (once or 0)


def test_runs_of_one_trace_are_one_observation() -> None:
    rig, other = Rig(), Rig()
    rig.alarms.observe([evaluation(0.0, 1.0), evaluation(0.5, query="b")], lambda series: series, rig.now)
    other.alarms.observe([evaluation(0.5)], lambda series: series, other.now)
    assert rig.status().ratio == other.status().ratio


async def test_a_restart_goes_on_where_it_was() -> None:
    first = Rig()
    first.feed(healthy(200))
    first.feed([0.0] * 5)
    first.alarms.save()
    second = Rig(store=first.store)
    await second.alarms.restore(first.now)
    second.now, second.runs = first.now, first.runs
    assert second.status() == first.status()
    for rig in (first, second):
        rig.feed([0.0] * 30)
    assert second.status() == first.status()
    assert second.alarms.records() == first.alarms.records()
    assert len(second.rose) == 1


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 3 * HOUR), st.sampled_from([1.0, 0.5, 0.03])), max_size=60),
    st.integers(0, 60),
)
async def test_restarts_change_nothing(runs: list[tuple[float, float, float]], at: int) -> None:
    rules = Rules(pinned=Reference.pinned(0.8), p_max=1.0, p_min=0.1, horizon=24.0)
    whole, parted = Rig(rules), Rig(rules)
    for number, (ratio, pause, probability) in enumerate(runs):
        if number == at:
            parted.alarms.save()
            after = Rig(rules, parted.store)
            await after.alarms.restore(parted.now)
            after.now, after.runs = parted.now, parted.runs
            parted = after
        for rig in (whole, parted):
            rig.feed([ratio], every=pause, probability=probability)
    assert list(parted.alarms.statuses(parted.now)) == list(whole.alarms.statuses(whole.now))
    assert parted.alarms.records() == whole.alarms.records()
    assert dict(parted.alarms.clipped()) == dict(whole.alarms.clipped())


async def test_an_alarm_and_a_learned_reference_survive_a_kill() -> None:
    first = Rig(Rules())
    first.feed(healthy(500), every=8 * 24 * HOUR / 500)
    first.feed([0.0] * 60)
    (record,) = first.rose
    killed = Rig(Rules(), store=first.store)
    await killed.alarms.restore(first.now)
    assert killed.status().record == record
    assert killed.rose == []
    killed.now, killed.runs = first.now, first.runs
    killed.feed([0.0] * 60)
    assert killed.rose == [], "it is the same alarm"


async def test_what_cannot_be_read_is_lost_and_said(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    store.put("alarm_series", SERIES.name(), {"learning": 1})
    store.put("alarm_series", "no series", {})
    store.put("alarm", "x", {"id": "x"})
    rig = Rig(store=store)
    with caplog.at_level(logging.ERROR):
        await rig.alarms.restore(START)
    assert len(caplog.records) == 3
    assert rig.alarms.status(SERIES, START) is None
    rig.feed([0.5])
    assert rig.status().state == "quiet"


def test_other_rules_begin_the_evidence_anew_and_end_the_alarm() -> None:
    rig = Rig()
    rig.feed([0.0] * 40)
    rig.alarms.apply(PINNED, rig.now)
    assert rig.status().state == "alarm", "the same rules change nothing"
    rig.alarms.apply(Rules(pinned=Reference.pinned(0.9)), rig.now)
    assert (rig.status().state, rig.status().ratio) == ("quiet", 0)
    assert rig.alarms.records()[0].ended_by == "reset"


def test_a_constant_thinning_upstream_cancels() -> None:
    plain, thinned = Rig(), Rig()
    scores = healthy(200, 0.7)
    plain.feed(scores)
    thinned.feed(scores, probability=0.25, trace_state="ot=th:c")
    assert thinned.status().ratio == pytest.approx(plain.status().ratio)


def test_weights_that_are_cut_are_counted() -> None:
    rig = Rig(Rules(pinned=Reference.pinned(0.8), p_max=1.0, p_min=0.5))
    rig.feed([0.5, 0.5, 0.5], probability=0.5)
    rig.feed([0.5], probability=0.1)
    assert dict(rig.alarms.clipped()) == {SERIES: 0.25}


def test_runs_of_an_hour_that_is_over_add_to_the_last_tick_and_a_clock_ahead_is_ours() -> None:
    rig = Rig()
    rig.feed([0.5], every=5 * HOUR, end=START + 365 * 24 * HOUR)
    rig.feed([0.5], end=START + HOUR / 2)
    late = Rig()
    late.feed([0.5, 0.5], every=0)
    assert rig.status().ratio == late.status().ratio


def test_other_scorers_and_shared_labels_have_no_alarm() -> None:
    rig = Rig()
    rig.feed([0.5], scorer="hit_rate")
    rig.alarms.observe([evaluation(0.5)], lambda series: None, rig.now)
    assert list(rig.alarms.statuses(rig.now)) == []


def test_idle_series_and_those_beyond_the_limit_are_forgotten() -> None:
    rig = Rig(limit=2, idle=10 * HOUR)
    for service in ("a", "b", "a", "c"):
        rig.feed([0.0] * 40, service=service)
    assert [series.service for series, _ in rig.alarms.statuses(rig.now)] == ["a", "c"]
    assert {r.service: r.ended_by for r in rig.alarms.records()} == {"a": None, "b": "reset", "c": None}
    rig.alarms.forget_idle(rig.now + 9 * HOUR)
    rig.alarms.save()
    assert [series.service for series, _ in rig.alarms.statuses(rig.now)] == ["c"]
    assert [name for kind, name in rig.store.texts if kind == "alarm_series"] == [Series("c", "p", "v1").name()]


def test_a_faster_clock_for_a_demonstration() -> None:
    rig = Rig(Rules(), pace=Pace(tick=0.1, traces=60, days=3))
    rig.feed(healthy(200, 0.9), every=0.05)
    assert rig.status().state == "quiet"
    rig.feed([0.0] * 40, every=0.05)
    assert len(rig.rose) == 1


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, (1.0, 1.0)),
        ({"sampling": {"rate": 0.1, "rules": [{"name": "e", "match": {"status": "error"}, "rate": 1.0}]}}, (1.0, 0.1)),
        ({"sampling": {"rate": 0.0, "rules": [{"name": "e", "match": {"status": "error"}, "rate": 0.5}]}}, (0.5, 0.5)),
    ],
)
def test_the_range_of_probabilities_is_that_of_the_rules(
    config: dict[str, object], expected: tuple[float, float]
) -> None:
    rules = Rules.of(parse(config))
    assert (rules.p_max, rules.p_min) == expected


def test_the_horizon_is_in_hours_and_a_pinned_reference_has_no_error() -> None:
    rules = Rules.of(parse({"alarm": {"reference": {"pinned": 0.7}, "false_alarm": "30d", "margin": 0.05}}))
    assert rules.pinned is not None
    null = rules.null(rules.pinned, Thinning(1.0, 1.0))
    assert [*null.floors, null.horizon, null.cap] == pytest.approx([0.65, 720, 1.0])


def test_a_range_of_upstream_thinning_widens_in_powers_of_two() -> None:
    first = Thinning(0.3, 0.3)
    assert first.widened(0.3) is first
    assert first.widened(0.2) == Thinning(0.125, 0.3)
    assert first.widened(0.9) == Thinning(0.3, 1.0)
