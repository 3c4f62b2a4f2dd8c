"""How often each document was retrieved, and whether it was worth its place: counts by day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from otel_ctxscore.core.history import DocumentUse
from otel_ctxscore.core.model import Context, Evaluation, Retrieval, Verdict
from otel_ctxscore.io.results import clean_text
from otel_ctxscore.io.state.database import Database
from otel_ctxscore.telemetry.labels import clean

DAY = 86400.0
MAX_NAME = 500
"""Characters of an id or source that are kept."""
Kind = Literal["id", "source"]
_ADD = """
INSERT INTO documents VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)
ON CONFLICT (kind, service, document, at) DO UPDATE SET retrieved = retrieved + 1, judged = judged + excluded.judged,
  useful = useful + excluded.useful, used = used + excluded.used, above = above + excluded.above
"""
# Retrievals in vain, times the share of those that were in vain: a document that is useful now and then comes after
# one that never is.
_ROWS = """
SELECT document, service, retrieved, judged, useful, used, above FROM (
  SELECT document, service, sum(retrieved) AS retrieved, sum(judged) AS judged, sum(useful) AS useful,
    sum(used) AS used, sum(above) AS above
  FROM documents WHERE kind = ? AND at >= ? AND (? IS NULL OR service = ?) GROUP BY service, document
) ORDER BY (judged - useful) * 1.0 * (judged - useful) / max(judged, 1) DESC, above DESC, retrieved DESC, document
LIMIT ? OFFSET ?
"""


class Documents:
    """Counts by id and by source of the documents in runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, evaluation: Evaluation, now: float) -> None:
        """Take the contexts of a run, once: a repeat, a revision or a backfill is no news."""
        if evaluation.run.redelivered or evaluation.revision or evaluation.backfill:
            return
        service, day = clean(evaluation.run.service), now // DAY * DAY
        for retrieval in evaluation.run.retrievals:
            for context, verdict, above in _ranked(evaluation, retrieval):
                judged = verdict.useful is not None
                counts = (judged, bool(verdict.is_useful), bool(verdict.is_used), above)
                for kind, name in (("id", context.id), ("source", context.source)):
                    if name:
                        self._database.write(_ADD, (kind, service, clean_text(name)[:MAX_NAME], day, *counts))

    async def rows(
        self, kind: Kind, *, service: str | None, since: float, limit: int, offset: int = 0
    ) -> Sequence[DocumentUse]:
        """Those that crowd out others first. `since` is in Unix seconds; its whole day is in."""
        name = None if service is None else clean(service)
        rows = await self._database.read(_ROWS, (kind, since // DAY * DAY, name, name, limit, offset))
        return [DocumentUse(*row) for row in rows]  # type: ignore[arg-type]


def _ranked(evaluation: Evaluation, retrieval: Retrieval) -> Iterator[tuple[Context, Verdict, bool]]:
    """Each context in rank order with its verdict, and whether it stands above a useful one without being useful."""
    verdicts = _verdicts(evaluation, retrieval)
    last = max((rank for rank, verdict in enumerate(verdicts) if verdict.is_useful), default=-1)
    for rank, (context, verdict) in enumerate(zip(retrieval.contexts, verdicts, strict=True)):
        yield context, verdict, rank < last and verdict.is_useful is False


def _verdicts(evaluation: Evaluation, retrieval: Retrieval) -> list[Verdict]:
    judgement = evaluation.judgement
    if judgement is None or retrieval.refused is not None:
        return [Verdict()] * len(retrieval.contexts)
    known = judgement.verdicts
    return [known[place] if place < len(known) else Verdict() for place in evaluation.run.places(retrieval)]
