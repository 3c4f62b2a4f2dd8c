"""Which runs go to the LLM: a probability fixed before the draw, and a draw that keeps it."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.model import Judgement, RagRun, Verdict
from otel_ctxscore.judges.cascade import CascadeJudge
from otel_ctxscore.judges.drawing import Drawn, TwoJudges
from otel_ctxscore.judges.sampled import SampledJudge, uncertainty
from otel_ctxscore.testing import ScriptedJudge
from tests.judges.completions import run_of
from tests.virtual_time import run

pytestmark = pytest.mark.slow


def judgement(*chances: float) -> Judgement:
    return Judgement([Verdict(useful=p) for p in chances])


SURE, UNSURE = judgement(0.02, 0.01), judgement(0.5, 0.6)
LLM = ScriptedJudge(lambda run: judgement(1, 0), tier="llm")
Build = Callable[[ScriptedJudge], TwoJudges]


def traces(count: int, seed: int = 1) -> list[RagRun]:
    draw = random.Random(seed)
    return [replace(run_of("a", "b"), trace_id=draw.randbytes(16).hex()) for _ in range(count)]


def drawn(judges: TwoJudges, runs: list[RagRun], share: float = 1.0) -> list[Drawn]:
    async def all_of_them() -> list[Drawn]:
        return [await judges.draw(run, share=share) for run in runs]

    return run(all_of_them())


def is_unsure(one: Drawn) -> bool:
    return one.screened.verdicts == UNSURE.verdicts


def mixed() -> ScriptedJudge:
    """Sure of four runs in five."""
    return ScriptedJudge(lambda run: UNSURE if int(run.trace_id or "0", 16) % 5 == 0 else SURE, tier="local")


def sampled(local: ScriptedJudge) -> TwoJudges:
    return SampledJudge(local, LLM, rate=0.2, floor=0.25)


def cascade(local: ScriptedJudge) -> TwoJudges:
    return CascadeJudge(local, LLM, band=(0.2, 0.8), rate=0.1)


@pytest.mark.parametrize("build", [sampled, cascade])
def test_the_inverse_of_the_probability_speaks_for_all_runs(build: Build) -> None:
    runs = traces(20_000)
    found = drawn(build(mixed()), runs)
    weight = sum(1 / one.probability for one in found if one.judge is not None)
    unsure = sum(1 / one.probability for one in found if one.judge is not None and is_unsure(one))
    assert weight == pytest.approx(20_000, rel=0.05)
    assert unsure == pytest.approx(sum(is_unsure(one) for one in found), rel=0.08)
    assert unsure > 3_000
    assert all(0 < one.probability <= 1 for one in found)
    assert all(one.judge in (None, LLM) for one in found)


def test_sampled_draws_its_rate_in_the_mean_and_the_unsure_ones_more_often() -> None:
    found = drawn(sampled(mixed()), traces(20_000))
    late = found[5_000:]
    assert sum(one.probability for one in late) / len(late) == pytest.approx(0.2, rel=0.05)
    sure = min(one.probability for one in late if not is_unsure(one))
    unsure = max(one.probability for one in late if is_unsure(one))
    assert sure >= 0.05
    assert unsure > 2 * sure


def test_a_cascade_sends_every_open_run_and_a_share_of_the_others() -> None:
    found = drawn(cascade(mixed()), traces(2_000))
    assert {one.probability for one in found if is_unsure(one)} == {1.0}
    assert {one.probability for one in found if not is_unsure(one)} == {0.1}
    assert all(one.judge is LLM for one in found if is_unsure(one))


@pytest.mark.parametrize("build", [sampled, cascade])
def test_a_budget_is_a_share_that_is_in_the_probability(build: Build) -> None:
    runs = traces(20_000)
    found = drawn(build(mixed()), runs, share=0.5)
    weight = sum(1 / one.probability for one in found if one.judge is not None)
    assert weight == pytest.approx(20_000, rel=0.06)
    without = drawn(build(mixed()), runs)
    for limited, free in zip(found, without, strict=True):
        assert limited.probability == pytest.approx(free.probability / 2)
        assert (limited.judge is not None or limited.over_budget) == (free.judge is not None)


def test_an_empty_budget_draws_nothing_and_says_why() -> None:
    found = drawn(cascade(ScriptedJudge(lambda run: UNSURE)), traces(50), share=0.0)
    assert all(one.judge is None and one.over_budget for one in found)


def test_all_runs_of_a_trace_share_the_draw_and_a_replay_repeats_it() -> None:
    runs = traces(500)
    first = [one.judge is not None for one in drawn(cascade(ScriptedJudge(lambda run: SURE)), runs)]
    assert first == [one.judge is not None for one in drawn(cascade(ScriptedJudge(lambda run: SURE)), runs)]
    siblings = [replace(run, query="another turn") for run in runs]
    assert first == [one.judge is not None for one in drawn(cascade(ScriptedJudge(lambda run: SURE)), siblings)]
    assert any(first)


def test_another_salt_draws_others() -> None:
    runs = traces(500)

    def chosen(salt: str) -> list[bool]:
        judges = CascadeJudge(ScriptedJudge(lambda run: SURE), LLM, rate=0.3, salt=salt)
        return [one.judge is not None for one in drawn(judges, runs)]

    assert chosen("a") != chosen("b")


def test_runs_without_a_trace_are_drawn_by_their_content() -> None:
    runs = [run_of(f"context {n}") for n in range(2_000)]
    found = drawn(CascadeJudge(ScriptedJudge(lambda run: SURE), LLM, rate=0.3), runs)
    assert sum(one.judge is not None for one in found) == pytest.approx(600, rel=0.15)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_uncertainty_is_none_where_all_is_said_and_most_at_one_half(chances: list[float]) -> None:
    assert 0 <= uncertainty(judgement(*chances)) <= 0.5 + 1e-12
    assert uncertainty(judgement(*(round(p) for p in chances))) == 0
    assert uncertainty(judgement(*(0.5 for _ in chances))) == pytest.approx(0.5)


def test_a_judge_that_gives_no_probability_leaves_everything_open() -> None:
    assert uncertainty(Judgement([Verdict(relevance="high")])) == 0.5
