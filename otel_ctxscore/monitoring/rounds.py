"""Judges anchors beside the traffic: a steady trickle, and all of them when an alarm rises."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterator

from otel_ctxscore.core.stats import AnchorWatch, blame
from otel_ctxscore.monitoring.alarms import Alarms
from otel_ctxscore.monitoring.anchors import Anchor, Evaluator, Judging, differences, known
from otel_ctxscore.monitoring.records import AlarmRecord, told
from otel_ctxscore.monitoring.series import Series
from otel_ctxscore.monitoring.store import UNREADABLE, Store

log = logging.getLogger(__name__)

WATCH = "anchor_watch"
"""Kind of the state."""


class Rounds:
    """`judge` gives a fresh judgement, never a cached one. One anchor is judged at a time: traffic comes first."""

    def __init__(self, store: Store, judge: Judging, alarms: Alarms, draw: random.Random) -> None:
        self._store = store
        self._judge = judge
        self._alarms = alarms
        self._draw = draw
        self._anchors: list[Anchor] = []
        self._watches: dict[Evaluator, AnchorWatch] = {}

    async def restore(self) -> None:
        """Go on from what was kept. What cannot be read is lost, and said."""
        for name, state in (await self._store.all(WATCH)).items():
            try:
                scorer, version = json.loads(name)
                self._watches[scorer, version] = AnchorWatch.restored(state)
            except UNREADABLE as error:
                log.error("state: the anchors' evidence of %s begins anew, it cannot be read: %s", name, error)
        await self.refresh()

    async def refresh(self) -> None:
        """Read the anchors again: another process may have added some."""
        self._anchors = await known(self._store)

    async def trickle(self, tick: int) -> None:
        """Judge one anchor, drawn at random with replacement."""
        pinned = [anchor for anchor in self._anchors if anchor.kept]
        if not pinned:
            return
        for evaluator, difference in (await self._judged(self._draw.choice(pinned))).items():
            before = self._watches.get(evaluator, AnchorWatch())
            after = self._watches[evaluator] = before.after(tick, [difference])
            self._store.put(WATCH, json.dumps(evaluator), after.as_dict())
            if before.ratio < 1 <= after.ratio:
                log.warning("the judge moved: anchors of %s (%s) score otherwise than when pinned", *evaluator)

    async def burst(self, record: AlarmRecord) -> None:
        """Judge all anchors that are like the runs of an alarm, and keep with it who moved."""
        evaluator = (record.scorer, record.version)
        chosen = self.speaking_of(record.series)
        if not chosen:
            return
        found = [(await self._judged(anchor)).get(evaluator) for anchor in chosen]
        moved = [difference for difference in found if difference is not None]
        change = self._alarms.change(record)
        if change is not None:
            verdict = blame(*change, moved)
            log.warning("alarm %s: %d anchors say: %s", record.id, len(moved), verdict.culprit)
            self._alarms.blamed(record.id, told(verdict, len(moved)))

    def speaking_of(self, series: Series) -> list[Anchor]:
        """The anchors that are pinned for a scorer and version, and are like the runs of a service."""
        evaluator = (series.scorer, series.version)
        return [a for a in self._anchors if evaluator in a.kept and a.speaks_of(series.service)]

    async def _judged(self, anchor: Anchor) -> dict[Evaluator, float]:
        evaluation = await self._judge(anchor.labelled.run)
        return differences(anchor, evaluation)

    def ratios(self) -> Iterator[tuple[Evaluator, float]]:
        """Evidence over threshold that the judge moved, by evaluator."""
        return ((evaluator, watch.ratio) for evaluator, watch in self._watches.items())
