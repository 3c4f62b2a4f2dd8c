"""An extractor of the user's own: an async function that gives the contexts of a turn, and may query a store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from otel_ctxscore.core.conventions import Extraction, verdict
from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.spans import Trace

log = logging.getLogger(__name__)

Extractor = Callable[[str, Trace], Awaitable[Sequence[Context | str] | Sequence[Retrieval]]]
"""`async (query, trace) -> contexts in rank order`, or several `Retrieval`s."""


class OwnContexts:
    """Puts what an extractor gives in place of what conventions and mappings read.

    A call has `deadline` seconds, and `concurrency` calls run at the same time. One that fails, is late or gives
    something else leaves its run unscored, as `extractor_error`; it never fails the trace.
    """

    def __init__(
        self,
        extractor: Extractor,
        *,
        deadline: float = 10.0,
        concurrency: int = 8,
        min_document_score: float | None = None,
        max_contexts: int | None = None,
    ) -> None:
        self._extractor = extractor
        self._deadline = deadline
        self._places = asyncio.Semaphore(concurrency)
        self._least_score = min_document_score
        self._max_contexts = max_contexts

    async def into(self, trace: Trace, extraction: Extraction) -> Extraction:
        """The extraction with the extractor's contexts in each of its runs."""
        runs = tuple(await asyncio.gather(*(self._run(trace, run) for run in extraction.runs)))
        if not runs:
            return extraction
        outcome, reason = verdict(runs)
        return replace(extraction, runs=runs, outcome=outcome, reason=reason)

    async def _run(self, trace: Trace, run: RagRun) -> RagRun:
        if run.query is None:
            return run
        retrievals = await self._retrievals(trace, run, run.query)
        missing = next((r.refused for r in retrievals if r.refused is not None), None)
        if missing is None and run.response is None:
            missing = Reason.NO_RESPONSE
        return replace(run, retrievals=retrievals, complete=missing is None, incomplete_reason=missing)

    async def _retrievals(self, trace: Trace, run: RagRun, query: str) -> tuple[Retrieval, ...]:
        try:
            async with self._places, asyncio.timeout(self._deadline):
                given = await self._extractor(query, trace)
            return self._taken(given, run)
        except TimeoutError:
            log.warning("the extractor did not answer within %g s", self._deadline, extra={"trace_id": run.trace_id})
        except Exception:
            log.exception("the extractor failed", extra={"trace_id": run.trace_id})
        return (Retrieval((), span_id=run.span_id, refused=Reason.EXTRACTOR_ERROR),)

    def _taken(self, given: object, run: RagRun) -> tuple[Retrieval, ...]:
        """What was given, as retrievals. Raises TypeError for anything else."""
        if not isinstance(given, list | tuple):
            raise TypeError(f"the extractor gave a {type(given).__name__}, not a list of contexts or retrievals")
        if given and all(isinstance(one, Retrieval) for one in given):
            return tuple(self._limited(one, run) for one in given)
        if not all(isinstance(one, Context | str) for one in given):
            raise TypeError("the extractor gave a list of something else than contexts or retrievals")
        return (self._limited(Retrieval(given), run),)

    def _limited(self, retrieval: Retrieval, run: RagRun) -> Retrieval:
        least = self._least_score
        kept = [c for c in retrieval.contexts if least is None or c.document_score is None or c.document_score >= least]
        return replace(
            retrieval,
            contexts=kept[: self._max_contexts],
            span_id=retrieval.span_id or run.span_id,
            refused=None,
        )
