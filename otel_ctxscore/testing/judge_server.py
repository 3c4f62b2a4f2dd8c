"""A judge model that does what a script says, over real HTTP: the OpenAI chat completions protocol on loopback.

with ScriptedJudgeServer(answer=lambda call: verdicts([True, False])) as server:
    judge = LiteLLMJudge("openai/any", api_base=server.url, api_key="none")
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from aiohttp import web

from otel_ctxscore.testing.judge_call import Call


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer of the server, faults included.

    `content` is the text of the message, a dict or list is its JSON. `raw` replaces the whole body. `delay` is waited
    before the first byte, `trickle` after each piece of ten bytes; `reset` closes the connection without an answer.
    """

    content: str | dict[str, Any] | list[Any] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    finish_reason: str = "stop"
    reasoning: str | None = None
    refusal: str | None = None
    as_tool_call: bool = False
    usage: tuple[int, int] | None = (900, 90)
    model: str | None = None
    raw: bytes | None = None
    delay: float = 0
    trickle: float = 0
    reset: bool = False


Answer = Reply | dict[str, Any] | list[Any] | str


def verdicts(
    useful: Sequence[bool],
    relevance: Sequence[str] | None = None,
    used: Sequence[bool] | None = None,
    missing: Sequence[str] = (),
) -> dict[str, Any]:
    """A whole answer. Where not given, a useful context is of high relevance and used, any other of none."""
    levels = relevance or ["high" if yes else "none" for yes in useful]
    shares = zip(useful, levels, used or useful, strict=True)
    return {
        "verdicts": [
            {"index": index, "useful": yes, "relevance": level, "used": use, "note": "as scripted"}
            for index, (yes, level, use) in enumerate(shares)
        ],
        "missing": list(missing),
    }


class ScriptedJudgeServer:
    """Answers each call with `answer(call)`, or with `replies` in their order, the last one again and again.

    `calls` holds what was asked; `keep` says how many of them at most, from the first one (None: all).
    """

    def __init__(
        self,
        answer: Callable[[Call], Answer] | None = None,
        replies: Sequence[Answer] | None = None,
        *,
        keep: int | None = None,
    ) -> None:
        if (answer is None) == (not replies):
            raise ValueError("give either answer or at least one of replies")
        self._answer = answer or self._in_order(list(replies or ()))
        self._keep = keep
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted-judge", daemon=True)
        self._runner: web.AppRunner | None = None
        self.calls: list[Call] = []
        self.url = ""

    def __enter__(self) -> ScriptedJudgeServer:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @staticmethod
    def _in_order(replies: list[Answer]) -> Callable[[Call], Answer]:
        return lambda call: replies.pop(0) if len(replies) > 1 else replies[0]

    async def _start(self) -> None:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"

    async def _stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        call = Call(
            json.loads(await request.read()), {k.lower(): v for k, v in request.headers.items()}, time.monotonic()
        )
        if self._keep is None or len(self.calls) < self._keep:
            self.calls.append(call)
        answer = self._answer(call)
        reply = answer if isinstance(answer, Reply) else Reply(content=answer)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.reset and request.transport is not None:
            request.transport.abort()
        return await _send(request, reply, _body(call, reply))


async def _send(request: web.Request, reply: Reply, body: bytes) -> web.StreamResponse:
    if not reply.trickle:
        return web.Response(body=body, status=reply.status, headers=reply.headers, content_type="application/json")
    response = web.StreamResponse(status=reply.status, headers={"Content-Type": "application/json", **reply.headers})
    with suppress(ConnectionError):  # who asked has had enough
        await response.prepare(request)
        for start in range(0, len(body), 10):
            await response.write(body[start : start + 10])
            await asyncio.sleep(reply.trickle)
    return response


def _body(call: Call, reply: Reply) -> bytes:
    if reply.raw is not None:
        return reply.raw
    if reply.status >= 400:
        return json.dumps({"error": reply.content or {"message": "as scripted"}}).encode()
    completion: dict[str, Any] = {
        "id": "scripted",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": reply.model or call["model"],
        "choices": [{"index": 0, "message": _message(call, reply), "finish_reason": reply.finish_reason}],
    }
    if reply.usage is not None:
        asked, said = reply.usage
        completion["usage"] = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
    return json.dumps(completion).encode()


def _message(call: Call, reply: Reply) -> dict[str, Any]:
    given = reply.content
    content = json.dumps(given, ensure_ascii=False) if isinstance(given, dict | list) else given
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if reply.as_tool_call or "tools" in call:
        function = {"name": "judgement", "arguments": content or ""}
        message |= {"content": None, "tool_calls": [{"id": "call_0", "type": "function", "function": function}]}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    return message
