"""The deadline of a run: it runs while the run is being judged, and stands while there is nobody to judge it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

_numbers = count()


class Stopwatch:
    """Seconds left of a deadline. `number` tells the runs of a process apart."""

    def __init__(self, seconds: float) -> None:
        self.number = next(_numbers)
        self.deadline = seconds
        self._used = 0.0
        self._since: float | None = None

    @property
    def left(self) -> float:
        running = 0.0 if self._since is None else now() - self._since
        return self.deadline - self._used - running

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time spent inside counts."""
        self._since = now()
        try:
            yield
        finally:
            self._used += now() - self._since
            self._since = None

    def restart(self) -> None:
        """Begin the deadline anew."""
        self._used = 0.0


def now() -> float:
    """The steady clock of the running event loop: the one that its time-outs go by."""
    return asyncio.get_running_loop().time()
