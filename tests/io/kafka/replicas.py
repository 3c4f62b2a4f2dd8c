"""Replicas of the line over a simulated cluster: the real source, assembler and pipeline; judge and sink by script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from otel_ctxscore.config.intake import KafkaSource as Settings
from otel_ctxscore.core.assembly import Limits, TraceAssembler
from otel_ctxscore.core.codec import fuller
from otel_ctxscore.core.conventions import Extraction, extract
from otel_ctxscore.core.model import Evaluation, Judgement, RagRun, Verdict
from otel_ctxscore.core.sampling import Sampler
from otel_ctxscore.core.spans import Trace
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.io.kafka.group import Member, Rebalanced
from otel_ctxscore.io.kafka.source import KafkaSource
from otel_ctxscore.pipeline import Pipeline
from otel_ctxscore.ports import SinkError
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.testing import ScriptedJudge

LIMITS = Limits(quiet_period=5, idle=20, max_age=60, late_window=5)
Join = Callable[[Rebalanced], Awaitable[Member]]


@dataclass
class World:
    """What all replicas share: how slow the judge is, whether the sink takes anything, and what it has."""

    judging_seconds: float = 0.0
    refusals: int = 0
    """So many evaluations are refused, then no more."""
    fatal: bool = False
    """The next process that sends an evaluation dies of it."""
    died: list[Replica] = field(default_factory=list)
    reachable: asyncio.Event = field(default_factory=asyncio.Event)
    emitted: list[Evaluation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reachable.set()


class Replica:
    """One process. `kill` is a crash: nothing of it happens any more."""

    def __init__(self, world: World, join: Join, limits: Limits = LIMITS, **settings: object) -> None:
        self.world = world
        self.killed = False
        self.metrics = Metrics(["context_precision"])
        self._judge = ScriptedJudge(lambda run: Judgement([Verdict(useful=True)] * len(run.judged)))
        clock = asyncio.get_running_loop().time
        chosen = Settings.model_validate({"brokers": ["127.0.0.1:9092"], **settings})
        self.source = KafkaSource(
            chosen,
            counts=self.metrics.intake("kafka"),
            reconnected=self.metrics.kafka_reconnected,
            join=join,
            clock=clock,
        )
        self.line = Pipeline(
            sampler=Sampler(),
            assembler=TraceAssembler(limits, fuller),
            read=self._read,
            evaluate=self._evaluate,
            sinks=[self],
            metrics=self.metrics,
            clock=clock,
        )
        self._tasks: list[asyncio.Task[None]] = []

    name = "memory"

    async def start(self) -> Replica:
        self._tasks.append(asyncio.create_task(self.line.run()))
        await self.source.start(self.line)
        return self

    async def stop(self) -> None:
        """End as the service does."""
        await self.source.stop()
        self._end_tasks()
        await self.line.drain()
        await self.source.close()

    async def kill(self) -> None:
        self.killed = True
        self._end_tasks()
        for task in (self.source._task, self.source._committing):
            if task is not None:
                task.cancel()
        await self.line.abandon()

    def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _read(self, trace: Trace) -> Extraction:
        return extract(trace)

    async def _evaluate(self, run: RagRun) -> Evaluation:
        await asyncio.sleep(self.world.judging_seconds)
        return await evaluate(run, self._judge, [ContextPrecision()])

    async def emit(self, evaluation: Evaluation) -> None:
        await self.world.reachable.wait()
        if self.killed:
            raise SinkError("dead")
        if self.world.refusals:
            self.world.refusals -= 1
            raise SinkError("not this one")
        self.world.emitted.append(evaluation)
        if self.world.fatal:
            self.world.fatal = False
            self.world.died.append(self)
            self._dying = asyncio.create_task(self.kill())

    async def close(self) -> None:
        return
