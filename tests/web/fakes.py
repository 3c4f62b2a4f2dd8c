"""A service as the admin address sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from otel_ctxscore.config.outlets import Admin
from otel_ctxscore.core.assembly import Waiting
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.core.history import DocumentUse, Label, RunPage, RunQuery
from otel_ctxscore.core.hours import CountRow, Evaluator, SumsRow, Window
from otel_ctxscore.core.records import Record
from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus, Circumstances, Pace, Series
from otel_ctxscore.monitoring.anchors import Anchor
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web.app import application
from otel_ctxscore.web.errors import Refused
from otel_ctxscore.web.review import Review
from otel_ctxscore.web.status import History, Reloaded, Snapshot, Whereabouts


def snapshot(**changed: Any) -> Snapshot:
    return Snapshot(
        **{"state": "ready", "version": "1.2.3", "judge": "local lexical", "started": 0.0, "now": 3725.0, **changed}
    )


class NoPast:
    """Hours in which nothing was."""

    async def sums(self, window: Window) -> list[SumsRow]:
        return []

    async def segments(self, window: Window, *, segment: str | None = None, scorer: str | None = None) -> list[SumsRow]:
        return []

    async def counts(self, window: Window) -> list[CountRow]:
        return []

    async def evaluators(self) -> list[Evaluator]:
        return []

    async def since(self) -> float | None:
        return None

    async def latest(self) -> float | None:
        return None


class NoHistory:
    """A past in which nothing was."""

    hours = NoPast()

    async def runs(self, query: RunQuery) -> RunPage:
        return RunPage([])

    async def run(self, known: str) -> dict[str, Any] | None:
        return None

    async def trace(self, trace_id: bytes) -> dict[str, Any] | None:
        return None

    async def documents(self, kind: str, **asked: Any) -> list[DocumentUse]:
        return []

    async def forget_text(self, trace_id: bytes) -> int:
        return 0


@dataclass
class FakeService:
    """Answers as it is told."""

    dead: str | None = None
    unready: str | None = None
    shown: Snapshot = field(default_factory=snapshot)
    kept: dict[str, AlarmRecord] = field(default_factory=dict)
    series: list[tuple[Series, AlarmStatus]] = field(default_factory=list)
    reloaded: Reloaded | ConfigError = field(default_factory=Reloaded)
    replica: str = "host/1a2b"
    history: History = field(default_factory=NoHistory)
    where: Whereabouts = "unknown"
    waiting: Waiting | None = None
    pace: Pace = field(default_factory=Pace)
    segments: tuple[str, ...] = ()
    known: Circumstances = field(default_factory=lambda: Circumstances(Pace()))

    def circumstances(self, record: AlarmRecord) -> Circumstances:
        return self.known

    def whereabouts(self, trace_id: bytes) -> Whereabouts:
        return self.where

    def waits_for(self, trace_id: bytes) -> Waiting | None:
        return self.waiting

    def not_alive(self) -> str | None:
        return self.dead

    def not_ready(self) -> str | None:
        return self.unready

    def snapshot(self) -> Snapshot:
        return self.shown

    def alarms(self) -> list[AlarmRecord]:
        return list(self.kept.values())

    def alarm_statuses(self) -> list[tuple[Series, AlarmStatus]]:
        return self.series

    async def acknowledge(self, known: str, by: str) -> AlarmRecord | None:
        if known in self.kept:
            self.kept[known] = replace(self.kept[known], acknowledged=60.0, acknowledged_by=by)
        return self.kept.get(known)

    def reload(self) -> Reloaded:
        if isinstance(self.reloaded, ConfigError):
            raise self.reloaded
        return self.reloaded


class NoReview:
    """Does nothing for anybody."""

    async def judge_again(self, run: Record) -> Record:
        raise Refused(502, "no judge", "there is none")

    async def label(self, run: Record, label: Label) -> None:
        raise Refused(409, "no labels", "there are none")

    async def anchor(self, run: Record, who: str | None) -> Anchor:
        raise Refused(409, "no anchors", "there are none")


@asynccontextmanager
async def client(
    service: FakeService | None = None, metrics: Metrics | None = None, review: Review | None = None, **admin: Any
) -> AsyncIterator[TestClient[Any, Any]]:
    section = Admin.model_validate(admin)
    app = application(section, service or FakeService(), metrics or Metrics(), review or NoReview())
    async with TestClient(TestServer(app)) as found:
        yield found
