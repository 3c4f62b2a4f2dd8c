"""How calls are made again: pauses, back-off, deadline, other models, a key that is refused."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from otel_ctxscore.completion import CompletionError, Fault
from otel_ctxscore.core.model import Judgement
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.judges.llm import LLMJudge, Options
from otel_ctxscore.ports import JudgeError
from tests.judges.completions import Script, ScriptedCompletion, agreeing, down, in_order, run_of, said
from tests.virtual_time import run

GOOD = said({"verdicts": [{"index": 0, "useful": True}]})


def busy(retry_after: float | None = None) -> CompletionError:
    return CompletionError(Fault.BUSY, "RateLimitError 429", retry_after)


async def all_judged(judge: LLMJudge, count: int, at_once: int = 8) -> list[Judgement | JudgeError]:
    """Runs judged by so many workers, as the pipeline does it."""
    results: list[Judgement | JudgeError] = []
    left = list(range(count))

    async def worker() -> None:
        while left:
            try:
                results.append(await judge.judge(run_of(f"context {left.pop()}")))
            except JudgeError as error:
                results.append(error)

    await asyncio.gather(*(worker() for _ in range(at_once)))
    return results


def reasons(results: Sequence[Judgement | JudgeError]) -> set[Reason]:
    return {result.reason for result in results if isinstance(result, JudgeError)}


def first_calls(count: int, error: CompletionError) -> Script:
    return in_order(*[error] * count, GOOD)


@pytest.mark.trouble("C19")
def test_a_stated_pause_is_kept_by_every_call() -> None:
    model = ScriptedCompletion(first_calls(5, busy(7)), latency=0.1)
    results = run(all_judged(LLMJudge([model]), 50))
    assert len(results) == 50
    assert not reasons(results)
    refused = [at + 0.1 for at in model.started[:5]]
    later = [at for at in model.started if at > max(refused)]
    assert min(later) >= max(refused) + 7
    assert len(model.started) == 8 - 5 + 50 - (8 - 5) + 5


@pytest.mark.trouble("C19")
def test_without_a_stated_pause_calls_back_off_further_each_time() -> None:
    model = ScriptedCompletion(first_calls(5, busy()))
    run(LLMJudge([model]).judge(run_of("a")))
    gaps = [b - a for a, b in zip(model.started, model.started[1:], strict=False)]
    bounds = [(0.25, 0.5), (0.5, 1), (1, 2), (2, 4), (4, 8)]
    assert all(low <= gap <= high for gap, (low, high) in zip(gaps, bounds, strict=True))


@pytest.mark.trouble("C19")
def test_a_pause_longer_than_the_deadline_ends_the_run_and_holds_the_others_no_longer_than_that() -> None:
    model = ScriptedCompletion(first_calls(1, busy(86_400)))

    async def two() -> float:
        judge = LLMJudge([model], Options(deadline=30))
        with pytest.raises(JudgeError) as error:
            await judge.judge(run_of("a"))
        assert error.value.reason is Reason.JUDGE_UNAVAILABLE
        await judge.judge(run_of("b"))
        return asyncio.get_running_loop().time()

    assert 30 <= run(two()) <= 31


@pytest.mark.parametrize("error", [busy(), down(), busy(2)])
def test_the_deadline_is_for_all_tries_together(error: CompletionError) -> None:
    model = ScriptedCompletion(in_order(error), latency=0.5)

    async def judged() -> float:
        with pytest.raises(JudgeError) as raised:
            await LLMJudge([model], Options(deadline=10)).judge(run_of("a"))
        assert raised.value.reason is Reason.JUDGE_UNAVAILABLE
        return asyncio.get_running_loop().time()

    assert run(judged()) <= 10
    assert len(model.started) >= 3


def test_a_call_that_hangs_leaves_time_for_another() -> None:
    model = ScriptedCompletion(latency=1000)
    judge = LLMJudge([model], Options(deadline=9))
    with pytest.raises(JudgeError):
        run(judge.judge(run_of("a")))
    assert len(model.started) == 2
    assert model.started[1] >= 6


@pytest.mark.parametrize("stated", [0.0, 0.001, 0.2])
def test_a_stated_pause_of_nothing_is_no_leave_to_hammer(stated: float) -> None:
    model = ScriptedCompletion(in_order(busy(stated)), latency=0.01)
    with pytest.raises(JudgeError):
        run(LLMJudge([model], Options(deadline=60)).judge(run_of("a")))
    assert len(model.started) < 12


@pytest.mark.parametrize("stated", [9.97, 10.0, float("inf")])
def test_no_call_is_made_that_could_only_be_cut_off(stated: float) -> None:
    model = ScriptedCompletion(in_order(busy(stated)))
    with pytest.raises(JudgeError) as error:
        run(LLMJudge([model], Options(deadline=10)).judge(run_of("a")))
    assert error.value.detail == "RateLimitError 429"
    assert len(model.started) == 1


def test_waiting_for_a_place_is_not_in_the_deadline() -> None:
    model = ScriptedCompletion(latency=4)
    results = run(all_judged(LLMJudge([model], Options(deadline=10, max_concurrency=1)), 20, at_once=20))
    assert not reasons(results)


def test_overload_lowers_the_number_of_calls_at_once() -> None:
    under_way = most = 0

    class Loaded(ScriptedCompletion):
        async def complete(self, question, seconds):  # type: ignore[no-untyped-def]
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way) if len(self.questions) > 300 else 0
            try:
                return await super().complete(question, seconds)
            finally:
                under_way -= 1

    model = Loaded(lambda call: busy() if under_way > 10 else agreeing(call), latency=1)
    results = run(all_judged(LLMJudge([model], Options(deadline=600)), 600, at_once=200))
    assert not reasons(results)
    assert 8 <= most <= 20


def test_a_refused_key_stops_the_judge_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedCompletion(in_order(CompletionError(Fault.UNAUTHORISED, "AuthenticationError 401")))
    judge = LLMJudge([model])
    with caplog.at_level(logging.INFO):
        results = run(all_judged(judge, 30, at_once=1))
    assert reasons(results) == {Reason.JUDGE_REJECTED}
    assert len(model.started) == 1
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert judge.trouble is not None
    assert "stopped" in judge.trouble


def test_a_key_that_was_put_right_is_found_out() -> None:
    model = ScriptedCompletion(in_order(CompletionError(Fault.UNAUTHORISED, "AuthenticationError 401"), GOOD))
    judge = LLMJudge([model])

    async def later() -> None:
        assert reasons(await all_judged(judge, 3, at_once=1)) == {Reason.JUDGE_REJECTED}
        await asyncio.sleep(301)
        assert not reasons(await all_judged(judge, 3, at_once=1))

    run(later())
    assert judge.trouble is None


def test_another_model_answers_where_the_first_cannot_and_signs_for_it() -> None:
    for error in (down(), busy(), CompletionError(Fault.REJECTED, "404"), CompletionError(Fault.UNAUTHORISED, "401")):
        first = ScriptedCompletion(in_order(error), model="openai/first")
        second = ScriptedCompletion(in_order(GOOD), model="openai/second")
        judge = LLMJudge([first, second])
        by = run(judge.judge(run_of("a"))).judged_by
        assert by is not None
        assert by.model == "openai/second"
        assert by.version != judge.version
        assert by.version == LLMJudge([second]).version
        assert len(first.started) <= 2


def test_another_model_is_not_asked_because_of_what_the_first_said() -> None:
    for said_first in (CompletionError(Fault.REFUSED, "content filter"), said("no JSON")):
        second = ScriptedCompletion(in_order(GOOD), model="openai/second")
        with pytest.raises(JudgeError):
            run(LLMJudge([ScriptedCompletion(in_order(said_first)), second]).judge(run_of("a")))
        assert not second.started
