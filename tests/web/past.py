"""A past of judged runs, as the views read it."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from aiohttp.test_utils import TestClient

from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.stats import Reference
from otel_ctxscore.io.state import Database, History
from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus, Circumstances, Pace, Series
from tests.io.evaluations import JUDGED_BY, evaluation, score
from tests.web.fakes import FakeService, client, snapshot

HOUR = 3600.0
SCORER = "context_precision"
VERSION = f"v-{SCORER}"


class Past:
    """Runs of a service, an hour's worth at a time; `http` asks the views."""

    def __init__(self, http: TestClient[Any, Any], history: History, service: FakeService) -> None:
        self.http, self.history, self.service = http, history, service
        self.now = time.time() // HOUR * HOUR
        self.draw = random.Random(5)
        self.runs = 0

    def add(self, value: float | None, ago: float = 0.0, **changed: Any) -> None:
        """A trace with one run that ended so many hours ago; None is one whose retrieval found nothing."""
        self.runs += 1
        service, index = changed.pop("service", "shop"), changed.pop("index", None)
        numbers, by = changed.pop("numbers", (0.9, 0.8)), changed.pop("by", JUDGED_BY)
        contexts = [Context(f"text {n} of {self.runs:06d}", f"d{n}", document_score=n) for n in numbers]
        run = RagRun(
            changed.pop("query", f"query {self.runs}"),
            [Retrieval(contexts if value is not None else [], span_id="b1")],
            trace_id=f"{self.runs:032x}",
            span_id="00000000000000a1",
            service=service,
            probability=changed.pop("probability", 1.0),
            attributes={"rag.index": index} if index is not None else {},
            end_ns=int((self.now - ago * HOUR) * 1e9),
        )
        reason = None if value is not None else Reason.NO_CONTEXTS
        version = changed.pop("version", VERSION)
        made = replace(score(SCORER, value, retrieval=0, unscored=reason), version=version)
        outcome = TraceOutcome.UNSCORED if reason else TraceOutcome.SCORED
        whole = evaluation([made], run, outcome=outcome, reason=reason, judged_by=by if value is not None else None)
        done = Finished(bytes.fromhex(run.trace_id or ""), outcome, reason, service, spans=3, evaluations=[whole])
        self.history.finished(replace(done, **changed))

    def hours(self, first: int, last: int, mean: float, *, each: int = 10, **changed: Any) -> None:
        """So many runs an hour from `first` hours ago to before `last`."""
        for ago in range(first, last, -1):
            for _ in range(each):
                self.add(float(self.draw.random() < mean), ago, **changed)

    def fall(self, *, at: int = 6, before: float = 0.95, after: float = 0.2) -> AlarmRecord:
        """Two days of good runs, then a fall so many hours ago, and the alarm that rose two hours later. Three of
        four runs go to the index that fell."""
        for index, each, fallen in (("eu", 6, after), ("us", 2, before)):
            self.hours(48, at, before, each=each, index=index)
            self.hours(at, -1, fallen, each=each, index=index, numbers=(0.5, 0.4) if index == "eu" else (0.9, 0.8))
        return self.alarm(began=self.now - at * HOUR, rose=self.now - (at - 2) * HOUR)

    def alarm(self, **changed: Any) -> AlarmRecord:
        given = {"id": "a1b2", "service": "shop", "scorer": SCORER, "version": VERSION, "reference": 0.95, "mean": 0.4}
        record = AlarmRecord(**{**given, "began": self.now, "rose": self.now, **changed})
        self.service.kept[record.id] = record
        self.service.series = [(Series("shop", SCORER, VERSION), AlarmStatus("alarm", 1.5, 0.95, record=record))]
        self.service.shown = snapshot(alarms=[record] if record.is_up else [])
        return record

    async def json(self, path: str, status: int = 200) -> Any:
        answer = await self.http.get(f"/api/v1/{path}")
        assert answer.status == status, await answer.text()
        return await answer.json()

    async def page(self, path: str, status: int = 200) -> str:
        answer = await self.http.get(path)
        assert answer.status == status, await answer.text()
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        return await answer.text()


@asynccontextmanager
async def past(**admin: Any) -> AsyncIterator[Past]:
    """A past in which nothing was yet; `index` is its segment."""
    segments = {"index": "rag.index"}
    database = Database(None, max_size=64 << 20, max_age=1e9)
    history = History(database, segments=segments)
    known = Circumstances(Pace(), Reference.pinned(0.95), 0, tuple(segments))
    service = FakeService(history=history, segments=tuple(segments), known=known)
    async with client(service, **admin) as http:
        yield Past(http, history, service)
    await database.close()
