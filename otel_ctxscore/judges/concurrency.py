"""How many calls run at the same time: as many as the provider bears.

Additive raise and multiplicative cut, as TCP does it: doubling at first, then one more for each round of calls
that went well; half as many when the provider says that it is too much.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

_FIRST = 16


class AdaptiveConcurrency:
    """`async with` takes a place, in the order of asking, and gives it back. At most `most` places."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = float(min(_FIRST, most))
        self._doubling = True
        self._cut_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.in_flight = 0

    @property
    def limit(self) -> int:
        """Places now."""
        return int(self._limit)

    def succeeded(self) -> None:
        """Raise the limit, if it was what held calls back."""
        if self.in_flight >= self.limit - 1:
            self._limit = min(self._most, self._limit + (1 if self._doubling else 1 / self._limit))
            self._admit()

    def overloaded(self, began: float, now: float) -> None:
        """Halve the limit, once for all calls that were already under way when it was halved last."""
        if began > self._cut_at:
            self._limit = max(1.0, self._limit / 2)
            self._doubling = False
            self._cut_at = now

    def restart(self) -> None:
        """Begin as at first: what was learnt in an outage says nothing of the time after it."""
        self._limit = float(min(_FIRST, self._most))
        self._doubling = True

    async def __aenter__(self) -> None:
        if self.in_flight < self.limit and not self._waiting:
            self.in_flight += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # the place was given in the same moment
                self._give_back()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()

    def _give_back(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.limit:
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)
