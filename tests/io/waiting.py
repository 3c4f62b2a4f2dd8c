"""Waiting for what other threads do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable


async def until(condition: Callable[[], bool], *, pause: float = 0.0) -> None:
    """Return once the condition holds; TimeoutError after ten seconds."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 -- a thread that is not ours sets no event
            await asyncio.sleep(pause)


def exporting() -> bool:
    """Whether an export is under way."""
    return any(thread.name == "otel-ctxscore-export" for thread in threading.enumerate())
