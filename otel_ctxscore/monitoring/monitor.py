"""All of monitoring for one service: fed by the pipeline, kept in the state, shown as gauges."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence

from otel_ctxscore.config import Config
from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.monitoring.alarms import STATES, Alarms, AlarmStatus
from otel_ctxscore.monitoring.anchors import Judging
from otel_ctxscore.monitoring.baseline import Baselines
from otel_ctxscore.monitoring.findings import Circumstances
from otel_ctxscore.monitoring.histograms import DAY, DailyHistograms
from otel_ctxscore.monitoring.records import AlarmRecord
from otel_ctxscore.monitoring.rounds import Rounds
from otel_ctxscore.monitoring.rules import Pace, Rules
from otel_ctxscore.monitoring.series import Series, counted
from otel_ctxscore.monitoring.store import Store
from otel_ctxscore.monitoring.sums import EstimatorSums
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.telemetry import catalogue as c
from otel_ctxscore.telemetry.labels import clean

log = logging.getLogger(__name__)

SAVE_SECONDS = 60.0
"""Seconds of evidence that a kill can lose."""
ANCHORS_A_TICK = 2


class Monitor:
    """`scorers` are those that have an alarm. `judge` judges an anchor anew. `clock` gives Unix seconds. All methods
    belong to the event loop's thread."""

    def __init__(
        self,
        config: Config,
        metrics: Metrics,
        store: Store,
        judge: Judging,
        scorers: Collection[str],
        *,
        clock: Callable[[], float] = time.time,
        pace: Pace | None = None,
    ) -> None:
        self._metrics = metrics
        self._clock = clock
        self._bursts: asyncio.Queue[AlarmRecord] = asyncio.Queue()
        self._segments = tuple(config.segments)
        self._sums = EstimatorSums(metrics, config.segments)
        self._histograms = DailyHistograms(store, days=max(1, int(config.state.max_age / DAY)))
        self._baselines = Baselines(store, metrics)
        self.alarms = Alarms(
            scorers, Rules.of(config), store, pace=pace, rose=self._bursts.put_nowait, idle=config.state.max_age
        )
        self._rounds = Rounds(store, judge, self.alarms, random.Random())
        metrics.watch_rows(c.ALARM_RATIO, lambda: self._rows(lambda status: status.ratio))
        metrics.watch_rows(c.ALARM_STATE, lambda: self._rows(lambda status: STATES[status.state]))
        metrics.watch_rows(c.REFERENCE_RATIO, lambda: self._rows(lambda status: status.reference))
        metrics.watch_rows(c.ALARM_CLIPPED_RATIO, self.alarms.clipped)
        metrics.watch_rows(c.ANCHOR_ALARM_RATIO, self._rounds.ratios)

    def observe(self, evaluations: Sequence[Evaluation]) -> None:
        """Take the evaluations of one trace, all together. What goes wrong here costs a number, never a score."""
        try:
            found, now = counted(evaluations), self._clock()
            self._sums.add(found)
            self._histograms.observe(found, self._label, now)
            self.alarms.observe(found, self._label, now)
        except Exception:
            log.exception("a trace is missing in the statistics")

    def apply(self, config: Config) -> None:
        """Go by other sampling rules from now on."""
        self.alarms.apply(Rules.of(config), self._clock())

    def status(self, service: str, scorer: str, version: str) -> AlarmStatus | None:
        """The alarm of a series, None where it has none."""
        return self.alarms.status(Series(clean(service), scorer, clean(version)), self._clock())

    def statuses(self) -> list[tuple[Series, AlarmStatus]]:
        """All alarms as they stand."""
        return list(self.alarms.statuses(self._clock()))

    def acknowledge(self, known: str, by: str) -> AlarmRecord | None:
        """A person took note of an alarm; None where there is no such alarm."""
        return self.alarms.acknowledge(known, by, self._clock())

    def circumstances(self, record: AlarmRecord) -> Circumstances:
        """What an inquiry into an alarm needs to know beside the sums."""
        before = [one.ended for one in self.alarms.records() if one.series == record.series and one.rose < record.rose]
        return Circumstances(
            self.alarms.pace,
            self.alarms.reference(record.series),
            len(self._rounds.speaking_of(record.series)),
            self._segments,
            max((ended for ended in before if ended is not None), default=None),
        )

    async def restore(self) -> None:
        """Go on from what was kept."""
        now = self._clock()
        await self._histograms.restore(now)
        await self.alarms.restore(now)
        await self._rounds.restore()
        await self._baselines.refresh()

    def save(self) -> None:
        """Hand over to the state what has changed since."""
        self._histograms.save()
        self.alarms.save()

    async def run(self) -> None:
        """Save, forget and judge anchors, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._repeat(self._keep))
            tasks.create_task(self._repeat(self._trickle))
            tasks.create_task(self._repeat(self._burst))

    async def _repeat(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do it again and again. A failure is logged and does not end it."""
        while True:
            try:
                await work()
            except Exception:
                log.exception("monitoring: %s failed", work.__name__.lstrip("_"))

    async def _keep(self) -> None:
        await asyncio.sleep(SAVE_SECONDS)
        self.save()
        now = self._clock()
        self.alarms.forget_idle(now)
        await self._histograms.forget_old(now)
        await self._baselines.refresh()
        await self._rounds.refresh()

    async def _trickle(self) -> None:
        await asyncio.sleep(self.alarms.pace.tick / ANCHORS_A_TICK)
        await self._rounds.trickle(self.alarms.pace.tick_at(self._clock()))

    async def _burst(self) -> None:
        await self._rounds.burst(await self._bursts.get())

    def _label(self, series: Series) -> Series | None:
        labels = self._metrics.series(*series)
        return Series(*labels) if labels is not None else None

    def _rows(self, value: Callable[[AlarmStatus], float | None]) -> Iterator[tuple[Series, float]]:
        rows = ((series, value(status)) for series, status in self.statuses())
        return ((series, number) for series, number in rows if number is not None)
