"""A bounded batcher that says of each unit whether it was delivered.

It survives an outage of the receiver, and one unit that the receiver will never take costs no other unit its
delivery. Exporters tell only whether a batch was taken, so what is at fault is found by evidence: right after the
receiver took something, a batch that fails is halved at its next try; a unit that fails alone `TRIES` times, each time
right after something was taken, is given up. While nothing is taken at all, it is an outage: one unit is tried at a
time, with a growing pause, and nothing is given up.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from otel_ctxscore.ports import DroppedError, SinkError

_log = logging.getLogger(__name__)
T = TypeVar("T")

TRIES = 5
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0
"""Seconds between tries during an outage; each pause is twice the one before, with jitter."""


class Partly(Exception):  # noqa: N818 -- an answer, not a fault
    """Raised by an export: the receiver took the batch without `units` of its units, and did not say which."""

    def __init__(self, units: int) -> None:
        super().__init__(f"all but {units}")
        self.units = units


@dataclass(slots=True)
class _Waiting(Generic[T]):
    unit: T
    size: int
    done: asyncio.Future[None]
    share: int
    """Units that may travel in one batch with this one, itself included."""
    refused_alone: int = 0


class Batcher(Generic[T]):
    """Collects units for `delay` seconds, up to `max_units` and `max_bytes` a batch, and exports one batch at a time.

    `export` returns whether the batch was taken; an exception is a no, and Partly a yes but for some.
    """

    def __init__(
        self,
        name: str,
        export: Callable[[Sequence[T]], Awaitable[bool]],
        *,
        max_units: int = 256,
        max_bytes: int = 2 << 20,
        max_waiting: int = 4096,
        delay: float = 0.1,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._name = name
        self._export = export
        self._max_units = max_units
        self._max_bytes = max_bytes
        self._delay = delay
        self._sleep = sleep
        self._queue: deque[_Waiting[T]] = deque()
        self._room = asyncio.Semaphore(max_waiting)
        self._arrived = asyncio.Event()
        self._open: set[asyncio.Future[None]] = set()
        self._worker: asyncio.Task[None] | None = None
        self._failures = 0
        self._closed = False

    async def send(self, unit: T, size: int) -> None:
        """Return when the unit, of about `size` bytes, is delivered. Raises DroppedError for one that is given up, and
        for as many as the receiver left out, and SinkError when the batcher is closed."""
        async with self._room:
            if self._closed:
                raise SinkError(f"{self._name} is closed")
            if self._worker is None:
                self._worker = asyncio.create_task(self._work())
            done = asyncio.get_running_loop().create_future()
            self._open.add(done)
            done.add_done_callback(self._open.discard)
            self._queue.append(_Waiting(unit, size, done, self._max_units))
            self._arrived.set()
            await done

    async def close(self) -> None:
        """Deliver what waits and end. Cancelled, give up what waits: its senders get SinkError."""
        self._closed = True
        try:
            while self._open:
                await asyncio.wait(self._open)
        finally:
            self._give_up()
            if self._worker is not None:
                self._worker.cancel()
                with suppress(asyncio.CancelledError):
                    await self._worker

    def _give_up(self) -> None:
        if self._open:
            _log.warning("%s: closed with %d evaluations not delivered", self._name, len(self._open))
        for done in list(self._open):
            if not done.done():
                done.set_exception(SinkError(f"{self._name} was closed before it took the evaluation"))

    async def _work(self) -> None:
        while True:
            if not self._queue:
                self._arrived.clear()
                await self._arrived.wait()
            if len(self._queue) < self._max_units and not self._closed:
                await self._sleep(self._delay)
            batch = self._take()
            if batch:
                await self._try(batch)

    def _take(self) -> list[_Waiting[T]]:
        """The next batch, from the front. Those whose senders no longer wait are left out."""
        batch: list[_Waiting[T]] = []
        share, size = 1 if self._failures else self._max_units, 0
        while self._queue:
            first = self._queue[0]
            share = min(share, first.share) if not first.done.done() else share
            if batch and not first.done.done() and (len(batch) >= share or size + first.size > self._max_bytes):
                break
            self._queue.popleft()
            if not first.done.done():
                batch.append(first)
                size += first.size
        return batch

    async def _try(self, batch: list[_Waiting[T]]) -> None:
        dropped = 0
        try:
            taken = await self._export([waiting.unit for waiting in batch])
        except Partly as partly:
            taken, dropped = True, partly.units
        except Exception:
            _log.exception("%s: the exporter failed", self._name)
            taken = False
        if taken:
            self._taken(batch, dropped)
        else:
            self._refused(batch)
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures - 1, 16))
            await self._sleep(pause * random.uniform(0.5, 1))

    def _taken(self, batch: list[_Waiting[T]], dropped: int) -> None:
        if self._failures:
            _log.info("%s takes evaluations again, after %d tries", self._name, self._failures)
        self._failures = 0
        for place, waiting in enumerate(batch):
            if waiting.done.done():
                continue
            if place < dropped:
                waiting.done.set_exception(DroppedError(f"{self._name} left out {dropped} of {len(batch)} evaluations"))
            else:
                waiting.done.set_result(None)

    def _refused(self, batch: list[_Waiting[T]]) -> None:
        if not self._failures:
            _log.warning("%s refused a batch of %d evaluations", self._name, len(batch))
            for waiting in batch:
                self._suspect(waiting, len(batch))
        self._failures += 1
        self._queue.extend(waiting for waiting in batch if not waiting.done.done())

    def _suspect(self, waiting: _Waiting[T], together: int) -> None:
        """The receiver is there and refused: it is one of these."""
        waiting.share = max(1, together // 2)
        waiting.refused_alone += together == 1
        if waiting.refused_alone >= TRIES and not waiting.done.done():
            waiting.done.set_exception(DroppedError(f"{self._name} takes other evaluations, but not this one"))
