"""An event loop on which time passes at once: it jumps to the next timer when nothing else is left to do.

Everything that goes by the loop's clock (sleeps, time-outs, deadlines) runs unchanged, so an outage of ten minutes
takes a few milliseconds and always the same ones.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


TICK = 1e-9
"""Seconds that pass at each turn of the loop: a timer can ring a little too early, by rounding, and who looks at the
time then waits anew, for ever where time stands still."""


class _JumpingSelector(selectors.DefaultSelector):
    """Waits for nothing: what it would have waited is added to the clock."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if timeout is None and not ready:
            raise RuntimeError("nothing will ever happen on this loop: the test would hang")
        self.now += TICK
        if timeout and not ready:
            self.now += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of the coroutine, in no time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)
