"""The real litellm against the scripted server over real HTTP: every way a provider can answer or not.

These tests share one import of litellm, which takes seconds.
"""

import asyncio
import gc
import json
import logging
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from otel_ctxscore.completion import CompletionError, Question
from otel_ctxscore.core.model import Context, Judgement, RagRun, Retrieval
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.io.litellm import LiteLLMCompletion
from otel_ctxscore.litellm_judge import LiteLLMJudge
from otel_ctxscore.ports import ConfigError, JudgeError
from otel_ctxscore.testing import Call, Reply, ScriptedJudgeServer, verdicts
from otel_ctxscore.testing.judge_server import Answer

pytestmark = [
    pytest.mark.slow,  # importing litellm takes seconds
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # as the completion has it, for a whole process
]
MODEL = "openai/my-own-7b"
GOOD = verdicts([True, False])
TEXT = json.dumps(GOOD)
RUN = RagRun(
    "Which port?", [Retrieval([Context("The ledger is on 7443."), Context("The canteen opens at noon.")])], "7443"
)
KEY = "sk-CANARY-0001"


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """The first call loads parts of litellm, which takes longer than some deadlines here."""
    with ScriptedJudgeServer(replies=[GOOD]) as server:
        asyncio.run(judge_at(server).judge(RUN))


def judge_at(server: ScriptedJudgeServer, **options: Any) -> LiteLLMJudge:
    return LiteLLMJudge(**{"model": MODEL, "api_base": server.url, "api_key": KEY, "deadline": 30, **options})


async def outcome(replies: Sequence[Answer], **options: Any) -> tuple[list[bool | None] | Reason, int]:
    """What came of a run, and how often the server was asked."""
    with ScriptedJudgeServer(replies=replies) as server:
        try:
            judgement = await judge_at(server, **options).judge(RUN)
        except JudgeError as error:
            return error.reason, len(server.calls)
        return [verdict.is_useful for verdict in judgement.verdicts], len(server.calls)


USEFUL = [True, False]
ERROR = {"message": f"refused for {KEY}"}
FAULTS: dict[str, tuple[list[Answer], list[bool] | Reason, int]] = {
    "good": ([GOOD], USEFUL, 1),
    "fenced": ([f"```json\n{TEXT}\n```"], USEFUL, 1),
    "wrong index set": ([verdicts([True]), GOOD], USEFUL, 2),
    "wrong index set twice": ([verdicts([True])], Reason.JUDGE_INCOMPLETE, 2),
    "429 with Retry-After": ([Reply(status=429, headers={"Retry-After": "1"}), GOOD], USEFUL, 2),
    "429 and a day": ([Reply(status=429, headers={"Retry-After": "86400"})], Reason.JUDGE_UNAVAILABLE, 1),
    "500": ([Reply(status=500), GOOD], USEFUL, 2),
    "503": ([Reply(status=503), GOOD], USEFUL, 2),
    "529": ([Reply(status=529), GOOD], USEFUL, 2),
    "reset": ([Reply(reset=True), GOOD], USEFUL, 2),
    "no body": ([Reply(raw=b""), GOOD], USEFUL, 2),
    "a page": ([Reply(raw=b"<html>busy</html>"), GOOD], USEFUL, 2),
    "no choices": ([Reply(raw=b'{"choices": []}')], Reason.JUDGE_UNREADABLE, 2),
    "empty": ([Reply(content="")], Reason.JUDGE_UNREADABLE, 2),
    "null": ([Reply(content=None)], Reason.JUDGE_UNREADABLE, 2),
    "cut off": ([Reply(content=TEXT[:30], finish_reason="length"), GOOD], USEFUL, 2),
    "cut off twice": ([Reply(content=None, finish_reason="length")], Reason.JUDGE_TRUNCATED, 2),
    "reasoning channel": ([Reply(content="", reasoning=TEXT)], USEFUL, 1),
    "tool call": ([Reply(content=GOOD, as_tool_call=True, finish_reason="tool_calls")], USEFUL, 1),
    "refusal": (["I'm sorry, but I can't help with that."], Reason.JUDGE_REFUSED, 2),
    "refusal field": ([Reply(refusal="I will not.")], Reason.JUDGE_REFUSED, 1),
    "filtered": ([Reply(content="", finish_reason="content_filter")], Reason.JUDGE_REFUSED, 1),
    "400 filter": ([Reply(status=400, content={"code": "content_filter", **ERROR})], Reason.JUDGE_REFUSED, 1),
    "400": ([Reply(status=400, content=ERROR)], Reason.JUDGE_REJECTED, 1),
    "400 too long": (
        [Reply(status=400, content={"code": "context_length_exceeded", "message": "maximum context length is 9"})],
        Reason.JUDGE_REJECTED,
        1,
    ),
    "401": ([Reply(status=401, content=ERROR)], Reason.JUDGE_REJECTED, 1),
    "402": ([Reply(status=402, content=ERROR)], Reason.JUDGE_REJECTED, 1),
    "403": ([Reply(status=403, content=ERROR)], Reason.JUDGE_REJECTED, 1),
    "404": ([Reply(status=404, content=ERROR)], Reason.JUDGE_REJECTED, 1),
    "413": ([Reply(status=413, content=ERROR)], Reason.JUDGE_REJECTED, 1),
    "422": ([Reply(status=422, content=ERROR)], Reason.JUDGE_REJECTED, 1),
    "409": ([Reply(status=409, content=ERROR), GOOD], USEFUL, 2),
    "425": ([Reply(status=425, content=ERROR), GOOD], USEFUL, 2),
    "501": ([Reply(status=501, content=ERROR)], Reason.JUDGE_REJECTED, 1),
    "304": ([Reply(status=304, raw=b"")], Reason.JUDGE_REJECTED, 1),
    "429 and no credit": ([Reply(status=429, content={"code": "insufficient_quota"})], Reason.JUDGE_REJECTED, 1),
    "200 with an error": ([Reply(raw=b'{"error": {"message": "slow down", "code": 429}}'), GOOD], USEFUL, 2),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_every_answer_of_a_provider_has_its_outcome(name: str) -> None:
    replies, expected, calls = FAULTS[name]
    assert await outcome(replies) == (expected, calls)


def completion(message: object, **more: object) -> Reply:
    """A body as the protocol has it, with any message."""
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "my-own-7b", "choices": [choice], **more}
    return Reply(raw=json.dumps(body).encode())


def called(*arguments: object, content: str | None = None) -> Reply:
    """Calls with these arguments."""
    calls = [{"id": "c", "type": "function", "function": {"name": "judgement", "arguments": one}} for one in arguments]
    return completion({"role": "assistant", "content": content, "tool_calls": calls})


OTHER = json.dumps(verdicts([False, True]))
WHOLE = {"role": "assistant", "content": TEXT}
BODIES: dict[str, tuple[Reply, list[bool] | Reason]] = {
    "arguments as an object": (called(GOOD), USEFUL),
    "arguments twice": (called(TEXT, TEXT), USEFUL),
    "arguments in the second call": (called("{}", TEXT), USEFUL),
    "no arguments": (called(None, content=TEXT), USEFUL),
    "empty arguments": (called("{}", content=TEXT), USEFUL),
    "arguments that differ": (called(TEXT, OTHER), Reason.JUDGE_UNREADABLE),
    "half of the arguments": (called(TEXT[:40]), Reason.JUDGE_TRUNCATED),
    "the older form of a call": (completion({"content": None, "function_call": {"name": "j", "arguments": TEXT}}), USEFUL),
    "a call without a function": (completion({"content": TEXT, "tool_calls": [{"id": "c", "function": None}]}), Reason.JUDGE_UNREADABLE),
    "content and reasoning": (completion({"content": TEXT, "reasoning_content": OTHER}), USEFUL),
    "content in parts": (completion({"content": [{"type": "text", "text": TEXT}]}), Reason.JUDGE_UNREADABLE),
    "no message": (completion(None), Reason.JUDGE_UNREADABLE),
    "choices that are none": (completion({}, choices=None), Reason.JUDGE_UNREADABLE),
    "a stream's choice": (completion({}, choices=[{"index": 0, "delta": WHOLE}]), Reason.JUDGE_UNREADABLE),
    "a list": (Reply(raw=b"[]"), Reason.JUDGE_UNREADABLE),
    "null": (Reply(raw=b"null"), Reason.JUDGE_UNREADABLE),
    "an unknown end": (completion({}, choices=[{"index": 0, "message": WHOLE, "finish_reason": "abort"}]), USEFUL),
    "no end": (completion({}, choices=[{"index": 0, "message": WHOLE, "finish_reason": None}]), USEFUL),
    "a name of a model that is none": (completion(WHOLE, model="m\n{x}" * 2000), USEFUL),
    "twenty megabytes": (completion({"content": TEXT + " " * 20_000_000}), Reason.JUDGE_UNREADABLE),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
async def test_a_body_is_read_or_it_is_no_answer_and_no_outage(name: str) -> None:
    reply, expected = BODIES[name]
    found, calls = await outcome([reply])
    assert found == expected
    assert calls == (1 if isinstance(expected, list) else 2)


@pytest.mark.parametrize(
    ("usage", "stated"),
    [
        ((1000, 100), True),
        (None, False),
        ((-5, -7), False),
        ((0, 0), False),
        ((10**30, 10**30), False),
    ],
)
async def test_tokens_are_as_stated_or_estimated_and_never_less_than_nothing(
    usage: tuple[int, int] | None, stated: bool
) -> None:
    with ScriptedJudgeServer(replies=[Reply(content=GOOD, usage=usage)]) as server:
        by = (await judge_at(server, prices={MODEL: {"input": 1, "output": 10}}).judge(RUN)).judged_by
    assert by is not None
    assert ((by.prompt_tokens, by.completion_tokens) == (1000, 100)) is stated
    assert 0 < by.tokens < 10_000
    assert by.cost_usd == pytest.approx((by.prompt_tokens + 10 * by.completion_tokens) / 1e6)


@pytest.mark.parametrize(
    "reply", [Reply(content=GOOD, delay=60), Reply(content=GOOD, trickle=1)], ids=["late", "trickling"]
)
async def test_the_deadline_ends_whatever_trickles_in(reply: Reply) -> None:
    began = time.monotonic()
    assert await outcome([reply], deadline=2) == (Reason.JUDGE_UNAVAILABLE, 2)
    assert time.monotonic() - began < 20


def in_an_hour() -> str:
    """An HTTP date."""
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 3600))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (lambda: {"Retry-After": "2"}, 2),
        (lambda: {"Retry-After": in_an_hour()}, 3600),
        (lambda: {"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        (lambda: {"Retry-After": "9" * 400}, float("inf")),
        (lambda: {"Retry-After": "3", "retry-after-ms": "2500"}, 2.5),
        (lambda: {"Retry-After": "-5", "x-ratelimit-reset-requests": "6m0s"}, None),
        (lambda: {"Retry-After": "soon"}, None),
        (lambda: {"Retry-After": "1, 2"}, None),
        (lambda: {"Retry-After": "", "retry-after-ms": "nan"}, None),
    ],
)
async def test_a_stated_pause_comes_through(headers: Callable[[], dict[str, str]], seconds: float | None) -> None:
    replies = [Reply(status=429, headers=headers())]
    with ScriptedJudgeServer(replies=replies) as server, pytest.raises(CompletionError) as error:
        await LiteLLMCompletion(MODEL, api_base=server.url, api_key=KEY).complete(_question(), 2)
    stated = error.value.retry_after
    assert stated == seconds if seconds is None else stated == pytest.approx(seconds, abs=60)


def _question() -> Question:
    return Question([{"role": "user", "content": "q"}], {"type": "object", "additionalProperties": False}, 100)


@pytest.mark.parametrize(
    ("model", "form"),
    [(MODEL, None), ("openai/gpt-4o-mini", "response_format"), ("openai/gpt-4-0613", "tools")],
)
async def test_the_form_is_asked_for_in_the_best_way_the_model_is_known_to_take(model: str, form: str | None) -> None:
    with ScriptedJudgeServer(replies=[GOOD]) as server:
        await judge_at(server, model=model).judge(RUN)
        body = server.calls[0].body
    assert {name for name in ("response_format", "tools") if name in body} == ({form} if form else set())
    assert body["temperature"] == 0
    assert body["max_tokens"] < 2000


async def test_no_call_asks_for_a_longer_reply_than_the_model_gives() -> None:
    with ScriptedJudgeServer(replies=[Reply(content="{", finish_reason="length"), GOOD]) as server:
        await judge_at(server, model="openai/gpt-4-turbo").judge(RUN)
        first, second = (call["max_tokens"] for call in server.calls)
    assert first < second == 4096


async def test_a_model_that_takes_no_temperature_gets_none() -> None:
    with ScriptedJudgeServer(replies=[GOOD]) as server:
        await judge_at(server, model="openai/o3-mini").judge(RUN)
        assert "temperature" not in server.calls[0].body


@pytest.mark.parametrize(
    ("complaint", "gone"),
    [
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature"),
        ("response_format.json_schema is not supported by this server", "response_format"),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
    ],
)
async def test_what_a_provider_does_not_accept_is_left_out_from_then_on(complaint: str, gone: str) -> None:
    def answer(call: Call) -> Answer:
        return Reply(status=400, content={"message": complaint}) if gone in call.body else GOOD

    with ScriptedJudgeServer(answer) as server:
        judge = judge_at(server, structured="json_schema")
        for _ in range(2):
            assert [v.is_useful for v in (await judge.judge(RUN)).verdicts] == USEFUL
        assert [gone in call.body for call in server.calls] == [True, False, False]


async def test_parameters_of_ones_own_go_along() -> None:
    with ScriptedJudgeServer(replies=[GOOD]) as server:
        await judge_at(server, params={"temperature": 0.3, "top_p": 0.5, "extra_headers": {"X-Team": "a"}}).judge(RUN)
        call = server.calls[0]
    assert (call.body["temperature"], call.body["top_p"], call.headers["x-team"]) == (0.3, 0.5, "a")
    assert call.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("params", [{"stream": True}, {"model": "x"}, {"num_retries": 3}])
def test_parameters_that_are_ours_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"^params: "):
        LiteLLMCompletion(MODEL, params=params)


@pytest.mark.parametrize("url", ["htp://x/v1", "http:///v1", "http://[::zz]/v1", "http://h:99999/v1", "h:80/v1"])
def test_an_address_that_is_none_is_told_at_the_start(url: str) -> None:
    with pytest.raises(ConfigError, match=r"^api_base: "):
        LiteLLMCompletion(MODEL, api_base=url)


def test_a_name_that_no_provider_has_is_told_at_the_start() -> None:
    with pytest.raises(ConfigError, match=r"^model: "):
        LiteLLMCompletion("my-own-7b")


async def test_tokens_and_price_are_those_of_the_answer() -> None:
    with ScriptedJudgeServer(replies=[Reply(content=GOOD, usage=(1000, 100))]) as server:
        unknown = (await judge_at(server).judge(RUN)).judged_by
        own = (await judge_at(server, prices={MODEL: {"input": 1, "output": 10}}).judge(RUN)).judged_by
        listed = (await judge_at(server, model="openai/gpt-4.1-mini").judge(RUN)).judged_by
    assert unknown is not None
    assert own is not None
    assert listed is not None
    assert (unknown.tokens, unknown.cost_usd) == (1100, None)
    assert own.cost_usd == pytest.approx(0.002)
    assert listed.cost_usd == pytest.approx((1000 * 0.4 + 100 * 1.6) / 1e6)


async def test_a_fallback_answers_for_a_model_that_is_gone() -> None:
    def answer(call: Call) -> Answer:
        return Reply(status=404) if call.body["model"] == "my-own-7b" else GOOD

    with ScriptedJudgeServer(answer) as server:
        by = (await judge_at(server, fallbacks=["openai/other"]).judge(RUN)).judged_by
    assert by is not None
    assert by.model == "openai/other"


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
async def test_no_key_and_no_text_gets_into_errors_or_logs(
    level: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    run = RagRun("CANARY-query", [Retrieval([Context("CANARY-text")])])

    def echo(call: Call) -> Answer:
        status = statuses.pop(0)
        echoed = {"message": json.dumps(call.body) + json.dumps(dict(call.headers)), "code": "CANARY"}
        return Reply(reset=True) if status == 0 else Reply(status=status, content=echoed)

    details = []
    with caplog.at_level(level), ScriptedJudgeServer(echo) as server:
        for status in (404, 400, 401, 429, 500, 0):
            statuses = [status] * 9
            judge = judge_at(server, api_base=f"{server.url}?key=CANARY-0002", deadline=0.5)
            with pytest.raises(JudgeError) as error:
                await judge.judge(run)
            details += [str(error.value), error.value.detail, repr(error.value.judged_by)]
            if error.value.__cause__ is not None:
                details.append(str(error.value.__cause__))
            details.append(judge.trouble or "")
    printed = capfd.readouterr()
    assert len(details) > 12
    assert "CANARY" not in "".join(details) + caplog.text + printed.out + printed.err


def test_a_second_event_loop_works_as_the_first_and_neither_leaves_anything() -> None:
    async def some(judge: LiteLLMJudge) -> list[Judgement]:
        return await asyncio.gather(*(judge.judge(RUN) for _ in range(20)))

    with ScriptedJudgeServer(replies=[GOOD]) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        judge = judge_at(server)
        for _ in range(3):
            assert len(asyncio.run(some(judge))) == 20
        gc.collect()


async def test_one_client_serves_every_call_whatever_time_is_left_to_it() -> None:
    import litellm

    with ScriptedJudgeServer(replies=[GOOD]) as server:
        completion = LiteLLMCompletion(MODEL, api_base=server.url, api_key=KEY)
        await completion.complete(_question(), 5)
        before = len(litellm.in_memory_llm_clients_cache.cache_dict)
        for tenth in range(10):
            await completion.complete(_question(), 4 + tenth / 10)
        assert len(litellm.in_memory_llm_clients_cache.cache_dict) == before


async def test_the_logging_worker_of_litellm_holds_nothing() -> None:
    from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER

    with ScriptedJudgeServer(replies=[GOOD]) as server:
        await asyncio.gather(*(judge_at(server).judge(RUN) for _ in range(20)))
    assert GLOBAL_LOGGING_WORKER.pending_count == 0


def test_litellm_is_imported_only_where_a_judge_is_made_and_then_asks_no_network() -> None:
    script = """
import socket, sys
def refuse(*args): raise AssertionError(f"network: {args}")
socket.socket.connect = refuse
socket.getaddrinfo = refuse
from otel_ctxscore.litellm_judge import LiteLLMJudge
assert "litellm" not in sys.modules
judge = LiteLLMJudge("openai/my-own-7b", api_key="none")
assert "litellm" in sys.modules
print(judge.model)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.strip(), done.returncode) == (MODEL, 0), done.stderr
