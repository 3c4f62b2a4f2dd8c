"""The judge's own conduct around a call: what it asks, asks again, counts and gives up."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from otel_ctxscore.completion import Answer, CompletionError, Fault
from otel_ctxscore.core.model import Context, JudgedBy, Judgement, RagRun, Retrieval
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.judges.llm import LLMJudge, Options, answered
from otel_ctxscore.judges.prices import Price
from otel_ctxscore.ports import Judge, JudgeError
from otel_ctxscore.testing import Call, verdicts
from tests.judges.completions import TWO, ScriptedCompletion, agreeing, down, in_order, run_of, said
from tests.virtual_time import run

GOOD = said(verdicts([True, False]))
ONE_SHORT = said(verdicts([True]))
CUT = said('{"verdicts": [{"ind', finish_reason="length")


def useful(judgement: Judgement) -> list[bool | None]:
    return [verdict.is_useful for verdict in judgement.verdicts]


def failure(judge: LLMJudge, asked: RagRun | None = None) -> JudgeError:
    with pytest.raises(JudgeError) as error:
        run(judge.judge(asked or run_of(*TWO)))
    return error.value


def test_it_is_a_judge_that_fills_everything() -> None:
    judge = LLMJudge([ScriptedCompletion()])
    assert isinstance(judge, Judge)
    assert (judge.tier, judge.model) == ("llm", "openai/scripted")
    assert judge.fills == {"useful", "relevance", "used", "missing"}


def test_one_call_a_run() -> None:
    model = ScriptedCompletion(in_order(GOOD), latency=1.5)
    judge = LLMJudge([model], Options(prices={"openai/scripted": Price(1, 10)}))
    judgement = run(judge.judge(run_of(*TWO)))
    by = judgement.judged_by
    assert by is not None
    assert useful(judgement) == [True, False]
    assert (by.tier, by.model, by.version) == (judge.tier, judge.model, judge.version)
    assert (by.calls, by.prompt_tokens, by.completion_tokens) == (1, 900, 90)
    assert by.seconds == pytest.approx(1.5)
    assert by.cost_usd == pytest.approx((900 * 1 + 90 * 10) / 1e6)
    assert (by.repaired, by.cached, by.cut_contexts) == (False, False, 0)


def test_a_wrong_reply_is_asked_for_again_once_with_what_was_wrong() -> None:
    model = ScriptedCompletion(in_order(ONE_SHORT, GOOD))
    judgement = run(LLMJudge([model]).judge(run_of(*TWO)))
    assert useful(judgement) == [True, False]
    assert judgement.judged_by is not None
    assert (judgement.judged_by.repaired, judgement.judged_by.calls) == (True, 2)
    assert "0 to 1, each exactly once; they were 0" in model.calls[1].outside


@pytest.mark.parametrize(
    ("replies", "reason", "calls"),
    [
        ([ONE_SHORT], Reason.JUDGE_INCOMPLETE, 2),
        ([said("")], Reason.JUDGE_UNREADABLE, 2),
        ([Answer()], Reason.JUDGE_UNREADABLE, 2),
        ([said("Both are fine.")], Reason.JUDGE_UNREADABLE, 2),
        ([CUT], Reason.JUDGE_TRUNCATED, 2),
        ([Answer(finish_reason="length")], Reason.JUDGE_TRUNCATED, 2),
        ([CUT, ONE_SHORT], Reason.JUDGE_INCOMPLETE, 3),
        ([ONE_SHORT, CUT], Reason.JUDGE_TRUNCATED, 3),
        ([said("I'm sorry, but I can't help with that.")], Reason.JUDGE_REFUSED, 2),
        ([said("", refusal="I will not.")], Reason.JUDGE_REFUSED, 1),
        ([said("", finish_reason="content_filter")], Reason.JUDGE_REFUSED, 1),
        ([CompletionError(Fault.REFUSED, "content filter")], Reason.JUDGE_REFUSED, 1),
        ([CompletionError(Fault.REJECTED, "unknown model")], Reason.JUDGE_REJECTED, 1),
        ([CompletionError(Fault.UNAUTHORISED, "bad key")], Reason.JUDGE_REJECTED, 1),
    ],
)
def test_what_stays_wrong_is_an_error_with_its_reason(replies: list[Any], reason: Reason, calls: int) -> None:
    model = ScriptedCompletion(in_order(*replies))
    error = failure(LLMJudge([model]))
    assert error.reason is reason
    assert len(model.questions) == calls
    assert error.judged_by is not None
    assert error.judged_by.calls == sum(isinstance(reply, Answer) for reply in (replies * calls)[:calls])


def test_a_cut_reply_gets_a_larger_limit_and_later_runs_begin_with_it() -> None:
    model = ScriptedCompletion(lambda call: GOOD if call.body["max_tokens"] > 2000 else CUT)
    judge = LLMJudge([model])

    async def two_runs() -> None:
        for _ in range(2):
            assert useful(await judge.judge(run_of(*TWO))) == [True, False]

    run(two_runs())
    assert len(model.questions) == 3


def test_a_complete_answer_of_a_reply_that_was_cut_off_does_not_count() -> None:
    cut = said(verdicts([False, True]), finish_reason="length")
    assert useful(run(LLMJudge([ScriptedCompletion(in_order(cut, GOOD))]).judge(run_of(*TWO)))) == [True, False]


def test_the_length_of_a_reply_is_bounded_by_the_number_of_contexts() -> None:
    model = ScriptedCompletion()
    judge = LLMJudge([model])
    for count in (1, 10):
        run(judge.judge(run_of(*(f"c{i}" for i in range(count)))))
    first, second = (question.max_tokens for question in model.questions)
    assert 300 < first < second < 2500


def test_an_answer_in_the_reasoning_channel_is_read_where_there_is_no_other() -> None:
    thought = Answer(reasoning=json.dumps(verdicts([False, True])), finish_reason="stop")
    assert useful(run(LLMJudge([ScriptedCompletion(in_order(thought))]).judge(run_of(*TWO)))) == [False, True]
    both = said(verdicts([True, False]), reasoning=json.dumps(verdicts([False, True])))
    assert useful(run(LLMJudge([ScriptedCompletion(in_order(both))]).judge(run_of(*TWO)))) == [True, False]


def test_a_field_that_no_verdict_holds_costs_no_repair() -> None:
    model = ScriptedCompletion(in_order(said([{"index": 0, "useful": 1}, {"index": 1, "useful": 0}])))
    judgement = run(LLMJudge([model]).judge(run_of(*TWO)))
    assert len(model.questions) == 1
    assert judgement.missing is None
    assert judgement.verdicts[0].relevance is None


def test_a_run_that_nothing_can_score_reaches_no_model() -> None:
    model = ScriptedCompletion()
    assert failure(LLMJudge([model]), RagRun("q", [Retrieval([])])).reason is Reason.NO_CONTEXTS
    assert failure(LLMJudge([model]), RagRun(" ", [Retrieval([Context("a")])])).reason is Reason.NO_QUERY
    assert not model.questions


def test_tokens_that_are_not_stated_are_estimated_and_cost_what_so_many_cost() -> None:
    answer = said(verdicts([True, False]), prompt_tokens=None, completion_tokens=None)
    judge = LLMJudge([ScriptedCompletion(in_order(answer))], Options(prices={"openai/scripted": Price(1, 10)}))
    by = run(judge.judge(run_of(*TWO))).judged_by
    assert by is not None
    assert by.prompt_tokens > 300
    assert by.completion_tokens > 20
    assert by.cost_usd == pytest.approx((by.prompt_tokens + by.completion_tokens * 10) / 1e6)


def test_an_unknown_price_is_never_zero() -> None:
    by = run(LLMJudge([ScriptedCompletion(in_order(GOOD))]).judge(run_of(*TWO))).judged_by
    assert by is not None
    assert by.cost_usd is None


def test_a_hundred_contexts_are_one_call() -> None:
    model = ScriptedCompletion(lambda call: said(verdicts([True] * len(call.contexts))))
    assert useful(run(LLMJudge([model]).judge(run_of(*(f"context {i}" for i in range(100)))))) == [True] * 100
    assert len(model.questions) == 1


def test_a_model_of_short_replies_is_asked_about_fewer_at_once() -> None:
    model = ScriptedCompletion(lambda call: said(verdicts([True] * len(call.contexts))))
    model.output_limit = 4096
    assert useful(run(LLMJudge([model]).judge(run_of(*(f"context {i}" for i in range(70)))))) == [True] * 70
    assert [len(call.contexts) for call in model.calls] == [30, 30, 10]


def test_too_many_contexts_are_judged_in_several_calls_that_agree_on_what_is_missing() -> None:
    def script(call: Call) -> Answer:
        still = json.loads(dict(call.quoted).get("missing so far", '["date", "place"]'))
        holds = " ".join(call.contexts)
        return said(verdicts(["7" in text for text in call.contexts], missing=[m for m in still if m not in holds]))

    model = ScriptedCompletion(script)
    texts = [f"context {i}" + (" date" if i == 60 else "") for i in range(300)]
    judgement = run(LLMJudge([model]).judge(run_of(*texts)))
    assert useful(judgement) == ["7" in text for text in texts]
    assert judgement.missing == ("place",)
    assert judgement.judged_by is not None
    assert judgement.judged_by.calls == len(model.questions) == 3


def test_what_one_portion_does_not_say_is_not_said_by_the_whole() -> None:
    silent = said([{"index": i, "useful": True} for i in range(130)])
    model = ScriptedCompletion(lambda call: silent if len(call.contexts) == 130 else agreeing(call))
    assert run(LLMJudge([model]).judge(run_of(*(f"c{i}" for i in range(135))))).missing is None


def test_cut_contexts_are_counted() -> None:
    options = Options(prompt_tokens=1000)
    judgement = run(LLMJudge([ScriptedCompletion()], options).judge(run_of("a", "b " * 5000, "c " * 5000)))
    assert judgement.judged_by is not None
    assert judgement.judged_by.cut_contexts == 2


def test_a_model_with_a_small_window_is_shown_less() -> None:
    model = ScriptedCompletion()
    model.input_limit = 2000
    by = run(LLMJudge([model]).judge(run_of("b " * 5000))).judged_by
    assert by is not None
    assert by.cut_contexts == 1


def test_nothing_leaves_unredacted() -> None:
    model = ScriptedCompletion()
    asked = RagRun("of 1234?", [Retrieval([Context("pin 1234")])], "1234", [("user", "mine is 1234")])
    run(LLMJudge([model], Options(redact=[r"\d{4}"])).judge(asked))
    assert "1234" not in "".join(text for _, text in model.calls[0].quoted)
    assert model.calls[0].contexts == ["pin [redacted]"]


@pytest.mark.parametrize(
    "options",
    [
        Options(criterion="names a port"),
        Options(history=0),
        Options(redact=["x"]),
        Options(params={"top_p": 0.1}),
        Options(prompt_tokens=5000),
    ],
)
def test_whatever_changes_a_verdict_changes_the_version(options: Options) -> None:
    usual = LLMJudge([ScriptedCompletion()])
    assert LLMJudge([ScriptedCompletion()], options).version != usual.version
    assert LLMJudge([ScriptedCompletion()], Options(deadline=1)).version == usual.version
    assert LLMJudge([ScriptedCompletion(model="openai/other")]).version != usual.version


def test_the_criterion_is_in_the_prompt_and_in_the_provenance() -> None:
    model = ScriptedCompletion()
    judgement = run(LLMJudge([model], Options(criterion="It names a port.")).judge(run_of("a")))
    assert "It names a port." in model.calls[0].outside
    assert judgement.judged_by is not None
    assert judgement.judged_by.criterion == "It names a port."


@pytest.mark.parametrize(
    "params",
    [{"api_key": "new"}, {"aws_secret_access_key": "new"}, {"extra_headers": {"Authorization": "Bearer new"}}],
)
def test_a_key_that_is_rotated_begins_no_new_series(params: dict[str, Any]) -> None:
    rotated = json.loads(json.dumps(params).replace("new", "old"))
    versions = {LLMJudge([ScriptedCompletion()], Options(params=one)).version for one in (params, rotated)}
    assert len(versions) == 1


class Known:
    """A cache of verdicts."""

    def __init__(self) -> None:
        self.kept: dict[str, Judgement] = {}

    async def get(self, key: str) -> Judgement | None:
        return self.kept.get(key)

    async def put(self, key: str, judgement: Judgement) -> None:
        self.kept[key] = judgement


def test_a_known_verdict_is_not_paid_for_again() -> None:
    model = ScriptedCompletion()
    cache = Known()
    judge = LLMJudge([model], cache=cache)

    async def again() -> list[Judgement]:
        asked = [run_of("a"), run_of("a"), run_of("a", response="r"), run_of("b")]
        return [await judge.judge(run) for run in asked]

    first, second, *_ = run(again())
    assert len(model.questions) == 3
    assert (first.verdicts, first.missing) == (second.verdicts, second.missing)
    assert second.judged_by is not None
    assert (second.judged_by.cached, second.judged_by.calls, second.judged_by.cost_usd) == (True, 0, 0.0)
    assert second.judged_by.version == judge.version


def test_another_version_does_not_find_the_verdict() -> None:
    cache = Known()
    run(LLMJudge([ScriptedCompletion()], cache=cache).judge(run_of("a")))
    model = ScriptedCompletion()
    run(LLMJudge([model], Options(criterion="other"), cache=cache).judge(run_of("a")))
    assert len(model.questions) == 1


def test_failures_are_not_cached() -> None:
    model = ScriptedCompletion(in_order(ONE_SHORT, ONE_SHORT, GOOD))
    judge = LLMJudge([model], cache=Known())
    failure(judge)
    assert useful(run(judge.judge(run_of(*TWO)))) == [True, False]


def test_a_rubric_asks_a_question_of_its_own_with_the_same_care() -> None:
    model = ScriptedCompletion(in_order(down(), said('{"label":"a"}{"label":"b"}'), said('So: {"label": "a"}')))
    judge = LLMJudge([model])
    schema = {"type": "object", "properties": {"label": {"type": "string"}}}
    text, by = run(judge.ask(instructions="Label it.", run=run_of(*TWO, response="7443"), schema=schema))
    assert json.loads(text) == {"label": "a"}
    assert (by.calls, by.repaired, by.model) == (2, True, "openai/scripted")
    call = model.calls[-1]
    assert (call.contexts, call.response) == (list(TWO), "7443")
    assert "Label it." in call.outside
    assert "7443" not in call.outside


def test_an_unclear_rubric_is_an_error() -> None:
    judge = LLMJudge([ScriptedCompletion(in_order(said('{"label":"a"}{"label":"b"}')))])
    with pytest.raises(JudgeError) as error:
        run(judge.ask(instructions="Label it.", run=run_of("a"), schema={"properties": {"label": {}}}))
    assert error.value.reason is Reason.JUDGE_UNREADABLE


def test_a_run_that_is_given_up_leaves_nothing_behind() -> None:
    judge = LLMJudge([ScriptedCompletion(latency=5)])

    async def give_up() -> None:
        task = asyncio.create_task(judge.judge(run_of("a")))
        await asyncio.sleep(1)
        assert judge.in_flight == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(give_up())
    assert judge.in_flight == 0


@pytest.mark.parametrize(
    ("asked", "said", "name"),
    [
        ("openai/gpt-x", "", "openai/gpt-x"),
        ("openai/gpt-x", "gpt-x", "openai/gpt-x"),
        ("openai/gpt-x", "gpt-x-2026-01-01", "openai/gpt-x-2026-01-01"),
        ("openai/gpt-x", "openai/gpt-x-2026-01-01", "openai/gpt-x-2026-01-01"),
        ("openrouter/openai/gpt-x", "openai/gpt-x", "openrouter/openai/gpt-x"),
        ("gpt-x", "gpt-y", "gpt-y"),
    ],
)
def test_the_model_that_really_answered_is_named(asked: str, said: str, name: str) -> None:
    assert answered(asked, said) == name


def test_a_provider_of_a_thousand_names_gets_no_more_than_a_hundred_versions() -> None:
    names = iter(range(1000))
    model = ScriptedCompletion(lambda call: replace(agreeing(call), model=f"m{next(names)}"), model="openai/m")
    judge = LLMJudge([model])

    async def signed() -> set[tuple[str, str]]:
        by = [(await judge.judge(run_of(f"c{i}"))).judged_by for i in range(200)]
        return {(one.model, one.version) for one in by if one is not None}

    found = run(signed())
    assert len(found) == 100
    assert "openai/m (other)" in dict(found)


def test_what_one_model_said_names_no_other() -> None:
    first = ScriptedCompletion(in_order(replace(ONE_SHORT, model="first-dated"), down()), model="openai/first")
    second = ScriptedCompletion(in_order(GOOD), model="openai/second")
    by = run(LLMJudge([first, second]).judge(run_of(*TWO))).judged_by
    assert by is not None
    assert by.model == "openai/second"


def test_an_alias_that_moves_is_another_version() -> None:
    def judged(said: str) -> JudgedBy:
        model = ScriptedCompletion(in_order(replace(GOOD, model=said)), model="openai/gpt-x")
        by = run(LLMJudge([model], Options()).judge(run_of(*TWO))).judged_by
        assert by is not None
        return by

    plain, dated = judged("gpt-x"), judged("gpt-x-2026-01-01")
    assert (plain.model, dated.model) == ("openai/gpt-x", "openai/gpt-x-2026-01-01")
    assert plain.version != dated.version
    assert dated.version == judged("gpt-x-2026-01-01").version
