"""The past of this replica: outcomes of traces, recent runs, documents."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from otel_ctxscore.core.history import DocumentUse, Finished, Label, RunPage, RunQuery
from otel_ctxscore.core.hours import HOUR
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.core.records import Record, Store
from otel_ctxscore.io.state.database import Database
from otel_ctxscore.io.state.documents import Documents, Kind
from otel_ctxscore.io.state.hours import Hours
from otel_ctxscore.io.state.labels import Labels
from otel_ctxscore.io.state.ledger import Ledger
from otel_ctxscore.io.state.opinions import Opinions
from otel_ctxscore.io.state.runs import Runs

log = logging.getLogger(__name__)


class History:
    """Keeps finished traces and answers what the page and the API ask. See `Runs` and `Hours` for the arguments."""

    def __init__(
        self,
        database: Database,
        *,
        store: Store = "text",
        segments: Mapping[str, str] | None = None,
        leading: Collection[str] = ("context_precision", "context_relevance"),
        tick: float = HOUR,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.hours = Hours(database, segments or {}, leading, tick=tick)
        self._ledger = Ledger(database)
        self._runs = Runs(database, store=store, segments=segments, leading=leading)
        self._documents = Documents(database)
        self._labels = Labels(database)
        self._opinions = Opinions(database)
        self._clock = clock

    def finished(self, done: Finished) -> None:
        """Keep what became of a trace. What goes wrong here costs history, never a score."""
        try:
            now = self._clock()
            self._ledger.add(done, now)
            self.hours.add(done, now)
            for evaluation in done.evaluations:
                if evaluation.outcome is not TraceOutcome.NOT_SAMPLED:
                    self._runs.add(evaluation, now)
                    self._documents.add(evaluation, now)
        except Exception:
            log.exception("trace %s is missing in the history", done.trace_id.hex())

    def save(self) -> None:
        """Hand over to the database what waits in memory."""
        self.hours.save()

    async def evaluated(self, trace_id: bytes) -> str | None:
        """The service of a trace that was scored and whose scores every sink has; None for any other, and where that
        cannot be read: it is judged again then."""
        try:
            return await self._ledger.evaluated(trace_id)
        except Exception:
            log.exception("the ledger cannot be read")
            return None

    async def runs(self, query: RunQuery) -> RunPage:
        """The runs that a question asks for. Raises ValueError for a cursor that is none."""
        page = await self._runs.page(query)
        if not query.labelled:
            return page
        labels = await self._labels.of([str(run["run_id"]) for run in page.runs])
        return replace(page, runs=[{**run, "labels": labels[str(run["run_id"])]} for run in page.runs])

    async def run(self, known: str) -> Record | None:
        """The run of an id, with what people say of it and what was judged again."""
        found = await self._runs.run(known)
        if found is None:
            return None
        labels, again = await self._labels.of([known]), await self._opinions.of(known)
        return {**found, "labels": labels[known], "again": again}

    async def label(self, known: str, label: Label) -> None:
        """Keep what a person says of a run. Raises StateError."""
        await self._labels.put(known, label)

    async def judged_again(self, known: str, opinion: Mapping[str, object]) -> bool:
        """Keep a judgement that somebody asked for; False where the run or its text is gone. Raises StateError."""
        return await self._opinions.put(known, opinion)

    async def trace(self, trace_id: bytes) -> Record | None:
        """What became of a trace, with its runs; None for one that is not known."""
        known = await self._ledger.trace(trace_id)
        return None if known is None else {**known, "runs": await self._runs.of_trace(trace_id.hex())}

    async def documents(
        self, kind: Kind, *, service: str | None, since: float, limit: int, offset: int = 0
    ) -> Sequence[DocumentUse]:
        return await self._documents.rows(kind, service=service, since=since, limit=limit, offset=offset)

    async def forget_text(self, trace_id: bytes) -> int:
        """Delete the text of a trace from the disk; of how many runs there was any. Raises StateError."""
        return await self._runs.forget_text(trace_id.hex())
