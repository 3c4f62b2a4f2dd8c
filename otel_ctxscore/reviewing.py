"""What people do with a kept run: have it judged again, label it, make an anchor of it.

A run that somebody picked says nothing of the traffic. So nothing here reaches a sum, a mean, an alarm or a sink; what
is spent is counted, and within the budget.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from otel_ctxscore.core.budget import Budget, costs_of
from otel_ctxscore.core.errors import StateError
from otel_ctxscore.core.history import Label
from otel_ctxscore.core.kept_run import opinion, restored_run
from otel_ctxscore.core.lines import to_jsonl
from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.core.records import Record
from otel_ctxscore.core.stats.anchors import PASSES
from otel_ctxscore.io.state import History
from otel_ctxscore.monitoring import anchors
from otel_ctxscore.monitoring.anchors import Anchor, Judging
from otel_ctxscore.monitoring.labels import LabelledRun, parse
from otel_ctxscore.monitoring.store import Store
from otel_ctxscore.web.errors import Refused
from otel_ctxscore.web.exports import label_line
from otel_ctxscore.web.meanings import meaning

AT_ONCE = 2
"""Runs that are judged for people at the same time, at most. Traffic comes first, and nobody waits in a queue."""
DEADLINE = 60.0
"""Seconds that somebody waits for a judge."""
_GONE = "the text of this run is not kept any more"


class Reviewing:
    """`judge` judges anew, without what is remembered, and never raises. `spent` is called when the budget has changed.
    `clock` gives Unix seconds."""

    def __init__(
        self,
        history: History,
        store: Store,
        judge: Judging,
        budget: Budget,
        *,
        spent: Callable[[], None],
        deadline: float = DEADLINE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._history = history
        self._store = store
        self._judge = judge
        self._budget = budget
        self._spent = spent
        self._deadline = deadline
        self._clock = clock
        self._under_way: set[asyncio.Task[list[Evaluation]]] = set()

    async def judge_again(self, run: Record) -> Record:
        """See `web.review.Review`."""
        [evaluation] = await self._judged(_restored(run), 1)
        _check(evaluation)
        said = {"at": self._clock(), **opinion(to_jsonl(evaluation))}
        said["judge"] = {**said["judge"], "version": evaluation.judged_by and evaluation.judged_by.version}
        if not await self._history.judged_again(run["run_id"], said):
            raise Refused(409, _GONE, "it went while the judge was asked")
        return said

    async def label(self, run: Record, label: Label) -> None:
        """See `web.review.Review`."""
        await self._history.label(run["run_id"], label)

    async def anchor(self, run: Record, who: str | None) -> Anchor:
        """See `web.review.Review`."""
        _restored(run)
        new = Anchor.of(_labelled(run, who))
        passes = await self._judged(new.labelled.run, PASSES)
        for evaluation in passes:
            _check(evaluation)
        known = {anchor.id: anchor for anchor in await anchors.known(self._store)}
        pinned = anchors.pinned(replace(new, kept=known[new.id].kept) if new.id in known else new, passes)
        after = await self._history.run(run["run_id"])
        if after is None or after["content"] != "text":
            raise Refused(409, _GONE, "it went while the judge was asked")
        anchors.keep(self._store, pinned)
        if pinned.id not in await self._store.all(anchors.KIND, pinned.id):
            raise StateError("the anchor was not kept")
        return pinned

    async def _judged(self, run: RagRun, times: int) -> list[Evaluation]:
        """That many judgements of a run, at the same time. Raises Refused where the budget does not bear them, others
        are under way, or the judge takes too long."""
        if len(self._under_way) >= AT_ONCE:
            raise Refused(429, f"{AT_ONCE} runs are being judged for people already", "ask again in a moment")
        self._reserve(times)
        task = asyncio.create_task(self._paid(run, times))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            # Not asyncio.timeout, which would wait for a judge that does not let itself be cancelled.
            done, _ = await asyncio.wait([task], timeout=self._deadline)
        finally:
            task.cancel()
        if not done:
            what = f"the judge did not answer within {self._deadline:g} s"
            raise Refused(504, what, "ctxscore_judge_calls_total says how it does: ask again later")
        return task.result()

    def _reserve(self, times: int) -> None:
        for reserved in range(times):
            if not self._budget.reserve(self._clock()):
                self._settle([None] * reserved)
                raise Refused(429, "the budget is spent", "see budget: it begins anew with the minute or the day (UTC)")

    async def _paid(self, run: RagRun, times: int) -> list[Evaluation]:
        evaluations: list[Evaluation | None] = [None] * times
        try:
            evaluations[:] = await asyncio.gather(*(self._judge(run) for _ in range(times)))
            return [evaluation for evaluation in evaluations if evaluation is not None]
        finally:
            self._settle(evaluations)

    def _settle(self, evaluations: Sequence[Evaluation | None]) -> None:
        for evaluation in evaluations:
            self._budget.settle(costs_of(evaluation.judged_by if evaluation is not None else None))
        self._spent()


def _restored(run: Record) -> RagRun:
    """The run with its text. Raises Refused."""
    try:
        return restored_run(run)
    except ValueError:
        hints = {
            "hash": "content.store is hash: set it to text to keep it",
            "none": "content.store is none: set it to text to keep it",
            "expired": "it is older than content.max_age",
            "deleted": "it was deleted",
        }
        raise Refused(409, _GONE, hints.get(run["content"], "see content.store")) from None


def _check(evaluation: Evaluation) -> None:
    """Raises Refused where no score came of it."""
    if evaluation.outcome is TraceOutcome.UNSCORED:
        what = "the judge gave no score" if evaluation.judged_by else "there is nothing to judge"
        raise Refused(502 if evaluation.judged_by else 409, f"{what}: {evaluation.reason}", meaning(evaluation.reason))


def _labelled(run: Record, who: str | None) -> LabelledRun:
    """The run with the label of that person, or the last one that speaks of every context. Raises Refused."""
    hint = "POST runs/{id}/label with useful for each context first"
    lines = [label_line(run, label) for label in reversed(run["labels"]) if who in (None, label["who"])]
    whole = [line for line in lines if all(context["useful"] is not None for context in line["contexts"])]
    if not whole:
        whose = "nobody has" if who is None else f"{who} has not"
        raise Refused(409, f"{whose} said of every context whether it is useful", hint)
    try:
        return parse(whole[0])
    except ValueError as error:
        raise Refused(409, f"this run makes no anchor: {error}", "an anchor is one list of different texts") from None
