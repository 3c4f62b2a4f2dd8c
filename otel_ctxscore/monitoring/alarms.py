"""The alarms of all series: fed by each judged trace, kept over restarts, shown and acknowledged."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.core.sampling import upstream_probability
from otel_ctxscore.core.stats import Reference, WeightedScore
from otel_ctxscore.monitoring.records import AlarmRecord, Ended, alarm_id
from otel_ctxscore.monitoring.rules import Pace, Rules
from otel_ctxscore.monitoring.series import Label, Series, by_series
from otel_ctxscore.monitoring.store import UNREADABLE, Store
from otel_ctxscore.monitoring.watched import Watched

log = logging.getLogger(__name__)

SERIES, RECORD = "alarm_series", "alarm"
"""Kinds of the state."""
MAX_RECORDS = 500
"""Alarms that are kept; of more, the oldest that is over is forgotten."""
MAX_SEEN = 50_000
"""Different runs of a tick that are remembered, to count a repeated one once. A hot query is among the first."""

State = Literal["no reference", "quiet", "alarm"]
STATES: dict[State, int] = {"no reference": -1, "quiet": 0, "alarm": 1}
Rows = Iterator[tuple[Series, float]]


@dataclass(frozen=True, slots=True)
class AlarmStatus:
    """The alarm of a series now. `ratio`: evidence over threshold. `reference`: of this hour. `traces`, `days`: what a
    reference was learned from so far. `record`: the alarm that is up."""

    state: State
    ratio: float | None = None
    reference: float | None = None
    traces: int = 0
    days: int = 0
    record: AlarmRecord | None = None


class Alarms:
    """`scorers` are those that have an alarm. `rose` is told of each alarm that rises. At most `limit` series are
    watched; of more, those that were longest without a score are forgotten, and those that were for `idle` seconds."""

    def __init__(
        self,
        scorers: Collection[str],
        rules: Rules,
        store: Store,
        *,
        pace: Pace | None = None,
        rose: Callable[[AlarmRecord], None] = lambda record: None,
        limit: int = 1000,
        idle: float = 30 * 86400.0,
    ) -> None:
        self.rules = rules
        self.pace = pace or Pace()
        self._scorers = frozenset(scorers)
        self._store = store
        self._rose = rose
        self._limit = limit
        self._idle = idle
        self._watched: dict[Series, Watched] = {}
        self._records: dict[str, AlarmRecord] = {}
        self._up: dict[Series, str] = {}
        self._unsaved: set[Series] = set()
        self._seen: set[int] = set()
        self._seen_tick: int | None = None

    # ---- what comes ---------------------------------------------------------------------------------------------

    def observe(self, evaluations: Sequence[Evaluation], label: Label, now: float) -> None:
        """Take the evaluations of one trace. A run that repeats one of the same tick word for word counts once: its
        verdict is no further evidence. `label`: see `Label`."""
        new = [evaluation for evaluation in evaluations if self._is_new(evaluation.run, now)]
        for series, scores in by_series(new).items():
            if series.scorer in self._scorers and scores.judged and (named := label(series)) is not None:
                self._take(named, scores.judged, new[0].run, now)

    def _is_new(self, run: RagRun, now: float) -> bool:
        tick = self.pace.tick_at(now)
        if tick != self._seen_tick:
            self._seen, self._seen_tick = set(), tick
        key = hash((run.service, run.query, tuple(context.text for context in run.judged), run.response))
        if key in self._seen:
            return False
        if len(self._seen) < MAX_SEEN:
            self._seen.add(key)
        return True

    def _take(self, series: Series, runs: list[WeightedScore], run: RagRun, now: float) -> None:
        watched = self._watched.pop(series, None) or Watched()
        self._watched[series] = watched  # the last one is the youngest
        if len(self._watched) > self._limit:
            self._forget(next(iter(self._watched)), now)
        # The hour when it happened, which after an outage is not the present one; a clock ahead of ours is ours.
        moment = min(now, run.end_ns / 1e9) if run.end_ns else now
        watched.seen = now
        tested = watched.tested
        watched.take(moment, runs, upstream_probability(run.trace_state), self.rules, self.pace)
        self._unsaved.add(series)
        self._settle(series, watched, now, "recovered" if watched.tested == tested else "reset")

    def _settle(self, series: Series, watched: Watched, now: float, why: Ended) -> None:
        """Let the records say what the detector says; where one ends thereby, `why`."""
        known = self._up.get(series)
        raised = watched.detector.raised if watched.detector is not None else None
        if raised is not None and known is None:
            self._raise(series, watched, raised, now)
        elif raised is None and known is not None:
            self._end(known, why, now)

    def _raise(self, series: Series, watched: Watched, raised: int, now: float) -> None:
        assert watched.detector is not None
        began = raised if watched.detector.began is None else watched.detector.began
        started = watched.fell(began, self.rules, self.pace)
        found = watched.since(started, self.rules, self.pace)
        if found is None:
            return
        mean, reference = found
        record = AlarmRecord(
            alarm_id(series, raised), *series, now, started, reference, mean.mean, mean.lower, mean.upper
        )
        self._up[series] = record.id
        self._keep(record)
        log.warning(
            "alarm %s: %s of %s (%s) fell below %.3f",
            record.id,
            series.scorer,
            series.service,
            series.version,
            reference,
        )
        self._rose(record)

    def _end(self, known: str, why: Ended, now: float) -> None:
        record = self._records[known]
        self._up.pop(record.series, None)
        self._keep(replace(record, ended=now, ended_by=why))
        log.warning("alarm %s of %s is over: %s", known, record.service, why)

    def _keep(self, record: AlarmRecord) -> None:
        self._records[record.id] = record
        self._store.put(RECORD, record.id, record.as_dict())
        self._save(record.series)  # record and evidence must not part when the process is killed
        over = sorted((r for r in self._records.values() if not r.is_up), key=lambda r: r.rose)
        for old in over[: max(0, len(self._records) - MAX_RECORDS)]:
            del self._records[old.id]
            self._store.remove(RECORD, old.id)

    # ---- what people do -----------------------------------------------------------------------------------------

    def acknowledge(self, known: str, by: str, now: float) -> AlarmRecord | None:
        """A person took note: the evidence goes back to nothing and the alarm may rise again. None where there is no
        such alarm. One that is over, or was acknowledged, stays as it is."""
        record = self._records.get(known)
        if record is None or record.acknowledged is not None:
            return record
        self._keep(replace(record, acknowledged=now, acknowledged_by=by))
        watched = self._watched.get(record.series)
        if self._up.get(record.series) == known and watched is not None and watched.detector is not None:
            watched.detector = watched.detector.acknowledged()
            self._end(known, "acknowledged", now)
        return self._records[known]

    def blamed(self, known: str, found: dict[str, object]) -> None:
        """Keep with an alarm who moved."""
        if known in self._records:
            self._keep(replace(self._records[known], blame=found))

    def apply(self, rules: Rules, now: float) -> None:
        """Test by other rules from now on; a series whose test they change begins anew."""
        self.rules = rules
        for series, watched in self._watched.items():
            watched.arm(rules)
            self._settle(series, watched, now, "reset")
            self._unsaved.add(series)

    # ---- what is kept -------------------------------------------------------------------------------------------

    async def restore(self, now: float) -> None:
        """Go on from what was kept. What cannot be read is lost, and said."""
        for known, state in (await self._store.all(RECORD)).items():
            try:
                record = AlarmRecord.restored(state)
            except UNREADABLE:
                log.error("state: alarm %s cannot be read and is left out", known)
                continue
            self._records[record.id] = record
            if record.is_up:
                self._up[record.series] = record.id
        states = await self._store.all(SERIES)
        for name, state in sorted(states.items(), key=lambda pair: _seen(pair[1])):
            try:
                self._watched[Series.named(name)] = Watched.restored(state, self.rules)
            except UNREADABLE as error:
                log.error("state: the alarm of %s begins anew, it cannot be read: %s", name, error)
        for series in {*self._watched, *self._up}:
            self._settle(series, self._watched.get(series, Watched()), now, "reset")

    def save(self) -> None:
        """Hand over what has changed since."""
        for series in tuple(self._unsaved):
            self._save(series)

    def _save(self, series: Series) -> None:
        self._unsaved.discard(series)
        if series in self._watched:
            self._store.put(SERIES, series.name(), self._watched[series].as_dict())

    def forget_idle(self, now: float) -> None:
        """Forget series without a score for long."""
        for series in [s for s, watched in self._watched.items() if now - watched.seen > self._idle]:
            self._forget(series, now)

    def _forget(self, series: Series, now: float) -> None:
        del self._watched[series]
        self._store.remove(SERIES, series.name())
        if series in self._up:
            self._end(self._up[series], "reset", now)

    # ---- what is shown ------------------------------------------------------------------------------------------

    def records(self) -> list[AlarmRecord]:
        """The alarms that are kept, the latest first."""
        return sorted(self._records.values(), key=lambda record: -record.rose)

    def record(self, known: str) -> AlarmRecord | None:
        """An alarm by its id."""
        return self._records.get(known)

    def change(self, record: AlarmRecord) -> tuple[float, float] | None:
        """How far the mean moved from the reference since an alarm's change began, and the standard error."""
        watched = self._watched.get(record.series)
        found = watched.since(record.began, self.rules, self.pace) if watched is not None else None
        if found is None or found[0].mean is None or found[0].variance is None:
            return None
        return found[0].mean - found[1], found[0].variance ** 0.5

    def reference(self, series: Series) -> Reference | None:
        """What the mean of a series is compared with; None where it is not watched, or nothing is learned yet."""
        watched = self._watched.get(series)
        return watched.reference(self.rules) if watched is not None else None

    def status(self, series: Series, now: float) -> AlarmStatus | None:
        """The alarm of a series, None where it has none."""
        watched = self._watched.get(series)
        if watched is None:
            return None
        traces, days = round(watched.learning.total.n), watched.learning.days
        reference = watched.reference(self.rules)
        if watched.detector is None or reference is None:
            return AlarmStatus("no reference", traces=traces, days=days)
        up = self._up.get(series)
        at = reference.at(self.pace.tick_at(now))
        record = self._records[up] if up else None
        return AlarmStatus("alarm" if record else "quiet", watched.detector.ratio, at, traces, days, record)

    def statuses(self, now: float) -> Iterable[tuple[Series, AlarmStatus]]:
        """All alarms."""
        return [(series, status) for series in self._watched if (status := self.status(series, now)) is not None]

    def clipped(self) -> Rows:
        """The share of traces whose weight was cut, by series."""
        return ((series, w.clipped / w.observed) for series, w in self._watched.items() if w.observed)


def _seen(state: object) -> float:
    seen = state.get("seen") if isinstance(state, dict) else None
    return float(seen) if isinstance(seen, int | float) else 0.0
