"""Judgements that are known already, kept over restarts. What is kept are verdicts, notes and missing pieces; the
material itself is in the key only, as a hash."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from otel_ctxscore.core.model import JudgedBy, Judgement, Verdict
from otel_ctxscore.io.state.database import Database


class StoredVerdicts:
    """Judgements by key, in the state file. A row that cannot be read is as good as none."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def get(self, key: str) -> Judgement | None:
        rows = await self._database.read("SELECT judgement FROM verdicts WHERE key = ?", (key,))
        return _read(str(rows[0][0])) if rows else None

    async def put(self, key: str, judgement: Judgement) -> None:
        self._database.write(
            "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)", (key, self._clock(), json.dumps(asdict(judgement)))
        )


def _read(text: str) -> Judgement | None:
    try:
        raw: dict[str, Any] = json.loads(text)
        by = raw["judged_by"]
        verdicts = [Verdict(**verdict) for verdict in raw["verdicts"]]
        return Judgement(verdicts, raw["missing"], JudgedBy(**by) if by is not None else None)
    except (ValueError, KeyError, TypeError):
        return None
