"""What is posted to a webhook, and what its answers mean."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from otel_ctxscore.io.results import evaluation_id
from otel_ctxscore.io.webhook import WebhookSink
from otel_ctxscore.ports import Sink, SinkError
from tests.io.evaluations import RUN, evaluation, named
from tests.io.waiting import until

Answer = Callable[[int], web.Response]


class Hook:
    """A webhook that answers by number of the request."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.bodies: list[bytes] = []
        self.signatures: list[str] = []
        self.pauses: list[float] = []
        self.url = ""

    async def post(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        self.signatures.append(request.headers["X-Ctxscore-Signature"])
        return self.answer(len(self.bodies))

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)

    def sink(self) -> WebhookSink:
        return WebhookSink(self.url, "key", sleep=self.sleep)


@asynccontextmanager
async def webhook(answer: Answer = lambda n: web.Response()) -> AsyncIterator[Hook]:
    hook = Hook(answer)
    app = web.Application()
    app.router.add_post("/hook", hook.post)
    async with TestServer(app) as server:
        hook.url = str(server.make_url("/hook"))
        yield hook


async def test_a_line_with_its_id_is_posted_and_signed() -> None:
    async with webhook() as hook:
        sink = hook.sink()
        assert isinstance(sink, Sink)
        await sink.emit(evaluation())
        await sink.emit(evaluation(run=replace(RUN, redelivered=True)))
        await sink.close()
    posted = [json.loads(body) for body in hook.bodies]
    assert [line["evaluation_id"] for line in posted] == [evaluation_id(evaluation())] * 2
    assert posted[0]["trace_id"] == RUN.trace_id
    assert posted[0]["query"] is None
    expected = hmac.new(b"key", hook.bodies[0], hashlib.sha256).hexdigest()
    assert hook.signatures[0] == f"sha256={expected}"


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_a_passing_refusal_is_tried_again(status: int) -> None:
    async with webhook(lambda n: web.Response(status=status if n < 4 else 204)) as hook:
        sink = hook.sink()
        await sink.emit(named("s"))
        await sink.close()
    assert len(hook.bodies) == 4
    assert len(set(hook.bodies)) == 1
    assert hook.pauses == sorted(hook.pauses)


async def test_a_stated_pause_is_kept() -> None:
    answers = {1: web.Response(status=503, headers={"Retry-After": "7"})}
    async with webhook(lambda n: answers.get(n, web.Response())) as hook:
        sink = hook.sink()
        await sink.emit(named("s"))
        await sink.close()
    assert hook.pauses == [7]


@pytest.mark.parametrize("status", [301, 400, 401, 404, 413])
async def test_any_other_refusal_is_final_and_costs_no_other_evaluation(status: int) -> None:
    async with webhook(lambda n: web.Response(status=status if n == 1 else 200)) as hook:
        sink = hook.sink()
        results = await asyncio.gather(sink.emit(named("a")), sink.emit(named("b")), return_exceptions=True)
        await sink.close()
    assert sorted(type(result).__name__ for result in results) == ["NoneType", "SinkError"]
    assert len(hook.bodies) == 2


async def test_where_nobody_listens_it_waits_and_close_cut_short_gives_up(caplog: pytest.LogCaptureFixture) -> None:
    async with webhook() as hook:
        pass
    sink = hook.sink()
    waiting = asyncio.create_task(sink.emit(named("s")))
    await until(lambda: len(hook.pauses) > 3)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await sink.close()
    with pytest.raises(SinkError):
        await waiting
    assert len(caplog.records) == 1
