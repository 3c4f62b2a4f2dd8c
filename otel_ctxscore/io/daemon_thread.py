"""Blocking calls that must not keep the process from ending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_daemon_thread(call: Callable[[], T]) -> T:
    """The result of a blocking call, made in a daemon thread of its own.

    The executor of asyncio joins its threads when the process ends, so that one call in a dead connection would hold
    the exit up; this does not. Cancelled, the call goes on, and nobody hears of it.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(lambda: None if done.done() else settled())

    def run() -> None:
        try:
            result = call()
        except BaseException as error:
            failure = error
            settle(lambda: done.set_exception(failure))
        else:
            settle(lambda: done.set_result(result))

    threading.Thread(target=run, daemon=True, name="otel-ctxscore-export").start()
    return await done
