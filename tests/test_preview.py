"""What `check --rate` says: calls, tokens and price a day, and the interval that they buy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore import config as configuration
from otel_ctxscore.preview import CORRELATION, OPEN, SPREAD, Preview, preview, told

LLM = {"type": "litellm", "model": "openai/own", "prices": {"openai/own": {"input": 1, "output": 4}}}
DAY = 1440


def seen(judge: dict[str, Any], rate: float = 100, **sections: Any) -> Preview:
    return preview(configuration.parse({"judge": judge, **sections}), rate)


FULL = seen(LLM)
TOKENS = (FULL.prompt_tokens + FULL.completion_tokens) / FULL.calls


def half(runs: float, variance: float = 1.0) -> float:
    return 1.96 * SPREAD * math.sqrt(variance / runs)


def test_an_llm_judge_is_called_once_a_run() -> None:
    assert (FULL.runs, FULL.calls, FULL.let_through) == (100 * DAY, 100 * DAY, 1)
    assert FULL.usd == pytest.approx((FULL.prompt_tokens + 4 * FULL.completion_tokens) / 1e6)
    assert FULL.half_width_day == pytest.approx(half(100 * DAY))
    assert FULL.half_width_hour == pytest.approx(half(100 * 60))


def test_sampling_leaves_runs_out() -> None:
    assert seen(LLM, sampling={"rate": 0.1}).calls == pytest.approx(10 * DAY)


def test_sampled_costs_its_rate_and_its_interval_is_narrower_than_as_many_calls_alone_buy() -> None:
    sampled = seen({"type": "sampled", "llm": LLM, "rate": 0.05})
    assert sampled.calls == pytest.approx(5 * DAY)
    assert sampled.usd == pytest.approx((FULL.usd or 0) * 0.05)
    assert sampled.half_width_day == pytest.approx(half(100 * DAY, (1 - CORRELATION**2) / 0.05 + CORRELATION**2))
    assert half(100 * DAY) < sampled.half_width_day < half(5 * DAY)


def test_a_cascade_judges_what_is_open_and_a_share_of_the_rest() -> None:
    cascade = seen({"type": "cascade", "llm": LLM, "rate": 0.05})
    assert cascade.calls == pytest.approx(100 * DAY * (OPEN + (1 - OPEN) * 0.05))
    wider = seen({"type": "cascade", "llm": LLM, "rate": 0.05, "band": [0.0, 1.0]})
    assert wider.calls > cascade.calls > seen({"type": "cascade", "llm": LLM, "rate": 0.05, "band": [0.5, 0.5]}).calls
    assert wider.half_width_day < cascade.half_width_day


def test_the_whole_rate_is_a_full_judge() -> None:
    for judge in ({"type": "sampled", "llm": LLM, "rate": 1.0}, {"type": "cascade", "llm": LLM, "rate": 1.0}):
        assert seen(judge).calls == pytest.approx(FULL.calls)
        assert seen(judge).half_width_day == pytest.approx(FULL.half_width_day)


@pytest.mark.parametrize(
    ("budget", "calls"),
    [
        ({"runs_per_minute": 20}, 20 * DAY),
        ({"tokens_per_day": 1_000_000}, 1_000_000 / TOKENS),
        ({"usd_per_day": 1}, FULL.calls / (FULL.usd or math.nan)),
        ({"runs_per_minute": 500}, 100 * DAY),
        ({"runs_per_minute": 20, "tokens_per_day": 1_000_000}, 1_000_000 / TOKENS),
    ],
)
def test_a_budget_bounds_the_calls_and_widens_the_interval(budget: dict[str, float], calls: float) -> None:
    bounded = seen(LLM, budget=budget)
    assert bounded.calls == pytest.approx(calls)
    assert bounded.let_through == pytest.approx(calls / FULL.calls)
    assert bounded.half_width_day == pytest.approx(half(calls))


def test_a_budget_bounds_what_is_drawn() -> None:
    assert seen({"type": "sampled", "llm": LLM, "rate": 0.05}, budget={"runs_per_minute": 2}).calls == pytest.approx(
        2 * DAY
    )


def test_each_rubric_is_a_call_of_its_own_with_only_what_it_needs(tmp_path: Path) -> None:
    own = tmp_path / "tone.md"
    own.write_text("---\nname: tone\nneeds: [response]\n---\nJudge the tone.\n")
    both = seen(LLM, scorers={"rubrics": ["faithfulness", str(own)]})
    one = seen(LLM, scorers={"rubrics": ["faithfulness"]})
    assert (one.calls, both.calls) == (2 * FULL.calls, 3 * FULL.calls)
    faithfulness, tone = one.prompt_tokens - FULL.prompt_tokens, both.prompt_tokens - one.prompt_tokens
    assert 0 < tone < faithfulness / 2


def test_a_local_judge_costs_nothing_and_an_unknown_price_is_not_free() -> None:
    local = seen({"type": "local"})
    assert (local.calls, local.usd) == (0, 0)
    unknown = seen({"type": "litellm", "model": "openai/my-own"})
    assert unknown.usd is None
    assert any("unknown: set judge.prices" in line for line in told(unknown))


def test_a_rate_of_nothing_tells_so() -> None:
    lines = list(told(seen({"type": "sampled", "llm": LLM}, rate=0)))
    assert any("too few runs to tell" in line for line in lines)
    assert not any("inf" in line or "nan" in line for line in lines)


def test_what_is_assumed_is_said() -> None:
    said = list(told(seen({"type": "cascade", "llm": LLM})))[-1]
    assert f"a correlation of {CORRELATION}" in said
    assert f"{OPEN:.0%} of the runs with a context inside the band" in said
