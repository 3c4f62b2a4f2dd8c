"""Small values by kind and name, in the state file."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

from otel_ctxscore.io.state.database import Database

log = logging.getLogger(__name__)


class Kept:
    """Values as JSON has them. A write is safe once its batch is committed."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def put(self, kind: str, name: str, value: object) -> None:
        """Keep a value, in place of the one before."""
        text = json.dumps(value)
        self._database.write("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", (f"{kind}:{name}", self._clock(), text))

    def remove(self, kind: str, name: str) -> None:
        """Forget a value."""
        self._database.write("DELETE FROM kept WHERE name = ?", (f"{kind}:{name}",))

    async def all(self, kind: str, prefix: str = "") -> dict[str, Any]:
        """All values of a kind whose names begin with `prefix`, by name; those that cannot be read are left out."""
        begin = f"{kind}:{prefix}"
        rows = await self._database.read(
            "SELECT name, value FROM kept WHERE name >= ? AND name < ? ORDER BY name", (begin, begin + "\U0010ffff")
        )
        found = ((str(name).removeprefix(f"{kind}:"), _read(name, text)) for name, text in rows)
        return {name: value for name, value in found if value is not None}


def _read(name: object, text: object) -> Any:
    try:
        return json.loads(str(text))
    except ValueError:
        log.error("state: %s cannot be read and is left out", name)
        return None
