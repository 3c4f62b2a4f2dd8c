from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.budget import Budget, Limits, costs_of
from otel_ctxscore.core.model import JudgedBy

HOUR = 3600.0


def day(budget: Budget, per_hour: list[int], cost: float = 100.0, start: float = 0.0) -> tuple[float, list[float]]:
    """Run a day of traffic by hour against a budget; what it cost, and the share of runs judged in each hour."""
    draw = random.Random(5)
    spent, shares = 0.0, []
    for hour, runs in enumerate(per_hour):
        judged = 0
        for n in range(runs):
            now = start + hour * HOUR + n * HOUR / runs
            share = budget.share(now)
            budget.saw(now, 1.0)
            if draw.random() < share and budget.reserve(now):
                budget.settle({"tokens": cost, "usd": cost / 1e6})
                judged += 1
                spent += cost
        shares.append(judged / runs if runs else 0.0)
    return spent, shares


def test_without_limits_everything_is_let_through() -> None:
    spent, shares = day(Budget(Limits()), [50] * 24)
    assert shares == [1.0] * 24
    assert spent == 24 * 50 * 100


def test_runs_a_minute_hold_in_the_mean_and_no_run_is_without_a_chance() -> None:
    budget = Budget(Limits(runs_per_minute=2))
    _, shares = day(budget, [1200] * 24)
    assert all(0.07 < share < 0.14 for share in shares), shares


def test_a_day_of_even_traffic_spends_what_it_may_and_not_more() -> None:
    first = Budget(Limits(tokens_per_day=60_000))
    day(first, [50] * 24)
    spent, shares = day(first, [50] * 24, start=24 * HOUR)
    assert 45_000 <= spent <= 60_000
    assert all(share > 0.2 for share in shares), "the evening has a chance like the morning"


def test_the_fuse_closes_a_day_that_is_spent_and_the_next_one_opens() -> None:
    budget = Budget(Limits(tokens_per_day=1000))
    assert budget.reserve(0.0)
    budget.settle({"tokens": 990})
    assert not budget.reserve(1.0)
    assert budget.blown(1.0)
    assert budget.share(2.0) == 0
    assert budget.share(24 * HOUR) == 1
    assert not budget.blown(24 * HOUR)


def test_a_burst_that_nobody_foresaw_blows_the_fuse_of_its_minute() -> None:
    budget = Budget(Limits(runs_per_minute=2))
    assert [budget.reserve(20.0) for _ in range(12)] == [True] * 10 + [False] * 2
    assert (budget.is_open("minute", 20.0), budget.is_open("minute", 79.0)) == (False, False)
    assert budget.blown(79.0)
    assert budget.share(80.0) > 0
    assert budget.is_open("minute", 80.0)
    assert budget.is_open("day", 20.0) is None
    assert Budget(Limits(tokens_per_day=1)).is_open("minute", 0.0) is None


def test_what_is_reserved_counts_until_it_is_settled() -> None:
    budget = Budget(Limits(tokens_per_day=1000))
    budget.reserve(0.0)
    budget.settle({"tokens": 400})
    assert budget.reserve(0.0)
    assert budget.used("tokens") == 800
    assert not budget.reserve(0.0), "two calls of 400 are under way or done"
    budget.settle({})
    assert budget.used("tokens") == 400


def test_replicas_share_the_limits() -> None:
    budget = Budget(Limits(tokens_per_day=1000), fraction=0.5)
    budget.reserve(0.0)
    budget.settle({"tokens": 400})
    assert budget.used_ratio("day") == pytest.approx(0.8)
    assert not budget.reserve(0.0)


def test_other_limits_hold_from_the_next_run_and_the_share_from_the_next_minute() -> None:
    budget = Budget(Limits(tokens_per_day=1000))
    budget.reserve(0.0)
    budget.settle({"tokens": 1000})
    assert not budget.reserve(0.0)
    assert budget.share(0.0) == 0
    budget.relimit(Limits(tokens_per_day=1500), 1.0)
    assert not budget.reserve(0.0), "the next call, like the last one, costs 1000"
    budget.relimit(Limits(tokens_per_day=5000), 1.0)
    assert not budget.blown(0.0)
    assert budget.reserve(0.0)
    budget.settle({})
    budget.relimit(Limits(runs_per_minute=1), 0.5)
    budget.saw(0.0, 10.0)
    assert budget.share(60.0) < 0.1, "ten runs a minute, of which this replica may judge one in two minutes"


def test_a_restart_goes_on_with_what_was_spent_that_day() -> None:
    first = Budget(Limits(tokens_per_day=1000))
    first.reserve(100.0)
    first.settle({"tokens": 1000})
    for now, share in ((200.0, 0), (100.0 + 24 * HOUR, 1)):
        budget = Budget(Limits(tokens_per_day=1000))
        budget.restore(now, first.as_dict())
        assert budget.share(now) == share
    for kept in (
        {},
        {"day": 0, "spent": None},
        {"day": 0, "spent": {"tokens": float("nan")}},
        {"day": "0", "spent": {}},
    ):
        lost = Budget(Limits(tokens_per_day=1000))
        lost.restore(200.0, kept)
        assert lost.share(200.0) == 1


MIDNIGHT = 24 * HOUR


def spend(budget: Budget, now: float, cost: float = 1000) -> bool:
    """Whether a call could be made, which then cost so much."""
    if budget.share(now) == 0 or not budget.reserve(now):
        return False
    budget.settle({"tokens": cost, "usd": cost / 1e6})
    return True


@pytest.mark.parametrize("restarts", [False, True])
def test_a_clock_that_is_set_back_over_midnight_and_forth_gives_nothing_twice(restarts: bool) -> None:
    budget = Budget(Limits(tokens_per_day=1000))
    made = []
    for now in (MIDNIGHT - 5, MIDNIGHT + 5, MIDNIGHT - 3, MIDNIGHT + 7, MIDNIGHT - 1, MIDNIGHT + 9):
        if restarts:
            kept, budget = budget.as_dict(), Budget(Limits(tokens_per_day=1000))
            budget.restore(now, kept)
        made.append(spend(budget, now))
    assert made == [True, True, False, False, False, False]


def test_a_clock_that_ran_ahead_by_a_year_leaves_no_trace() -> None:
    budget, usual = Budget(Limits(tokens_per_day=50_000)), Budget(Limits(tokens_per_day=50_000))
    budget.saw(365 * 24 * HOUR, 1.0)
    for one in (budget, usual):
        day(one, [50] * 24)
    assert day(budget, [50] * 24, start=MIDNIGHT) == day(usual, [50] * 24, start=MIDNIGHT)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 500)), max_size=60))
def test_when_nothing_is_under_way_nothing_is_set_aside(events: list[tuple[bool, float]]) -> None:
    budget = Budget(Limits(tokens_per_day=1e9))
    under_way, spent = 0, 0.0
    for begins, cost in events:
        if begins or not under_way:
            under_way += budget.reserve(0.0)
        else:
            under_way -= 1
            budget.settle({"tokens": cost} if cost > 20 else {})
            spent += cost if cost > 20 else 0
    for _ in range(under_way):
        budget.settle({})
    assert budget.used("tokens") == pytest.approx(spent)


def test_an_outage_does_not_make_calls_cheap() -> None:
    budget = Budget(Limits(tokens_per_day=10_000))
    spend(budget, 0.0, 1000)
    nobody = JudgedBy("llm", "m", "1")
    for _ in range(500):
        budget.reserve(0.0)
        budget.settle(costs_of(nobody))
    budget.reserve(0.0)
    assert budget.used("tokens") == 2000


def test_a_known_verdict_costs_nothing_and_a_rubric_beside_it_what_it_cost() -> None:
    assert costs_of(JudgedBy("llm", "m", "1", cached=True)) == {}
    both = JudgedBy("llm", "m", "1", calls=1, prompt_tokens=90, completion_tokens=10, cost_usd=0.5, cached=True)
    assert costs_of(both) == {"tokens": 100, "usd": 0.5}


@given(
    st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1), st.floats(0, 500)), max_size=60),
    st.floats(1, 100),
    st.floats(1, 10_000),
)
def test_the_share_is_a_probability_fixed_for_the_minute(
    events: list[tuple[float, float, float]], runs: float, tokens: float
) -> None:
    budget = Budget(Limits(runs_per_minute=runs, tokens_per_day=tokens))
    seen: dict[int, float] = {}
    for now, wanted, cost in sorted(events):
        share = budget.share(now)
        assert 0 <= share <= 1
        assert seen.setdefault(int(now // 60), share) == share or budget.blown(now)
        budget.saw(now, wanted)
        if budget.reserve(now):
            budget.settle({"tokens": cost})
