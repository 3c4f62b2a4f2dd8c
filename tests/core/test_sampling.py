from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.model import RagRun
from otel_ctxscore.core.sampling import Match, Rule, Sampler, seed_of, uniform, upstream_probability

IDS = [hashlib.sha256(f"t{n}".encode()).digest()[:16] for n in range(10_000)]
RUN = RagRun("q", [], service="shop", attributes={"http.route": "/ask", "tier": "gold", "n": 3}, end_ns=2_500_000_000)


def test_the_sets_of_smaller_rates_lie_inside_those_of_greater_ones() -> None:
    kept = {rate: {i for i in IDS if Sampler(rate).keeps(i)} for rate in (0.0, 0.1, 0.25, 1.0)}
    assert not kept[0.0]
    assert kept[1.0] == set(IDS)
    assert kept[0.1] < kept[0.25]
    assert 2300 <= len(kept[0.25]) <= 2700


@pytest.mark.parametrize("make", [lambda n: n.to_bytes(16), lambda n: n.to_bytes(16, "little")])
def test_ids_that_differ_in_few_bits_are_sampled_at_the_same_rate(make: object) -> None:
    assert callable(make)
    assert 900 <= sum(Sampler(0.1).keeps(make(n)) for n in range(10_000)) <= 1100


@pytest.mark.trouble("C38")
def test_the_decision_is_the_same_in_every_process() -> None:
    assert [n for n, i in enumerate(IDS[:40]) if Sampler(0.1).keeps(i)] == [10, 18, 20]
    assert {n for n, i in enumerate(IDS) if Sampler(0.1, salt="b").keeps(i)} != {
        n for n, i in enumerate(IDS) if Sampler(0.1).keeps(i)
    }


def test_another_purpose_has_independent_numbers() -> None:
    budget = seed_of("", "budget")
    kept = [i for i in IDS if Sampler(0.1).keeps(i)]
    assert 0.4 < sum(uniform(i, budget) < 0.5 for i in kept) / len(kept) < 0.6


@given(st.binary(min_size=16, max_size=16), st.lists(st.floats(0, 1), max_size=4), st.floats(0, 1))
def test_what_a_rule_admits_was_kept_before(trace_id: bytes, rates: list[float], base: float) -> None:
    sampler = Sampler(base, [Rule(str(n), Match(), rate) for n, rate in enumerate(rates)])
    for rate in (*rates, base):
        assert not sampler.admits(trace_id, rate) or sampler.keeps(trace_id)


@pytest.mark.parametrize(
    ("match", "holds"),
    [
        (Match(), True),
        (Match(service="shop"), True),
        (Match(service="other"), False),
        (Match(route="/ask"), True),
        (Match(route="/tell"), False),
        (Match(attributes={"tier": "gold", "n": "3"}), True),
        (Match(attributes={"tier": "gold", "absent": "x"}), False),
        (Match(status="error"), False),
        (Match(status="ok"), True),
        (Match(min_duration=2.5), True),
        (Match(min_duration=2.6), False),
        (Match(feedback="negative"), False),
    ],
)
def test_all_given_conditions_must_hold(match: Match, holds: bool) -> None:
    assert match.holds(RUN) is holds


@pytest.mark.parametrize(
    ("value", "negative"),
    [("thumbs_down", True), (-1, True), (False, True), ("great", False), (1, False), (True, False)],
)
def test_negative_feedback(value: str | int | bool, negative: bool) -> None:
    run = replace(RUN, attributes={"user.feedback": value})
    assert Match(feedback="negative").holds(run) is negative


def test_the_first_matching_rule_gives_the_rate() -> None:
    rules = [Rule("errors", Match(status="error"), 1.0), Rule("shop", Match(service="shop"), 0.5)]
    sampler = Sampler(0.1, rules)
    assert sampler.head == 1.0
    assert [sampler.probability(r) for r in (replace(RUN, error=True), RUN, replace(RUN, service="x"))] == [1, 0.5, 0.1]


@pytest.mark.parametrize(
    ("state", "share"),
    [
        ("", 1.0),
        ("ot=th:0", 1.0),
        ("ot=th:8", 0.5),
        ("ot=th:c", 0.25),
        ("vendor=1,ot=rv:12345678901234;th:fd70a4", 0.01),
        ("ot=th:zz", 1.0),
        ("ot=th:123456789012345", 1.0),
        ("other=th:8", 1.0),
    ],
)
def test_upstream_thinning_is_read_from_tracestate(state: str, share: float) -> None:
    assert upstream_probability(state) == pytest.approx(share, rel=1e-4)
