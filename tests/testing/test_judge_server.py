"""The scripted judge server, as a test of a plug-in or an application would use it."""

import asyncio
import json
import time
from typing import Any

import aiohttp
import pytest

from otel_ctxscore.testing import Call, Reply, ScriptedJudgeServer, verdicts

BODY = {"model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hello"}]}


async def ask(url: str, body: dict[str, Any] = BODY) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.post(f"{url}/chat/completions", json=body) as response:
        return response.status, await response.json()


async def test_it_speaks_chat_completions() -> None:
    with ScriptedJudgeServer(answer=lambda call: verdicts([True, False], missing=["x"])) as server:
        status, answer = await ask(server.url)
        assert server.calls == [call.body for call in server.calls] == [BODY]
    assert status == 200
    choice = answer["choices"][0]
    assert json.loads(choice["message"]["content"]) == {
        "verdicts": [
            {"index": 0, "useful": True, "relevance": "high", "used": True, "note": "as scripted"},
            {"index": 1, "useful": False, "relevance": "none", "used": False, "note": "as scripted"},
        ],
        "missing": ["x"],
    }
    assert (choice["finish_reason"], answer["model"], answer["usage"]["total_tokens"]) == ("stop", "m", 990)


async def test_a_bare_list_is_answered_as_json() -> None:
    with ScriptedJudgeServer(replies=[[{"index": 0, "useful": True}]]) as server:
        _, answer = await ask(server.url)
    assert answer["choices"][0]["message"]["content"] == '[{"index": 0, "useful": true}]'


async def test_replies_come_in_order_and_the_last_one_again_and_again() -> None:
    with ScriptedJudgeServer(replies=["one", Reply(status=503, headers={"Retry-After": "3"}), "two"]) as server:
        answers = [await ask(server.url) for _ in range(4)]
        assert len(server.calls) == 4
    assert [status for status, _ in answers] == [200, 503, 200, 200]
    assert [a["choices"][0]["message"]["content"] for s, a in answers if s == 200] == ["one", "two", "two"]


async def test_a_tool_call_is_answered_as_one() -> None:
    with ScriptedJudgeServer(replies=[{"a": 1}]) as server:
        _, answer = await ask(server.url, {**BODY, "tools": []})
    message = answer["choices"][0]["message"]
    assert message["content"] is None
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"a": 1}


async def test_it_can_be_slow_and_can_hang_up() -> None:
    with ScriptedJudgeServer(replies=[Reply(reset=True), Reply(content="slow", delay=0.1, trickle=0.001)]) as server:
        with pytest.raises(aiohttp.ClientError):
            await ask(server.url)
        began = time.monotonic()
        assert (await ask(server.url))[1]["choices"][0]["message"]["content"] == "slow"
        assert time.monotonic() - began > 0.1


async def test_it_ends_at_once_whoever_still_waits() -> None:
    asked, loop = asyncio.Event(), asyncio.get_running_loop()

    def late(call: Call) -> Reply:
        loop.call_soon_threadsafe(asked.set)
        return Reply(content="late", delay=60)

    with ScriptedJudgeServer(late) as server:
        waiting = asyncio.create_task(ask(server.url))
        await asked.wait()
        began = time.monotonic()
    assert time.monotonic() - began < 5
    with pytest.raises(aiohttp.ClientError):
        await waiting


async def test_it_keeps_as_many_calls_as_it_is_told() -> None:
    with ScriptedJudgeServer(replies=["x"], keep=2) as server:
        for _ in range(3):
            await ask(server.url)
        assert len(server.calls) == 2


@pytest.mark.parametrize("script", [{}, {"replies": []}, {"answer": lambda call: "x", "replies": ["x"]}])
def test_a_script_is_one_function_or_some_replies(script: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="either answer or"):
        ScriptedJudgeServer(**script)


def test_a_request_that_is_no_judge_call_has_no_parts() -> None:
    call = Call(BODY, {}, 0.0)
    assert (call.query, call.contexts, call.response, call.history, call.mark) == ("", [], None, [], "")
    assert call.outside == "s\nhello"
