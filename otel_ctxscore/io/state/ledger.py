"""What became of each trace that reached the assembler: one row a trace."""

from __future__ import annotations

import json
from dataclasses import asdict

from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.core.records import Record
from otel_ctxscore.io.state.database import Database
from otel_ctxscore.telemetry.labels import clean

MAX_CONSIDERED = 20
"""Things that were put aside in one trace and are kept."""
_EVALUATED = f"({', '.join(repr(o.value) for o in (TraceOutcome.SCORED, TraceOutcome.PARTLY_SCORED))})"
# What is evaluated stays so: spans that come after it, in a trace that nobody remembers, make no other outcome.
_KEEP = f"""
INSERT INTO traces VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)
ON CONFLICT (trace_id) DO UPDATE SET at = excluded.at, outcome = excluded.outcome, reason = excluded.reason,
  service = excluded.service, closed = excluded.closed, spans = excluded.spans, delivered = excluded.delivered,
  detail = excluded.detail
WHERE excluded.outcome IN {_EVALUATED} OR traces.outcome NOT IN {_EVALUATED}
"""  # noqa: S608 -- names of our own


class Ledger:
    """Outcomes by trace id, in the state file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, done: Finished, now: float) -> None:
        """Keep what became of a trace, at a moment in Unix seconds. Of one that was only read again, the outcome that
        it had stays."""
        if done.outcome is TraceOutcome.REDELIVERED:
            self._database.write("UPDATE traces SET redelivered = ? WHERE trace_id = ?", (now, done.trace_id))
            return
        detail = {
            "convention": done.convention,
            "hint": done.hint,
            "considered": [asdict(one) for one in done.considered[:MAX_CONSIDERED]],
        }
        row = (done.trace_id, now, done.outcome, done.reason, clean(done.service), done.closed, done.spans)
        text = json.dumps(detail) if any(detail.values()) else None
        self._database.write(_KEEP, (*row, done.delivered, text))

    async def evaluated(self, trace_id: bytes) -> str | None:
        """The service of a trace that was scored and whose scores every sink has; None for any other."""
        rows = await self._database.read(
            f"SELECT service FROM traces WHERE trace_id = ? AND delivered AND outcome IN {_EVALUATED}",  # noqa: S608
            (trace_id,),
        )
        return str(rows[0][0]) if rows else None

    async def trace(self, trace_id: bytes) -> Record | None:
        """What is known of a trace; times in Unix seconds."""
        rows = await self._database.read(
            "SELECT outcome, reason, service, at, closed, spans, delivered, redelivered, detail FROM traces "
            "WHERE trace_id = ?",
            (trace_id,),
        )
        return _record(trace_id, *rows[0]) if rows else None


def _record(trace_id: bytes, *row: object) -> Record:
    outcome, reason, service, at, closed, spans, delivered, redelivered, detail = row
    known = json.loads(str(detail)) if detail else {"convention": None, "hint": None, "considered": []}
    return {
        "trace_id": trace_id.hex(),
        "outcome": outcome,
        "reason": reason,
        "service": service,
        "at": at,
        "closed": closed,
        "spans": spans,
        "delivered": bool(delivered),
        "redelivered_at": redelivered,
        **known,
    }
