"""The last judgement of a kept run that somebody asked for. It holds notes and explanations: it goes with the text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from otel_ctxscore.core.records import Record
from otel_ctxscore.io.state.database import Database

# Only where the text is still there: it may have been deleted while the judge was asked.
_KEEP = """
INSERT OR REPLACE INTO opinions SELECT r.id, t.at, ? FROM runs r JOIN run_texts t ON t.n = r.n WHERE r.id = ?
"""


class Opinions:
    """One opinion a run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, run_id: str, opinion: Mapping[str, Any]) -> bool:
        """Keep an opinion in place of the one before; False where the run or its text is gone. Raises StateError."""
        return await self._database.change((_KEEP, (json.dumps(opinion), run_id))) > 0

    async def of(self, run_id: str) -> Record | None:
        """The opinion of a run."""
        sql = "SELECT opinion FROM opinions WHERE run_id = ? AND at >= ?"
        rows = await self._database.read(sql, (run_id, self._database.text_horizon))
        if not rows:
            return None
        found: Record = json.loads(str(rows[0][0]))
        return found
