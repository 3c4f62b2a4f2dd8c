from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from otel_ctxscore.core.assembly import Limits, TraceAssembler, Waiting
from otel_ctxscore.core.codec import fuller, take_traces
from otel_ctxscore.core.conventions import Extraction, extract
from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.model import Evaluation, Judgement, RagRun, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.receipts import Outcome, Receipt
from otel_ctxscore.core.sampling import Sampler
from otel_ctxscore.core.spans import Delivery, Trace
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.pipeline import Pipeline
from otel_ctxscore.ports import DroppedError, Full, Sink, SinkError
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.telemetry import Metrics, catalogue
from otel_ctxscore.testing import MemorySink, ScriptedJudge
from tests.otlp import rag, request, span

LIMITS = Limits(quiet_period=10, idle=120, max_age=600, late_window=300)


class Clock:
    """A steady clock that moves when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Rig:
    """A pipeline with a scripted judge and a sink in memory; `settled` is what the source hears."""

    def __init__(self, *sinks: Sink, limits: Limits = LIMITS, sampler: Sampler | None = None) -> None:
        self.clock = Clock()
        self.judge = ScriptedJudge(lambda run: Judgement([Verdict(useful=True)] * len(run.judged)))
        self.sink = MemorySink()
        self.metrics = Metrics(["context_precision"])
        self.settled: list[Outcome] = []
        self.finished: list[Finished] = []
        self.evaluated: dict[bytes, str] = {}
        self.reads = 0
        self.line = Pipeline(
            sampler=sampler or Sampler(),
            assembler=TraceAssembler(limits, fuller),
            read=self._read,
            evaluate=self._evaluate,
            sinks=sinks or (self.sink,),
            metrics=self.metrics,
            finish=self.finished.append,
            evaluated=self._evaluated,
            clock=self.clock,
        )

    async def _read(self, trace: Trace) -> Extraction:
        self.reads += 1
        return extract(trace)

    async def _evaluated(self, trace_id: bytes) -> str | None:
        return self.evaluated.get(trace_id)

    async def _evaluate(self, run: RagRun) -> Evaluation:
        return await evaluate(run, self.judge, [ContextPrecision()])

    def deliver(self, *spans: dict[str, object], redelivered: bool = False) -> None:
        taken = take_traces(request(spans), "json", self.line.keeps)
        receipt = Receipt(self.settled.append)
        self.line.accept(Delivery(taken.spans, receipt, taken.logs, redelivered, "test"))
        receipt.settle()

    async def at(self, now: float) -> None:
        """Let time pass, and everything happen that is due by then."""
        self.clock.now = now
        self.line.wake()
        for _ in range(20):
            await asyncio.sleep(0)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.line.run())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def count(self, metric: catalogue.Metric, by: str) -> dict[str, float]:
        return {name: value for name, value in self.metrics.total(metric, by).items() if value}


async def test_a_trace_is_scored_once_and_its_receipts_settle_when_the_sink_has_it() -> None:
    rig = Rig()
    async with rig.running():
        rig.deliver(rag()[1])
        rig.deliver(rag()[0])
        await rig.at(9.9)
        assert not rig.sink.evaluations
        await rig.at(10)
    [evaluation] = rig.sink.evaluations
    assert [score.value for score in evaluation.scores if score.name == "context_precision"] == [1.0]
    assert rig.settled == [Outcome.DONE, Outcome.DONE]
    assert rig.count(catalogue.TRACES, "outcome") == {"scored": 1}
    assert rig.count(catalogue.CLOSED_TRACES, "closed") == {"root_seen": 1}


@pytest.mark.trouble("C08")
async def test_duplicates_and_late_spans_cause_no_second_judge_call() -> None:
    rig = Rig()
    async with rig.running():
        rig.deliver(*rag())
        await rig.at(1)
        rig.deliver(*rag())
        await rig.at(10)
        rig.deliver(*rag())
        await rig.at(300)
    assert len(rig.judge.runs) == 1
    assert rig.settled == [Outcome.DONE] * 3
    assert rig.count(catalogue.SPANS, "result") == {"kept": 2, "duplicate": 2, "late": 2}


async def test_a_trace_without_a_run_waits_for_late_spans_and_is_counted_once() -> None:
    rig = Rig()
    async with rig.running():
        rig.deliver(rag(1)[0])
        rig.deliver(rag(2)[0])
        await rig.at(10)
        assert rig.line.waits_for((2).to_bytes(16)) == Waiting(-10, 300, 300, root_seen=True, late=True)
        assert rig.line.waits_for((3).to_bytes(16)) is None
        assert rig.count(catalogue.TRACES, "outcome") == {}
        assert rig.settled == []
        rig.clock.now = 200
        rig.deliver(rag(1)[1])
        await rig.at(210)
        assert len(rig.judge.runs) == 1
        reads = rig.reads
        await rig.at(310)
        assert rig.reads == reads, "what was said before the wait is not read again"
    assert rig.count(catalogue.TRACES, "outcome") == {"scored": 1, "not_rag": 1}
    assert rig.settled == [Outcome.DONE] * 3


async def test_what_a_judge_failed_on_is_emitted_with_its_reason_and_done() -> None:
    rig = Rig()
    rig.judge = ScriptedJudge(lambda run: Reason.JUDGE_REFUSED)
    async with rig.running():
        rig.deliver(*rag())
        await rig.at(10)
    [evaluation] = rig.sink.evaluations
    assert evaluation.reason is Reason.JUDGE_REFUSED
    assert rig.count(catalogue.JUDGE_CALLS, "result") == {"judge_refused": 1}
    assert rig.settled == [Outcome.DONE]


async def test_what_extraction_refused_reaches_no_judge_and_no_sink() -> None:
    rig = Rig(limits=Limits(quiet_period=10, late_window=20))
    async with rig.running():
        rig.deliver(*rag(documents=()))
        await rig.at(10)
        await rig.at(30)
    assert (rig.judge.runs, rig.sink.evaluations) == ([], [])
    assert rig.count(catalogue.UNSCORED, "reason")["no_contexts"] >= 1
    assert rig.count(catalogue.RETRIEVALS, "result") == {"empty": 1}
    assert rig.settled == [Outcome.DONE]


class Refusing:
    """A sink that refuses the first so many evaluations for good."""

    name = "refusing"

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.taken = 0

    async def emit(self, evaluation: Evaluation) -> None:
        if self.refusals:
            self.refusals -= 1
            raise SinkError("no")
        self.taken += 1

    async def close(self) -> None:
        return None


async def test_what_a_sink_refuses_fails_its_receipts_and_can_come_again() -> None:
    sink = Refusing(1)
    rig = Rig(sink)
    async with rig.running():
        rig.deliver(*rag())
        await rig.at(10)
        assert rig.settled == [Outcome.FAILED]
        rig.deliver(*rag(), redelivered=True)
        await rig.at(20)
    assert rig.settled == [Outcome.FAILED, Outcome.DONE]
    assert sink.taken == 1
    assert rig.count(catalogue.EVALUATIONS, "result") == {"failed": 1, "ok": 1}
    assert sum(rig.count(catalogue.SCORE_WEIGHT, "scorer").values()) > 0


class Broken(MemorySink):
    """A sink of somebody's own with a fault in it."""

    async def emit(self, evaluation: Evaluation) -> None:
        raise KeyError("observation")


async def test_a_sink_that_breaks_fails_its_receipts_and_counts_the_trace_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig(Broken(), MemorySink())
    async with rig.running():
        rig.deliver(*rag())
        await rig.at(10)
    assert rig.settled == [Outcome.FAILED]
    assert rig.count(catalogue.EVALUATIONS, "result") == {"failed": 1, "ok": 1}
    assert rig.count(catalogue.TRACES, "outcome") == {"scored": 1}
    assert [finished.delivered for finished in rig.finished] == [False]
    assert "KeyError: 'observation'" in caplog.text


class LeavingOut(MemorySink):
    async def emit(self, evaluation: Evaluation) -> None:
        raise DroppedError("left out 1 of 1")


async def test_what_a_receiver_leaves_out_is_done_with_and_counted() -> None:
    rig = Rig(LeavingOut())
    async with rig.running():
        rig.deliver(*rag())
        await rig.at(10)
    assert rig.settled == [Outcome.DONE]
    assert rig.count(catalogue.EVALUATIONS, "result") == {"dropped": 1}


async def test_a_fault_of_our_own_is_counted_and_loses_no_receipt() -> None:
    rig = Rig()

    async def broken(trace: Trace) -> Extraction:
        raise RuntimeError("broken")

    rig.line._read = broken
    async with rig.running():
        rig.deliver(*rag())
        await rig.at(10)
    assert rig.settled == [Outcome.DONE]
    assert rig.count(catalogue.UNSCORED, "reason") == {"internal_error": 1}


async def test_a_full_line_takes_nothing_and_says_when_there_is_room() -> None:
    rig = Rig(limits=Limits(quiet_period=10, max_traces=2))
    release = asyncio.Event()
    original = rig.judge.judge

    async def slow(run: RagRun) -> Judgement:
        await release.wait()
        return await original(run)

    rig.judge.judge = slow  # type: ignore[method-assign]
    async with rig.running():
        for number in (1, 2):
            rig.deliver(*rag(number))
        await rig.at(10)
        for number in (3, 4):
            rig.deliver(*rag(number))
        with pytest.raises(Full):
            rig.deliver(*rag(5))
        waiting = asyncio.create_task(rig.line.room())
        await rig.at(11)
        assert not waiting.done()
        release.set()
        await rig.at(12)
        assert waiting.done()
        rig.deliver(*rag(5))
        await rig.at(30)
    assert sorted(e.run.trace_id or "" for e in rig.sink.evaluations) == [f"{n:032x}" for n in (1, 2, 3, 4, 5)]
    assert rig.settled == [Outcome.DONE] * 5, "nothing was half accepted and nothing lost"


async def test_traces_that_sampling_leaves_out_never_become_objects() -> None:
    rig = Rig(sampler=Sampler(0.0))
    async with rig.running():
        rig.deliver(*rag())
        await rig.at(10)
    assert (rig.reads, rig.settled) == (0, [Outcome.DONE])


# ---- what the ledger hears --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("refusals", "delivered"), [(0, True), (9, False)])
async def test_each_trace_is_finished_once_with_what_became_of_it(refusals: int, delivered: bool) -> None:
    rig = Rig(Refusing(refusals))
    async with rig.running():
        rig.deliver(*rag(1))
        rig.deliver(span(2, 1, None, {"http.route": "/"}))
        await rig.at(10)
        await rig.at(400)
    scored, other = rig.finished
    assert (scored.trace_id, scored.outcome, scored.service) == ((1).to_bytes(16), TraceOutcome.SCORED, "shop")
    assert (scored.spans, scored.delivered, len(scored.evaluations)) == (2, delivered, 1)
    assert (other.outcome, other.spans, other.delivered) == (TraceOutcome.NOT_RAG, 1, True)
    assert not other.evaluations


@pytest.mark.parametrize("redelivered", [True, False])
async def test_what_was_evaluated_and_is_read_again_is_not_judged_again(redelivered: bool) -> None:
    rig = Rig()
    rig.evaluated[(1).to_bytes(16)] = "shop"
    async with rig.running():
        rig.deliver(*rag(1), redelivered=redelivered)
        rig.deliver(*rag(2), redelivered=redelivered)
        await rig.at(10)
    first = TraceOutcome.REDELIVERED if redelivered else TraceOutcome.SCORED
    assert [(done.outcome, done.service) for done in rig.finished] == [(first, "shop"), (TraceOutcome.SCORED, "shop")]
    assert len(rig.sink.evaluations) == (1 if redelivered else 2)
    assert rig.metrics.total(catalogue.TRACES, "outcome")["redelivered"] == redelivered
    assert rig.settled == [Outcome.DONE, Outcome.DONE]


async def test_drain_ends_what_is_held_and_abandon_fails_what_does_not_end() -> None:
    rig = Rig()
    rig.deliver(*rag(1))
    await rig.line.drain()
    assert len(rig.sink.evaluations) == 1

    forever = Rig()

    async def never(run: RagRun) -> Judgement:
        await asyncio.Event().wait()
        raise AssertionError

    forever.judge.judge = never  # type: ignore[method-assign]
    forever.deliver(*rag(2))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(forever.line.drain(), 0.01)
    assert await forever.line.abandon() == 1
    assert forever.settled == [Outcome.FAILED]


def test_the_age_of_the_oldest_waiting_trace() -> None:
    rig = Rig()
    assert rig.line.oldest_waiting_seconds() == 0
    rig.deliver(*rag())
    rig.clock.now = 7
    assert rig.line.oldest_waiting_seconds() == 7
