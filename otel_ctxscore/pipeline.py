"""The one path: ingest -> sample -> assemble -> extract -> judge -> score -> emit.

A source hands deliveries in by `accept`; a trace that is due walks the rest of the line as one task, and whatever
becomes of it, its receipts are settled in `_walk`, and only there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from otel_ctxscore.core.assembly import Assembled, TraceAssembler, Waiting
from otel_ctxscore.core.conventions import Extraction
from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.core.opening import open_trace
from otel_ctxscore.core.outcomes import Closed, Reason, TraceOutcome
from otel_ctxscore.core.receipts import Outcome, Withdrawn
from otel_ctxscore.core.sampling import Sampler
from otel_ctxscore.core.spans import UNKNOWN_SERVICE, Delivery, Trace
from otel_ctxscore.evaluation import trace_outcome
from otel_ctxscore.ports import DroppedError, Full, Sink, SinkError
from otel_ctxscore.telemetry import Metrics

log = logging.getLogger(__name__)

MAX_WALKING = 1024
"""Traces that are read, judged or emitted at the same time, at most. What is due beyond that waits assembled."""
RELIEVED = 100
"""Traces that are closed at once where a source may wait no longer."""
PAUSE = 1.0
"""Seconds that a source is asked to wait while the line is full."""
MENDED_BY_LATE_SPANS = frozenset(
    {
        Reason.NO_CONTEXTS,
        Reason.NO_CONTENT,
        Reason.NO_QUERY,
        Reason.NO_RESPONSE,
        Reason.DOCUMENTS_WITHOUT_TEXT,
    }
)
"""Reasons that a span still to come can mend."""
NOTHING_READ = Extraction()


async def _never(trace_id: bytes) -> str | None:
    return None


class Pipeline:
    """The line between sources and sinks.

    `read` turns a trace into an extraction and never raises; `evaluate` judges and scores one run and never raises.
    `observe` is given the evaluations of each trace, all together, as they are counted; it never raises.
    `finish` is given each trace once, at its end; it never raises. `evaluated` gives the service of a trace that was
    evaluated before and whose evaluations every sink has: read again, it is not judged again. `clock` is a steady
    clock in seconds.
    """

    def __init__(
        self,
        *,
        sampler: Sampler,
        assembler: TraceAssembler,
        read: Callable[[Trace], Awaitable[Extraction]],
        evaluate: Callable[[RagRun], Awaitable[Evaluation]],
        sinks: Sequence[Sink],
        metrics: Metrics,
        observe: Callable[[Sequence[Evaluation]], None] = lambda evaluations: None,
        finish: Callable[[Finished], None] = lambda finished: None,
        evaluated: Callable[[bytes], Awaitable[str | None]] = _never,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sampler = sampler
        self.assembler = assembler
        self._read = read
        self._evaluate = evaluate
        self._sinks = sinks
        self._metrics = metrics
        self._observe = observe
        self._finish = finish
        self._evaluated = evaluated
        self._clock = clock
        self._walking: set[asyncio.Task[None]] = set()
        self._walking_since: dict[bytes, float] = {}
        self._slots = min(MAX_WALKING, assembler.limits.max_traces)
        self._poke = asyncio.Event()
        self._looks_at = -math.inf
        self._roomy = asyncio.Event()
        self._roomy.set()

    # ---- in -----------------------------------------------------------------------------------------------------

    def keeps(self, trace_id: bytes) -> bool:
        return self.sampler.keeps(trace_id)

    def accept(self, delivery: Delivery) -> None:
        """Take a delivery whole, or raise Full: the judge is behind and what is assembled has reached its caps."""
        if self._blocked():
            raise Full(PAUSE)
        added = self.assembler.add(delivery, self._clock())
        for result, count in (("kept", added.kept), ("late", added.late), ("duplicate", added.duplicate)):
            if count:
                self._metrics.spans(delivery.source, result, count)
        due = self.assembler.next_due()
        if due is not None and due < self._looks_at:
            self.wake()
        if self._blocked():
            self._roomy.clear()

    async def room(self) -> None:
        await self._roomy.wait()

    def relieve(self) -> None:
        self.assembler.close_oldest(RELIEVED)
        self.wake()

    def give_up(self, owner: object) -> None:
        for receipt in self.assembler.give_up(owner):
            receipt.settle(Outcome.FAILED)

    def _blocked(self) -> bool:
        return len(self._walking) >= self._slots and self.assembler.full

    @property
    def waiting(self) -> int:
        """Traces that walk: they are read, judged or emitted."""
        return len(self._walking)

    def holds(self, trace_id: bytes) -> bool:
        """Whether a trace is on its way: it is assembled, waits for late spans, or walks."""
        return trace_id in self._walking_since or self.assembler.holds(trace_id)

    def waits_for(self, trace_id: bytes) -> Waiting | None:
        """What a trace waits for, in seconds from now; None where it walks, or is not here."""
        known = self.assembler.waiting(trace_id)
        return known and known.moved(-self._clock())

    def oldest_waiting_seconds(self) -> float:
        """Age of the oldest trace that is held or walks, by arrival of its first span; 0 where there is none."""
        starts = [next(iter(self._walking_since.values()), None), self.assembler.oldest()]
        return max((self._clock() - start for start in starts if start is not None), default=0.0)

    # ---- along --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Send traces down the line as they fall due, until cancelled."""
        while True:
            for assembled in self.assembler.due(self._clock()):
                await self._start(assembled)
            await self._until_due()
            self._looks_at = -math.inf

    def wake(self) -> None:
        """Look again at what is due: something came, or changed."""
        self._poke.set()

    async def drain(self) -> None:
        """Close what is held and walk it to the end. Cancel it to give up: what has not ended is failed then."""
        for assembled in self.assembler.drain(self._clock()):
            await self._start(assembled)
        while self._walking:
            await asyncio.wait(self._walking)

    async def abandon(self) -> int:
        """Give up all traces that walk; returns how many. Their receipts are settled as failed."""
        given_up = list(self._walking)
        for task in given_up:
            task.cancel()
        await asyncio.gather(*given_up, return_exceptions=True)
        return len(given_up)

    async def _until_due(self) -> None:
        self._poke.clear()
        due = self.assembler.next_due()
        self._looks_at = math.inf if due is None else due
        if due is None or due > (now := self._clock()):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if due is None else due - now):
                    await self._poke.wait()

    async def _start(self, assembled: Assembled) -> None:
        while len(self._walking) >= self._slots:
            await asyncio.wait(self._walking, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._walk(assembled))
        self._walking_since[assembled.trace_id] = assembled.first
        self._walking.add(task)
        task.add_done_callback(lambda done: self._ended(done, assembled.trace_id))

    def _ended(self, task: asyncio.Task[None], trace_id: bytes) -> None:
        self._walking.discard(task)
        self._walking_since.pop(trace_id, None)
        if not self._blocked():
            self._roomy.set()

    async def _walk(self, assembled: Assembled) -> None:
        """A trace from assembled bytes to settled receipts."""
        outcome, settles = Outcome.FAILED, True
        finished: Finished | None = None
        try:
            if assembled.redelivered and (service := await self._evaluated(assembled.trace_id)) is not None:
                finished, outcome = self._repeated(assembled, service), Outcome.DONE
                return
            extraction = await self._extract(assembled)
            if self._waits(assembled, extraction):
                self.assembler.park(assembled, self._clock(), extraction)
                settles = False
                self.wake()
                return
            evaluations = [await self._admit_and_evaluate(assembled, run) for run in extraction.runs]
            for receipt in assembled.receipts:
                await receipt.secure()
            finished = self._count(assembled, extraction, evaluations)
            await self._emit(evaluations)
            outcome = Outcome.DONE
        except Withdrawn:
            log.info("trace %s: left to whom its source gave it", assembled.trace_id.hex())
        except SinkError as error:
            log.warning("trace %s: evaluation not delivered: %s", assembled.trace_id.hex(), error)
        except Exception:
            log.exception("trace %s: internal error", assembled.trace_id.hex())
            self._metrics.trace_done(UNKNOWN_SERVICE, TraceOutcome.UNSCORED)
            self._metrics.refused(UNKNOWN_SERVICE, Reason.INTERNAL_ERROR)
            finished = self._finished(assembled, TraceOutcome.UNSCORED, Reason.INTERNAL_ERROR)
            outcome = Outcome.DONE  # reading it again would only fail again
        finally:
            if finished is not None:
                self._finish(finished if outcome is Outcome.DONE else replace(finished, delivered=False))
            if settles:
                for receipt in self.assembler.release(assembled, again=outcome is Outcome.FAILED):
                    receipt.settle(outcome)

    async def _extract(self, assembled: Assembled) -> Extraction:
        """What is in the trace; known already where it waited for late spans in vain."""
        if isinstance(assembled.parked, Extraction):
            return assembled.parked
        return await self._read(open_trace(assembled))

    def _waits(self, assembled: Assembled, extraction: Extraction) -> bool:
        """Whether late spans could still make something of this trace."""
        if assembled.final or extraction.outcome is None:
            return False
        return extraction.outcome is TraceOutcome.NOT_RAG or extraction.reason in MENDED_BY_LATE_SPANS

    async def _admit_and_evaluate(self, assembled: Assembled, run: RagRun) -> Evaluation:
        admitted = self.sampler.admitted(run, assembled.trace_id)
        if admitted is None:
            return Evaluation(run, None, (), TraceOutcome.NOT_SAMPLED)
        return await self._evaluate(admitted)

    async def _emit(self, evaluations: Sequence[Evaluation]) -> None:
        """Hand what a judge said to all sinks; return when each has it. Raises SinkError."""
        told = [evaluation for evaluation in evaluations if evaluation.judged_by is not None]
        if not told:
            return
        deliveries = (self._deliver(sink, evaluation) for evaluation in told for sink in self._sinks)
        for failure in await asyncio.gather(*deliveries, return_exceptions=True):
            if isinstance(failure, BaseException):
                raise failure

    async def _deliver(self, sink: Sink, evaluation: Evaluation) -> None:
        try:
            await sink.emit(evaluation)
        except DroppedError as dropped:
            log.warning("an evaluation was dropped: %s", dropped)
            self._metrics.sink(sink.name, "dropped")
            return
        except Exception as error:
            self._metrics.sink(sink.name, "failed")
            if isinstance(error, SinkError):
                raise
            log.exception("sink %s: it failed in a way of its own", sink.name)
            raise SinkError(f"{sink.name} failed: {type(error).__name__}") from error
        self._metrics.sink(sink.name, "ok")

    def _count(self, assembled: Assembled, extraction: Extraction, evaluations: Sequence[Evaluation]) -> Finished:
        """Count what was judged before it is sent: an outage of a sink does not silence the metrics."""
        metrics = self._metrics
        metrics.closed(assembled.closed or Closed.DRAINED)
        for evaluation in evaluations:
            if evaluation.outcome is not TraceOutcome.NOT_SAMPLED:
                metrics.evaluated(evaluation)
            if evaluation.judged_by is not None:
                metrics.judge_call(evaluation.judged_by, None if evaluation.judgement else evaluation.reason)
        if evaluations:
            self._observe(evaluations)
            service, (outcome, reason) = evaluations[0].run.service, trace_outcome(evaluations)
        else:
            service, reason = extraction.service, extraction.reason
            outcome = extraction.outcome or TraceOutcome.NOT_RAG
            if reason is not None:
                metrics.refused(service, reason)
        metrics.trace_done(service, outcome)
        return self._finished(assembled, outcome, reason, service, evaluations, extraction)

    def _repeated(self, assembled: Assembled, service: str) -> Finished:
        """Count a trace that was read again after it had been evaluated."""
        self._metrics.closed(assembled.closed or Closed.DRAINED)
        self._metrics.trace_done(service, TraceOutcome.REDELIVERED)
        return self._finished(assembled, TraceOutcome.REDELIVERED, service=service)

    @staticmethod
    def _finished(
        assembled: Assembled,
        outcome: TraceOutcome,
        reason: Reason | None = None,
        service: str = UNKNOWN_SERVICE,
        evaluations: Sequence[Evaluation] = (),
        extraction: Extraction = NOTHING_READ,
    ) -> Finished:
        return Finished(
            assembled.trace_id,
            outcome,
            reason,
            service,
            assembled.closed or Closed.DRAINED,
            len(assembled.spans),
            evaluations,
            extraction.convention,
            extraction.hint,
            () if evaluations else extraction.considered,
        )
