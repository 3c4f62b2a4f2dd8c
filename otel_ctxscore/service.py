"""The service: parts from the configuration, their start, health, drain and stop."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from functools import partial
from importlib.metadata import version
from pathlib import Path

from otel_ctxscore import config as configuration
from otel_ctxscore import parts
from otel_ctxscore.config import Config
from otel_ctxscore.core.assembly import TraceAssembler, Waiting
from otel_ctxscore.core.budget import Window
from otel_ctxscore.core.codec import fuller
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.core.stats import Stage
from otel_ctxscore.evaluation import evaluate, with_relatives
from otel_ctxscore.io.jsonl import JsonlSink
from otel_ctxscore.io.otlp_grpc import OtlpGrpc
from otel_ctxscore.io.otlp_http import OtlpHttp
from otel_ctxscore.io.otlp_sink import OtlpSink
from otel_ctxscore.io.state import History, Kept, StoredVerdicts, opened
from otel_ctxscore.io.webhook import WebhookSink
from otel_ctxscore.judges.drawing import TwoJudges
from otel_ctxscore.judging import Judging
from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus, Circumstances, Monitor, Pace, Series
from otel_ctxscore.pipeline import Pipeline
from otel_ctxscore.ports import CountsInFlight, Judge, Sink, Source
from otel_ctxscore.reviewing import Reviewing
from otel_ctxscore.telemetry import Evaluator, Metrics, catalogue
from otel_ctxscore.web import AdminServer, Reloaded, Snapshot, SourceStatus, Whereabouts
from otel_ctxscore.web.standings import Standings

log = logging.getLogger(__name__)

RELOADED = ("targets", "sampling", "budget")
"""Sections that are read again while the service runs."""
LEFT_FOR_SINKS, LEFT_FOR_SOURCES = 0.3, 0.1
"""Shares of the grace period that are kept for sending what is judged, and for committing and closing."""


class State(StrEnum):
    """Where the service stands in its life."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"
    STOPPED = "stopped"


class Service:
    """All parts of one process. `run` lives until `stop` is called; the parts are public for tests and the page."""

    def __init__(self, config: Config, *, file: Path | None = None, pace: Pace | None = None) -> None:
        """`file` is where the configuration was read and is read again. `pace` lets the alarm's clock go faster, for
        a demonstration."""
        self.config = config
        self._file = file
        self.state = State.STARTING
        self.pace = pace or Pace()
        self.replica = f"{socket.gethostname()}/{secrets.token_hex(4)}"
        self._stop = asyncio.Event()
        self._fresh: Judge | None = None
        self.database = opened(
            config.state.path,
            max_size=config.state.max_size,
            max_age=config.state.max_age,
            content_max_age=config.content.max_age,
        )
        self._kept = Kept(self.database)
        # Verdicts hold notes, which are text.
        judges = parts.judge(config, StoredVerdicts(self.database) if config.content.store == "text" else None)
        self.judge = parts.published(judges)
        self.scorers, self.off = parts.scorers(config, self.judge)
        self.budget = parts.budget(config)
        self.judging = Judging(judges, self.scorers, self.budget, salt=config.sampling.salt)
        self._stages: tuple[Stage, ...] = ("screened", "judged") if isinstance(judges, TwoJudges) else ("judged",)
        self.history = History(
            self.database,
            store=config.content.store,
            segments=config.segments,
            leading=[scorer.name for scorer in self.scorers],
            tick=self.pace.tick,
        )
        self.standings = Standings()
        self.metrics = Metrics(
            [scorer.name for scorer in with_relatives(self.scorers)],
            max_values=config.metrics.max_values,
            targets=config.targets,
        )
        self.monitor = Monitor(
            config,
            self.metrics,
            self._kept,
            self._judge_anew,
            [scorer.name for scorer in self.scorers],
            pace=self.pace,
        )
        self.sinks = sinks(config)
        self.sources = sources(config, self.metrics)
        self.pipeline = Pipeline(
            sampler=parts.sampler(config),
            assembler=TraceAssembler(parts.limits(config), fuller),
            read=parts.reader(config),
            evaluate=self._evaluate,
            sinks=self.sinks,
            metrics=self.metrics,
            observe=self.monitor.observe,
            finish=self.history.finished,
            evaluated=self.history.evaluated,
        )
        reviewing = Reviewing(self.history, self._kept, self._judge_anew, self.budget, spent=self._keep_budget)
        self.admin = AdminServer(config.admin, self, self.metrics, reviewing)
        self._began = time.time()
        self._declare()

    async def _evaluate(self, run: RagRun) -> Evaluation:
        evaluation = await self.judging.evaluate(run)
        self.standings.add(evaluation)
        now = time.time()
        if self.budget.blown(now):
            self.history.hours.truncated(now)
        if evaluation.judged_by is not None:
            self._keep_budget()
        return evaluation

    def _keep_budget(self) -> None:
        if self.budget.limits.by_day:
            self._kept.put("budget", "today", self.budget.as_dict())

    async def _judge_anew(self, run: RagRun) -> Evaluation:
        """Judge an anchor, or a run that somebody picked, by a judge of its own that knows no verdict from before."""
        self._fresh = self._fresh or parts.published(parts.judge(self.config))
        evaluation = await evaluate(run, self._fresh, self.scorers)
        if evaluation.judged_by is not None:
            self.metrics.judge_call(evaluation.judged_by, None if evaluation.judgement else evaluation.reason)
        return evaluation

    def _declare(self) -> None:
        """What metrics can be zero from the start, and what is read at each scrape."""
        judge = self.judge
        self.metrics.declare_judge(judge.tier, judge.model, priced=parts.priced(self.config))
        for scorer in with_relatives(self.scorers):
            version = parts.version_under(scorer, judge)
            self.metrics.declare_evaluator(
                Evaluator(scorer.name, version, judge.tier, judge.model, scorer.definition, stages=self._stages)
            )
        for sink in self.sinks:
            self.metrics.declare_sink(sink.name)
        self.metrics.watch(catalogue.OPEN_TRACES, lambda: self.pipeline.assembler.open_traces)
        self.metrics.watch(catalogue.OPEN_BYTES, lambda: self.pipeline.assembler.open_bytes)
        self.metrics.watch(catalogue.OLDEST_WAITING, self.pipeline.oldest_waiting_seconds)
        if isinstance(judge, CountsInFlight):
            self.metrics.watch(catalogue.JUDGE_IN_FLIGHT, lambda: judge.in_flight, judge.tier, judge.model)
        self._declare_budget()

    def _declare_budget(self) -> None:
        """Readings of windows without a limit are None and not shown: a reload may set or lift one."""
        windows: tuple[Window, ...] = ("minute", "day")
        for window in windows:
            self.metrics.watch(catalogue.BUDGET_USED, partial(self.budget.used_ratio, window), window)
            self.metrics.watch(catalogue.BUDGET_OPEN, partial(self._budget_open, window), window)

    def _budget_open(self, window: Window) -> float | None:
        found = self.budget.is_open(window, time.time())
        return None if found is None else float(found)

    def stop(self) -> None:
        """Ask `run` to drain and end."""
        self._stop.set()

    async def run(self, started: Callable[[Service], None] | None = None) -> None:
        """Live: start, call `started` when ready, wait for `stop`, drain, end. Raises ConfigError where a part cannot
        start."""
        await self.admin.start()
        line = asyncio.create_task(self.pipeline.run(), name="pipeline")
        monitoring = asyncio.create_task(self.monitor.run(), name="monitoring")
        try:
            await self.monitor.restore()
            self.budget.restore(time.time(), (await self._kept.all("budget")).get("today", {}))
            for source in self.sources:
                await source.start(self.pipeline)
            self.state = State.READY
            ports = [
                f"{source.name} {source.port}" for source in self.sources if isinstance(source, OtlpGrpc | OtlpHttp)
            ]
            log.info("ready: page and metrics on %s%s", self.admin.url, f"; ports: {', '.join(ports)}" if ports else "")
            for scorer in self.off:
                log.info("%s is off: the %s judge does not fill what it needs", scorer.name, self.judge.tier)
            if started is not None:
                started(self)
            ended = asyncio.create_task(self._stop.wait())
            await asyncio.wait([ended, line], return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
        finally:
            await self._end(line)
            monitoring.cancel()
            await asyncio.gather(monitoring, return_exceptions=True)
            self.monitor.save()
            self.history.save()
            await self.database.close()

    async def _end(self, line: asyncio.Task[None]) -> None:
        """Stop reading, finish what can be finished in time, send, commit, close: each with its share of the grace."""
        self.state = State.DRAINING
        grace, began = self.config.shutdown.grace, time.monotonic()
        log.info("draining, for %g s at most", grace)
        await self._within(began + grace * LEFT_FOR_SOURCES, "sources", *(source.stop() for source in self.sources))
        line.cancel()
        drained = began + grace * (1 - LEFT_FOR_SINKS - LEFT_FOR_SOURCES)
        await self._within(drained, "judging", self.pipeline.drain())
        await self._within(began + grace * (1 - LEFT_FOR_SOURCES), "sinks", *(sink.close() for sink in self.sinks))
        abandoned = await self.pipeline.abandon()
        if abandoned:
            log.warning("%d traces were abandoned: they were not judged or not delivered in time", abandoned)
        await self._within(began + grace, "connections", *(source.close() for source in self.sources))
        self.state = State.STOPPED
        log.info("stopped after %.1f s", time.monotonic() - began)
        await self.admin.stop()
        if line.done() and not line.cancelled() and (error := line.exception()):
            raise error

    async def _within(self, deadline: float, what: str, *work: Awaitable[object]) -> None:
        """Do all of it until the deadline; what fails or takes longer is logged, for the rest must still happen."""
        tasks = [asyncio.ensure_future(one) for one in work]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=max(0.0, deadline - time.monotonic()))
        for task in late:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                log.warning("stopping: %s: %s", what, result)
        if late:
            log.warning("stopping: %s did not end in time", what)

    # ---- health -------------------------------------------------------------------------------------------------

    def not_alive(self) -> str | None:
        """Why an orchestrator should restart this process; None where it should not."""
        return next((why for source in self.sources if (why := source.unhealthy())), None)

    def not_ready(self) -> str | None:
        """Why no traffic should be sent here now; None where it can."""
        return None if self.state is State.READY else str(self.state)

    def snapshot(self) -> Snapshot:
        """What the status page shows now."""
        total = self.metrics.total
        return Snapshot(
            state=str(self.state),
            version=version("otel-ctxscore"),
            judge=f"{self.judge.tier}: {self.judge.model}",
            started=self._began,
            now=time.time(),
            cause=self.not_ready() or self.not_alive(),
            sources=[self._source_status(source) for source in self.sources],
            open_traces=self.pipeline.assembler.open_traces,
            evaluations=total(catalogue.EVALUATIONS, "result"),
            standings=self.standings.rows(self.monitor.status),
            alarms=[record for record in self.alarms() if record.is_up],
            off=[scorer.name for scorer in self.off],
        )

    def alarms(self) -> Sequence[AlarmRecord]:
        """The alarms that are kept, the latest first."""
        return self.monitor.alarms.records()

    def alarm_statuses(self) -> Sequence[tuple[Series, AlarmStatus]]:
        """The alarm of each series as it stands."""
        return self.monitor.statuses()

    @property
    def segments(self) -> Sequence[str]:
        """The names of the segments that are configured."""
        return tuple(self.config.segments)

    def circumstances(self, record: AlarmRecord) -> Circumstances:
        """What an inquiry into an alarm needs to know beside the sums."""
        return self.monitor.circumstances(record)

    async def acknowledge(self, known: str, by: str) -> AlarmRecord | None:
        """A person took note of an alarm, and it is kept on disk; None where there is no such alarm."""
        record = self.monitor.acknowledge(known, by)
        await self.database.flush()
        return record

    def whereabouts(self, trace_id: bytes) -> Whereabouts:
        """Where a trace is that is not finished."""
        if self.pipeline.holds(trace_id):
            return "open"
        return "unknown" if self.pipeline.keeps(trace_id) else "sampled_out"

    def waits_for(self, trace_id: bytes) -> Waiting | None:
        """What a trace waits for, in Unix seconds; None where it does not wait for spans."""
        known = self.pipeline.waits_for(trace_id)
        return known and known.moved(time.time())

    def reload(self) -> Reloaded:
        """Read targets, sampling rules and budgets again. Raises ConfigError, and has changed nothing then."""
        try:
            new = self._read_again()
            parts.wanted(new)
            changed = [name for name in Config.model_fields if getattr(new, name) != getattr(self.config, name)]
            done = Reloaded(
                [name for name in changed if name in RELOADED], [name for name in changed if name not in RELOADED]
            )
            config = self.config.model_copy(update={name: getattr(new, name) for name in done.applied})
            # Under the judge that runs: a price that the file now gives counts after a restart only.
            budget, sampler = parts.budget(config), parts.sampler(config)
        except ConfigError as error:
            log.error("reload: nothing has changed: %s", "; ".join(error.lines))
            raise
        self.config, self.pipeline.sampler = config, sampler
        self.budget.relimit(budget.limits, budget.fraction)
        self.metrics.retarget(self.config.targets)
        self.monitor.apply(self.config)
        log.info("reload: %s", ", ".join(done.applied) or "nothing that can be applied has changed")
        if done.needs_restart:
            log.warning("reload: changed, but only a restart applies it: %s", ", ".join(done.needs_restart))
        return done

    def _read_again(self) -> Config:
        if self._file is None:
            raise ConfigError("the service was started without a configuration file")
        return configuration.load(self._file)

    def _source_status(self, source: Source) -> SourceStatus:
        spans = self.metrics.total(catalogue.SPANS, "result", source=source.name)
        return SourceStatus(source.name, source.unhealthy(), spans)


def sources(config: Config, metrics: Metrics) -> list[Source]:
    """The configured sources, not started."""
    found: list[Source] = []
    otlp = config.sources.otlp
    if otlp is not None:
        token = otlp.auth.token_file if otlp.auth is not None else None
        kinds = (("otlp_grpc", otlp.grpc, OtlpGrpc), ("otlp_http", otlp.http, OtlpHttp))
        for name, listen, make in kinds:
            if listen is not None:
                counts = metrics.intake(name)
                size = otlp.max_request_size
                found.append(make(listen, max_request_size=size, counts=counts, tls=otlp.tls, token_file=token))
    if config.sources.kafka is not None:
        from otel_ctxscore.io.kafka.source import KafkaSource

        metrics.split_traces(0)
        for cause in catalogue.CAUSE.values:
            metrics.kafka_reconnected(cause, 0)
        kafka = KafkaSource(
            config.sources.kafka,
            counts=metrics.intake("kafka"),
            split=metrics.split_traces,
            reconnected=metrics.kafka_reconnected,
        )
        metrics.watch(catalogue.KAFKA_LAG, kafka.lag)
        metrics.watch(catalogue.KAFKA_PARTITIONS, kafka.assigned_partitions)
        metrics.watch(catalogue.OLDEST_UNCOMMITTED, kafka.oldest_uncommitted_seconds)
        metrics.watch(catalogue.SINCE_POLL, kafka.seconds_since_poll)
        found.append(kafka)
    return found


def sinks(config: Config) -> list[Sink]:
    """The configured sinks. Where `sinks.otlp` is absent, OTEL_EXPORTER_OTLP_* can switch it on."""
    section, content = config.sinks, config.content.emit
    otlp = (
        OtlpSink.from_config(section.otlp, content=content)
        if section.otlp is not None
        else OtlpSink.from_environment(os.environ, content=content)
    )
    found: list[Sink] = [otlp] if otlp is not None else []
    if section.jsonl is not None:
        found.append(JsonlSink(section.jsonl.path, content=content))
    if section.kafka is not None:
        from otel_ctxscore.io.kafka.sink import KafkaSink

        found.append(KafkaSink(section.kafka, content=content))
    if section.webhook is not None:
        found.append(WebhookSink(section.webhook.url, section.webhook.secret.get_secret_value(), content=content))
    return [*found, *parts.custom_sinks(config)]
