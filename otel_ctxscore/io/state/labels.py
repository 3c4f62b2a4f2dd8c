"""What people say of kept runs: verdicts for as long as the run is kept, notes for as long as its text is."""

from __future__ import annotations

import json
from collections.abc import Sequence

from otel_ctxscore.core.history import Label
from otel_ctxscore.core.records import Record
from otel_ctxscore.io.state.database import Database

_KEEP = """
INSERT INTO labels SELECT id, ?, ?, ? FROM runs WHERE id = ?
ON CONFLICT (run_id, who) DO UPDATE SET said = excluded.said, verdicts = excluded.verdicts
"""
_DROP_NOTES = "DELETE FROM label_notes WHERE run_id = ? AND who = ?"
_KEEP_NOTES = """
INSERT INTO label_notes SELECT r.id, ?, t.at, ? FROM runs r JOIN run_texts t ON t.n = r.n WHERE r.id = ?
"""
_ROWS = """
SELECT l.run_id, l.who, l.said, l.verdicts, t.notes FROM labels l
LEFT JOIN label_notes t ON t.run_id = l.run_id AND t.who = l.who AND t.at >= ?
WHERE l.run_id IN (SELECT value FROM json_each(?)) ORDER BY l.said, l.who
"""


class Labels:
    """Labels by run and person, the latest of each person."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, run_id: str, label: Label) -> None:
        """Keep a label, in place of the one that the same person gave before; nothing where the run is not kept. Notes
        are kept only while the text of the run is. Raises StateError."""
        verdicts = {
            place: {"useful": verdict.useful, "relevance": verdict.relevance, "used": verdict.used}
            for place, verdict in label.verdicts.items()
        }
        notes = {place: verdict.note for place, verdict in label.verdicts.items() if verdict.note}
        writes: list[tuple[str, Sequence[object]]] = [
            (_KEEP, (label.who, label.at, json.dumps(verdicts), run_id)),
            (_DROP_NOTES, (run_id, label.who)),
        ]
        if notes:
            writes.append((_KEEP_NOTES, (label.who, json.dumps(notes), run_id)))
        await self._database.change(*writes)

    async def of(self, run_ids: Sequence[str]) -> dict[str, list[Record]]:
        """The labels of each run, the earliest first, as records have them: `{who, at, contexts}`."""
        found: dict[str, list[Record]] = {run_id: [] for run_id in run_ids}
        rows = await self._database.read(_ROWS, (self._database.text_horizon, json.dumps(run_ids)))
        for run_id, *row in rows:
            found[str(run_id)].append(_record(*row))
        return found


def _record(who: object, said: object, verdicts: object, notes: object) -> Record:
    known = {} if notes is None else json.loads(str(notes))
    contexts = [
        {"index": int(place), **verdict, "note": known.get(place)}
        for place, verdict in json.loads(str(verdicts)).items()
    ]
    return {"who": who, "at": said, "contexts": contexts}
