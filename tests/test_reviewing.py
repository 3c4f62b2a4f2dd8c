"""What people do with a run: within the budget, never for long, never a word in the statistics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from otel_ctxscore.core.budget import Budget, Limits
from otel_ctxscore.core.history import Finished, Label
from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, Judgement, RagRun, Retrieval, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.records import Record
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.io.results import evaluation_id
from otel_ctxscore.io.state import Database, History, Kept
from otel_ctxscore.monitoring import anchors
from otel_ctxscore.ports import JudgeError
from otel_ctxscore.reviewing import AT_ONCE, Reviewing
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.testing import ScriptedJudge
from otel_ctxscore.web.errors import Refused

SCORERS = [ContextPrecision()]
RUN = RagRun(
    "Which port?",
    [Retrieval([Context("canteen"), Context("port 7443")]), Retrieval([Context("port 7443"), Context("backups")])], "7443",
    trace_id=f"{1:032x}", span_id=f"{1:016x}", service="shop", history=[("user", "hello")],
)  # fmt: skip
PAID = JudgedBy("llm", "m", "v", calls=1, prompt_tokens=10, completion_tokens=5, cost_usd=0.5)


class Desk:
    """A service with one run, whose judge answers as it is told."""

    def __init__(self, limits: Limits = Limits(), store: Any = "text", **options: Any) -> None:  # noqa: B008
        self.database = Database(None, max_size=64 << 20, max_age=1e9)
        self.history = History(self.database, store=store)
        self.store = Kept(self.database)
        self.budget = Budget(limits)
        self.asked: list[RagRun] = []
        self.answer: Callable[[RagRun], Judgement] = lambda run: verdicts(*(c.text == "port 7443" for c in run.judged))
        self.spent = 0
        self.reviewing = Reviewing(
            self.history, self.store, self.judge, self.budget, spent=self.count, clock=lambda: 60.0, **options
        )

    async def judge(self, run: RagRun) -> Evaluation:
        self.asked.append(run)
        return await evaluate(run, ScriptedJudge(self.answer), SCORERS)

    def count(self) -> None:
        self.spent += 1

    async def kept(self, run: RagRun = RUN) -> Record:
        """The run, judged a first time: nothing was useful."""
        none = verdicts(*(False for _ in run.judged))
        first = await evaluate(run, ScriptedJudge(lambda _: none), SCORERS)
        self.history.finished(Finished(bytes.fromhex(run.trace_id or ""), TraceOutcome.SCORED, evaluations=[first]))
        self.known = evaluation_id(first)
        return await self.again()

    async def again(self) -> Record:
        found = await self.history.run(self.known)
        assert found is not None
        return found

    async def label(self, who: str, *useful: bool | None) -> Record:
        run = await self.again()
        said = {place: Verdict(one) for place, one in enumerate(useful)}
        await self.reviewing.label(run, Label(who, float(len(run["labels"])), said))
        return await self.again()


def verdicts(*useful: bool) -> Judgement:
    return Judgement([Verdict(one, note="why") for one in useful], judged_by=PAID)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    found = Desk()
    yield found
    await found.database.close()


async def refused(work: Any) -> Refused:
    with pytest.raises(Refused) as found:
        await work
    return found.value


# ---- judging again ----------------------------------------------------------------------------------------------


async def test_the_new_judgement_stands_beside_the_first(desk: Desk) -> None:
    run = await desk.kept()
    again = await desk.reviewing.judge_again(run)
    assert desk.asked == [RUN], "with its lists and the conversation before it"
    assert [one["useful"] for one in again["verdicts"]] == [False, True, False]
    assert [score["value"] for score in again["scores"] if score["name"] == "context_precision"] == [0.5, 1.0]
    assert again["judge"] == {
        "tier": "llm", "model": "m", "calls": 1, "tokens": 15, "cost_usd": 0.5, "version": "v"
    }  # fmt: skip
    after = await desk.again()
    assert after["again"] == {"at": 60.0, **{name: again[name] for name in again if name != "at"}}
    assert {**after, "again": None} == run, "nothing else has changed"


@pytest.mark.parametrize(("store", "hint"), [("hash", "content.store is hash"), ("none", "content.store is none")])
async def test_a_run_without_text_is_refused_with_the_reason(store: str, hint: str) -> None:
    desk = Desk(store=store)
    run = await desk.kept()
    for work in (desk.reviewing.judge_again(run), desk.reviewing.anchor(run, None)):
        fault = await refused(work)
        assert (fault.status, str(fault)) == (409, "the text of this run is not kept any more")
        assert hint in fault.hint
    assert desk.asked == []
    await desk.database.close()


async def test_a_judge_that_fails_changes_nothing(desk: Desk) -> None:
    def fail(_: RagRun) -> Judgement:
        raise JudgeError(Reason.JUDGE_REFUSED)

    run, desk.answer = await desk.kept(), fail
    fault = await refused(desk.reviewing.judge_again(run))
    assert (fault.status, str(fault)) == (502, "the judge gave no score: judge_refused")
    assert (await desk.again())["again"] is None


async def test_a_run_with_nothing_to_judge_asks_nobody(desk: Desk) -> None:
    run = await desk.kept(replace(RUN, retrievals=[Retrieval([])]))
    fault = await refused(desk.reviewing.judge_again(run))
    assert (fault.status, str(fault)) == (409, "there is nothing to judge: no_contexts")


async def test_text_that_goes_while_the_judge_is_asked_is_not_kept(desk: Desk) -> None:
    run = await desk.kept()
    work = desk.judge

    async def deleted_meanwhile(it: RagRun) -> Evaluation:
        await desk.history.forget_text(bytes.fromhex(RUN.trace_id or ""))
        return await work(it)

    desk.reviewing = Reviewing(desk.history, desk.store, deleted_meanwhile, desk.budget, spent=desk.count)
    assert (await refused(desk.reviewing.judge_again(run))).status == 409
    assert (await desk.again())["again"] is None


# ---- bounds -----------------------------------------------------------------------------------------------------


async def test_a_judge_that_hangs_is_left_and_others_are_not_queued(desk: Desk) -> None:
    free = asyncio.Event()

    async def deaf(run: RagRun) -> Evaluation:
        """Does not even let itself be cancelled."""
        while not free.is_set():
            with suppress(asyncio.CancelledError):
                await free.wait()
        return await desk.judge(run)

    run = await desk.kept()
    reviewing = Reviewing(desk.history, desk.store, deaf, desk.budget, spent=desk.count, deadline=0.01)
    for _ in range(AT_ONCE):
        fault = await refused(reviewing.judge_again(run))
        assert (fault.status, "within 0.01 s" in str(fault)) == (504, True)
    fault = await refused(reviewing.judge_again(run))
    assert (fault.status, "already" in str(fault)) == (429, True), "those that hang hold their places"
    free.set()
    await asyncio.wait([task for task in asyncio.all_tasks() if task is not asyncio.current_task()])
    assert (await desk.again())["again"] is None, "an answer that nobody waits for is not kept"
    assert (await reviewing.judge_again(run))["outcome"] == "scored"


async def test_what_is_spent_is_within_the_budget() -> None:
    desk = Desk(Limits(usd_per_day=1.2))
    run = await desk.kept()
    await desk.reviewing.judge_again(run)
    assert (desk.budget.used("usd"), desk.spent) == (0.5, 1)
    await desk.label("ann", False, True, False)
    fault = await refused(desk.reviewing.anchor(await desk.again(), None))
    assert (fault.status, str(fault)) == (429, "the budget is spent")
    assert len(desk.asked) == 1, "an anchor is three calls or none"
    assert desk.budget.used("usd") == 0.5, "what was set aside for it is given back"
    assert desk.budget.is_open("day", 0.0) is False
    await desk.database.close()


# ---- anchors ----------------------------------------------------------------------------------------------------


async def test_an_anchor_is_the_run_with_a_label_and_the_mean_of_three(desk: Desk) -> None:
    await desk.kept()
    await desk.label("ann", False, True, False)
    await desk.label("bob", False, None, True)
    made = await desk.reviewing.anchor(await desk.again(), None)
    assert made.labelled.useful == (False, True, False), "the last who spoke of every context"
    assert len(desk.asked) == 3
    assert [context.text for context in desk.asked[0].judged] == ["canteen", "port 7443", "backups"]
    assert {scorer: score for (scorer, _), score in made.kept.items()}["context_precision"] == 0.5
    [found] = await anchors.known(desk.store)
    assert found == made
    assert (found.labelled.line["who"], found.labelled.line["trace_id"]) == ("ann", RUN.trace_id)
    assert found.speaks_of("shop")
    assert not found.speaks_of("docs")


async def test_a_run_that_is_an_anchor_takes_the_new_label_and_keeps_scores_of_other_judges(desk: Desk) -> None:
    await desk.kept()
    await desk.label("ann", False, True, False)
    made = await desk.reviewing.anchor(await desk.again(), None)
    anchors.keep(desk.store, replace(made, kept={("context_precision", "of before"): 0.25, **made.kept}))
    await desk.label("bob", True, True, False)
    await desk.reviewing.anchor(await desk.again(), "bob")
    [found] = await anchors.known(desk.store)
    assert found.labelled.useful == (True, True, False)
    assert found.kept["context_precision", "of before"] == 0.25


@pytest.mark.parametrize(("who", "named"), [(None, "nobody has"), ("bob", "bob has not"), ("eve", "eve has not")])
async def test_an_anchor_needs_a_whole_label(desk: Desk, who: str | None, named: str) -> None:
    await desk.kept()
    await desk.label("bob", True, None, False)
    fault = await refused(desk.reviewing.anchor(await desk.again(), who))
    assert (fault.status, str(fault)) == (409, f"{named} said of every context whether it is useful")
    assert desk.asked == []


async def test_what_a_label_line_cannot_say_is_no_anchor(desk: Desk) -> None:
    """The same text judged for two queries."""
    twice = [Retrieval([Context("a")], query=query) for query in ("x", "y")]
    await desk.kept(replace(RUN, retrievals=twice, query_from="retrieval"))
    await desk.label("ann", True, True)
    assert "twice" in str(await refused(desk.reviewing.anchor(await desk.again(), None)))
