"""One model, asked as its provider bears it: shared pauses, back-off, adaptive concurrency, circuit breaker."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import nullcontext

from otel_ctxscore.completion import Answer, Completion, CompletionError, Fault, Question
from otel_ctxscore.judges.circuit import Circuit
from otel_ctxscore.judges.concurrency import AdaptiveConcurrency
from otel_ctxscore.judges.stopwatch import Stopwatch, now

log = logging.getLogger(__name__)

_FIRST_BACKOFF = 0.5
_LONGEST_BACKOFF = 20.0
_SHARE_OF_ONE_TRY = 2 / 3
"""Of the deadline: a connection that hangs leaves time for another try."""
_STOPPED_FOR = 300.0
"""Seconds after a refused key before it is tried again: keys and permissions are put right at the provider."""
_SHORTEST_TRY = 0.05
"""Seconds. With less than that left, no call is made that could only be cut off."""
_SPREAD = 0.25
"""Seconds over which calls start again after a shared pause."""


class OutageError(Exception):
    """The circuit of this model is open: nobody answers there."""


class Endpoint:
    """A model with everything that its calls share."""

    def __init__(self, completion: Completion, max_concurrency: int) -> None:
        self.completion = completion
        self.circuit = Circuit()
        self.concurrency = AdaptiveConcurrency(max_concurrency)
        self._paused_until = float("-inf")
        self._stopped_until = float("-inf")
        self.stopped: str | None = None
        self._is_failing = False

    @property
    def model(self) -> str:
        return self.completion.model

    def admits(self) -> bool:
        """Whether a run may be judged here now. On an open circuit a True is the probe."""
        return self.circuit.admits(now())

    async def ask(self, question: Question, watch: Stopwatch, *, tries: int | None = None) -> tuple[Answer, float]:
        """The answer and the seconds of the call that gave it.

        Calls that may succeed later are made again, until the deadline or `tries` is used up. Raises
        CompletionError with what stood in the way last, and OutageError where the circuit is open.
        """
        failed = 0
        while True:
            try:
                return await self._try(question, watch)
            except CompletionError as error:
                failed += 1
                if self.circuit.is_open:
                    raise OutageError(error.detail) from error
                pause = self._pause(error, failed, watch.deadline)
                if not error.fault.passes or failed == tries or pause + _SHORTEST_TRY > watch.left:
                    raise
            with watch.running():
                await asyncio.sleep(pause)

    async def _try(self, question: Question, watch: Stopwatch) -> tuple[Answer, float]:
        self._refuse_if_stopped()
        async with self.concurrency:
            await self._keep_pause()
            began = now()
            probing = self.circuit.is_open  # a probe costs the run nothing of its time
            try:
                with nullcontext() if probing else watch.running():
                    answer = await self.completion.complete(question, self._seconds(watch))
            except CompletionError as error:
                self._failed(error, began, watch)
                raise
            self._answered()
            self._is_failing = False
            self.concurrency.succeeded()
            return answer, now() - began

    def _seconds(self, watch: Stopwatch) -> float:
        return max(0.0, min(watch.left, watch.deadline * _SHARE_OF_ONE_TRY))

    def _refuse_if_stopped(self) -> None:
        if self.stopped is not None and now() < self._stopped_until:
            raise CompletionError(Fault.UNAUTHORISED, self.stopped)

    async def _keep_pause(self) -> None:
        """Waits for the end of a pause that the provider asked for. Another call may have lengthened it."""
        while (pause := self._paused_until - now()) > 0:  # noqa: ASYNC110 -- it ends by the clock, not by an event
            await asyncio.sleep(pause + random.uniform(0, _SPREAD))

    def _pause(self, error: CompletionError, failed: int, deadline: float) -> float:
        """Seconds before the next try. A stated pause holds for every call of this model, up to the deadline; one that
        is stated as nothing is none."""
        if error.fault is Fault.BUSY and (error.retry_after or 0) >= _FIRST_BACKOFF:
            return min(error.retry_after or 0, deadline)
        most = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2 ** min(failed - 1, 10))
        backoff = random.uniform(most / 2, most)
        return backoff if error.retry_after is None else min(deadline, max(backoff, error.retry_after))

    def _failed(self, error: CompletionError, began: float, watch: Stopwatch) -> None:
        if error.fault.passes and not self._is_failing:
            self._is_failing = True
            log.info("judge %s: a call failed and may be tried again: %s", self.model, error.detail)
        if error.fault is Fault.DOWN:
            if self.circuit.failed(watch.number, now()):
                log.warning("judge %s does not answer (%s): outage", self.model, error.detail)
        else:
            self._answered(authorised=error.fault is not Fault.UNAUTHORISED)
        if error.fault.passes:
            self.concurrency.overloaded(began, now())
        if error.fault is Fault.BUSY and error.retry_after is not None:
            self._paused_until = max(self._paused_until, now() + min(error.retry_after, watch.deadline))
        if error.fault is Fault.UNAUTHORISED:
            self._stop(error.detail)

    def _answered(self, *, authorised: bool = True) -> None:
        if self.circuit.answered():
            self.concurrency.restart()
            log.warning("judge %s answers again: outage over", self.model)
        if authorised and self.stopped is not None:
            self.stopped = None
            log.warning("judge %s takes the key again", self.model)

    def _stop(self, detail: str) -> None:
        if self.stopped is None:
            log.error("judge %s is stopped: %s; set the key or its permissions right", self.model, detail)
        self.stopped = detail
        self._stopped_until = now() + _STOPPED_FOR
