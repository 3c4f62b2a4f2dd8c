"""The models of a judge in order of preference, and what happens while none of them answers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from otel_ctxscore.completion import CompletionError, Fault
from otel_ctxscore.judges.endpoint import Endpoint, OutageError
from otel_ctxscore.judges.stopwatch import Stopwatch, now

T = TypeVar("T")

_TRIES_BEFORE_NEXT = 2
_LOOK_AGAIN = 1.0


class Panel:
    """Tries the endpoints in order. A later one is asked where an earlier one is out, stopped or rejects the call;
    never because of what a model said.

    `hold` is how long a run may wait, in seconds, while all are out; 0 gives up at once.
    """

    def __init__(self, endpoints: Sequence[Endpoint], hold: float) -> None:
        self.endpoints = tuple(endpoints)
        self._hold = hold

    async def first(self, work: Callable[[Endpoint, int | None], Awaitable[T]], watch: Stopwatch) -> T:
        """The result of `work(endpoint, tries)` at the first endpoint that gives one.

        Raises CompletionError with what stood in the way last, and OutageError where all stayed out too long.
        """
        held_since: float | None = None
        while True:
            failure: CompletionError | None = None
            for place, endpoint in enumerate(self.endpoints):
                probes = endpoint.circuit.is_open
                if not endpoint.admits():
                    continue
                try:
                    return await work(endpoint, self._tries(place))
                except OutageError:
                    continue
                except CompletionError as error:
                    if error.fault is Fault.REFUSED:
                        raise
                    failure = error
                finally:
                    if probes:
                        endpoint.circuit.abandoned()
            if failure is not None:
                raise failure
            held_since = now() if held_since is None else held_since
            await self._wait(held_since, watch)

    def _tries(self, place: int) -> int | None:
        """All the time there is for the last one that may answer."""
        rest = self.endpoints[place + 1 :]
        return _TRIES_BEFORE_NEXT if any(not e.circuit.is_open and e.stopped is None for e in rest) else None

    async def _wait(self, held_since: float, watch: Stopwatch) -> None:
        """Until a circuit may have changed. The deadline begins anew: the time before it told of the outage only."""
        if now() - held_since >= self._hold:
            raise OutageError("no judge model answers")
        probe = min(endpoint.circuit.next_probe for endpoint in self.endpoints)
        await asyncio.sleep(min(max(probe - now(), 0.1), _LOOK_AGAIN) * random.uniform(0.8, 1.2))
        watch.restart()
