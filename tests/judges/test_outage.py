"""Ten minutes without an answer: what is held, what is not, and that it ends by itself."""

import asyncio
import logging
from typing import Literal

import pytest

from otel_ctxscore.completion import Answer, CompletionError
from otel_ctxscore.core.model import JudgedBy, Judgement, Verdict
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.judges.llm import LLMJudge, Options
from otel_ctxscore.ports import ConfigError, JudgeError
from otel_ctxscore.testing import Call, ScriptedJudge
from tests.judges.completions import ScriptedCompletion, agreeing, down, run_of
from tests.judges.test_pace import all_judged, reasons
from tests.virtual_time import run

BEGIN, END = 20.0, 620.0


class Outage(ScriptedCompletion):
    """Answers in a second; from 20 s to 620 s every call fails at once, or hangs."""

    def __init__(self, *, hangs: bool = False, end: float = END, model: str = "openai/scripted") -> None:
        super().__init__(self._now_and_then, latency=1, model=model)
        self._hangs, self._end = hangs, end

    def _now_and_then(self, call: Call) -> Answer | CompletionError:
        out = BEGIN <= asyncio.get_running_loop().time() < self._end
        self.latency = 1000 if out and self._hangs else 1
        return down() if out else agreeing(call)

    def during(self) -> list[float]:
        return [at for at in self.started if BEGIN + 100 <= at < self._end]


def judge(model: ScriptedCompletion, on_outage: Literal["wait", "local", "skip"] = "wait", **more: object) -> LLMJudge:
    return LLMJudge([model], Options(on_outage=on_outage, max_concurrency=32, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("hangs", [False, True])
def test_everything_is_scored_afterwards(hangs: bool, caplog: pytest.LogCaptureFixture) -> None:
    model = Outage(hangs=hangs)
    held = judge(model)
    with caplog.at_level(logging.WARNING):
        results = run(all_judged(held, 800, at_once=48))
    assert len(results) == 800
    assert not reasons(results)
    assert len(model.during()) <= 20, "an outage is looked at now and then, not hammered"
    assert [("outage over" in r.message) for r in caplog.records] == [False, True]
    assert held.in_flight == 0
    assert held.trouble is None


def test_it_is_over_within_a_minute_of_the_first_chance() -> None:
    async def until_done() -> float:
        await all_judged(judge(Outage()), 700, at_once=64)
        return asyncio.get_running_loop().time()

    assert END < run(until_done()) < END + 100


def test_while_it_lasts_the_page_can_say_so() -> None:
    async def look() -> str | None:
        held = judge(Outage())
        task = asyncio.create_task(all_judged(held, 800, at_once=48))
        await asyncio.sleep(300)
        trouble = held.trouble
        await task
        return trouble

    assert run(look()) == "openai/scripted does not answer"


def test_waiting_has_an_end() -> None:
    results = run(all_judged(judge(Outage(end=1e9), outage_limit=300), 500, at_once=16))
    assert reasons(results) == {Reason.JUDGE_UNAVAILABLE}


def test_skip_leaves_runs_unscored_at_once_and_comes_back() -> None:
    async def skipping() -> tuple[set[Reason], set[Reason], int]:
        model = Outage()
        skips = judge(model, "skip")
        await asyncio.sleep(100)
        during = await all_judged(skips, 500, at_once=16)
        calls = len(model.started)
        await asyncio.sleep(700)
        return reasons(during), reasons(await all_judged(skips, 50, at_once=1)), calls

    during, after, calls = run(skipping())
    assert during == {Reason.JUDGE_UNAVAILABLE}
    assert after == set()
    assert calls < 40


def test_local_lets_the_local_judge_sign() -> None:
    by = JudgedBy("local", "lexical", "1")
    local = ScriptedJudge(lambda run: Judgement([Verdict(useful=0.7)], judged_by=by))

    async def during() -> list[Judgement | JudgeError]:
        model = Outage()
        with_local = LLMJudge([model], Options(on_outage="local"), local=local)
        await asyncio.sleep(100)
        return await all_judged(with_local, 200, at_once=16)

    results = run(during())
    assert not reasons(results)
    assert all(isinstance(result, Judgement) and result.judged_by == by for result in results)


def test_local_needs_a_local_judge() -> None:
    with pytest.raises(ConfigError, match="local"):
        judge(ScriptedCompletion(), "local")


def test_one_run_that_cannot_be_answered_holds_up_nothing() -> None:
    class Poisoned(ScriptedCompletion):
        async def complete(self, question, seconds):  # type: ignore[no-untyped-def]
            self.latency = 1000 if "poison" in str(question.messages) else 1
            return await super().complete(question, seconds)

    async def both() -> set[Reason]:
        held = LLMJudge([Poisoned()])
        poison = asyncio.create_task(held.judge(run_of("poison")))
        results = await all_judged(held, 200, at_once=4)
        with pytest.raises(JudgeError) as error:
            await poison
        assert error.value.reason is Reason.JUDGE_UNAVAILABLE
        return reasons(results)

    assert run(both()) == set()


def test_other_models_answer_during_an_outage_and_the_first_one_after_it() -> None:
    async def over_time() -> tuple[list[str], set[Reason]]:
        first, second = Outage(model="openai/first"), ScriptedCompletion(model="openai/second")
        both = LLMJudge([first, second])
        signed, failed = [], set()
        for pause in (0, 100, 700):
            await asyncio.sleep(pause)
            results = await all_judged(both, 50, at_once=8)
            failed |= reasons(results)
            signed.append({r.judged_by.model for r in results if isinstance(r, Judgement) and r.judged_by})
        return [" ".join(sorted(models)) for models in signed], failed

    signed, failed = run(over_time())
    assert signed[0] == "openai/first"
    assert signed[1] == "openai/second"
    assert "openai/first" in signed[2]
    assert not failed


def test_giving_up_a_probe_leaves_room_for_the_next_one() -> None:
    async def cancelled() -> set[Reason]:
        model = Outage(hangs=True, end=200)
        held = judge(model)
        await asyncio.sleep(BEGIN)
        tasks = [asyncio.create_task(held.judge(run_of(f"c{i}"))) for i in range(20)]
        await asyncio.sleep(85)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(200)
        return reasons(await all_judged(held, 20, at_once=1))

    assert run(cancelled()) == set()
