"""A service as the admin address sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp.test_utils import TestClient, TestServer

from otel_ctxscore.config.model import Admin
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web.app import application
from otel_ctxscore.web.status import Snapshot


def snapshot(**changed: Any) -> Snapshot:
    return Snapshot(
        **{"state": "ready", "version": "1.2.3", "judge": "local lexical", "started": 0.0, "now": 3725.0, **changed}
    )


@dataclass
class FakeService:
    """Answers as it is told."""

    dead: str | None = None
    unready: str | None = None
    shown: Snapshot = field(default_factory=snapshot)

    def not_alive(self) -> str | None:
        return self.dead

    def not_ready(self) -> str | None:
        return self.unready

    def snapshot(self) -> Snapshot:
        return self.shown


@asynccontextmanager
async def client(
    service: FakeService | None = None, metrics: Metrics | None = None, **admin: Any
) -> AsyncIterator[TestClient[Any, Any]]:
    section = Admin.model_validate(admin)
    app = application(section, service or FakeService(), metrics or Metrics())
    async with TestClient(TestServer(app)) as found:
        yield found
