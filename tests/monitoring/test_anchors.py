"""Anchors: kept scores, the steady trickle, the burst, and what labels say of the judge."""

from __future__ import annotations

import json
import logging
import random
from typing import Any

import pytest

from otel_ctxscore.core.model import Evaluation, Judgement, RagRun, Verdict
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.stats import Reference
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.monitoring import anchors, labels
from otel_ctxscore.monitoring.alarms import Alarms
from otel_ctxscore.monitoring.anchors import Anchor
from otel_ctxscore.monitoring.labels import LabelError
from otel_ctxscore.monitoring.records import AlarmRecord
from otel_ctxscore.monitoring.rounds import Rounds
from otel_ctxscore.monitoring.rules import Rules
from otel_ctxscore.monitoring.series import Series, by_series
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.testing import ScriptedJudge
from tests.monitoring.labelled import read
from tests.monitoring.stores import HOUR, START, MemoryStore, evaluation

NAME = "context_precision"


def line(number: int, useful: tuple[bool, ...] = (True, False), **more: Any) -> dict[str, Any]:
    contexts = [{"text": f"text {place} of {number}", "useful": u} for place, u in enumerate(useful)]
    return {"query": f"question {number}", "contexts": contexts, "who": "ana", **more}


class Judge:
    """Says what `useful` says of each context of a run; counts what it is asked."""

    def __init__(self) -> None:
        self.useful = (True, False)
        self.fails = False
        self.judge = ScriptedJudge(self._answer, tier="llm")

    def _answer(self, run: RagRun) -> Judgement | Reason:
        if self.fails:
            return Reason.JUDGE_UNAVAILABLE
        return Judgement([Verdict(useful=u) for u in self.useful])

    async def __call__(self, run: RagRun) -> Evaluation:
        return await evaluate(run, self.judge, [ContextPrecision()])


async def pinned(store: MemoryStore, judge: Judge, n: int, **more: Any) -> list[Anchor]:
    found = []
    for number in range(n):
        anchor = Anchor.of(labels.parse(line(number, **more)))
        found.append(anchors.pinned(anchor, [await judge(anchor.labelled.run) for _ in range(3)]))
        anchors.keep(store, found[-1])
    return found


def rig(store: MemoryStore, judge: Judge) -> tuple[Alarms, Rounds, list[AlarmRecord]]:
    rose: list[AlarmRecord] = []
    alarms = Alarms({NAME}, Rules(pinned=Reference.pinned(1.0)), store, rose=rose.append)
    return alarms, Rounds(store, judge, alarms, random.Random(1)), rose


async def version_of(judge: Judge) -> str:
    run = labels.parse(line(0)).run
    return next(series.version for series in by_series([await judge(run)]) if series.scorer == NAME)


async def fall(alarms: Alarms, version: str, ratio: float, n: int = 60) -> None:
    for number in range(n):
        run = evaluation(ratio, service="shop", scorer=NAME, version=version, query=f"live {number}")
        alarms.observe([run], lambda series: series, START + number * HOUR / 10)


async def test_an_anchor_keeps_the_mean_of_three_passes_and_comes_back_as_it_was() -> None:
    store, judge = MemoryStore(), Judge()
    (anchor,) = await pinned(store, judge, 1)
    assert len(judge.judge.runs) == 3
    (score,) = [score for (scorer, _), score in anchor.kept.items() if scorer == NAME]
    assert score == 1.0
    (again,) = await anchors.known(store)
    assert again == anchor
    assert anchor.as_dict()["who"] == "ana"
    assert Anchor.of(labels.parse(line(0))).id == anchor.id, "the same run is the same anchor"


async def test_a_pass_that_fails_pins_nothing() -> None:
    judge = Judge()
    anchor = Anchor.of(labels.parse(line(0)))
    passes = [await judge(anchor.labelled.run), await judge(anchor.labelled.run)]
    judge.fails = True
    passes.append(await judge(anchor.labelled.run))
    assert anchors.pinned(anchor, passes).kept == {}


@pytest.mark.parametrize(
    ("judge_says", "live", "culprit"),
    [
        ((True, False), 0.2, "system"),
        ((False, True), 0.5, "judge"),
        ((False, True), 0.0, "both"),
    ],
)
async def test_the_burst_says_who_moved(judge_says: tuple[bool, bool], live: float, culprit: str) -> None:
    store, judge = MemoryStore(), Judge()
    await pinned(store, judge, 100)
    version = await version_of(judge)
    alarms, rounds, rose = rig(store, judge)
    await rounds.restore()
    await fall(alarms, version, live)
    judge.useful = judge_says
    await rounds.burst(rose[0])
    record = alarms.record(rose[0].id)
    assert record is not None
    assert record.blame is not None
    assert (record.blame["culprit"], record.blame["anchors"]) == (culprit, 100)


async def test_without_anchors_of_the_service_there_is_no_blame_and_without_an_answer_it_is_open() -> None:
    store, judge = MemoryStore(), Judge()
    await pinned(store, judge, 5, service="docs")
    version = await version_of(judge)
    alarms, rounds, rose = rig(store, judge)
    await rounds.restore()
    await fall(alarms, version, 0.0)
    await rounds.burst(rose[0])
    assert alarms.records()[0].blame is None
    await pinned(store, judge, 5, service="shop")
    await rounds.refresh()
    judge.fails = True
    await rounds.burst(rose[0])
    assert alarms.records()[0].blame == {
        "culprit": "open", "anchors": 0, "judge": None, "judge_error": None, "system": None, "system_error": None
    }  # fmt: skip
    assert json.dumps(alarms.records()[0].as_dict(), allow_nan=False)


async def test_the_trickle_finds_a_judge_that_moves_also_over_a_restart(caplog: pytest.LogCaptureFixture) -> None:
    store, judge = MemoryStore(), Judge()
    await pinned(store, judge, 20)
    _, rounds, _ = rig(store, judge)
    await rounds.restore()
    judge.useful = (False, True)
    for tick in range(40):
        await rounds.trickle(tick)
    before = dict(rounds.ratios())
    assert 0 < max(before.values()) < 1
    _, again, _ = rig(store, judge)
    await again.restore()
    assert dict(again.ratios()) == before
    with caplog.at_level(logging.WARNING):
        for tick in range(40, 200):
            await again.trickle(tick)
    assert max(ratio for (scorer, _), ratio in again.ratios() if scorer == NAME) >= 1
    assert sum(f"{NAME} " in record.getMessage() for record in caplog.records) == 1, "it is said once"


async def test_without_anchors_or_kept_scores_the_trickle_asks_nobody() -> None:
    store, judge = MemoryStore(), Judge()
    _, rounds, _ = rig(store, judge)
    await rounds.trickle(0)
    anchors.keep(store, Anchor.of(labels.parse(line(0))))
    await rounds.refresh()
    await rounds.trickle(1)
    assert judge.judge.runs == []


async def test_scores_of_another_version_are_not_compared() -> None:
    store, judge = MemoryStore(), Judge()
    await pinned(store, judge, 2)
    judge.judge.version = "2"
    _, rounds, _ = rig(store, judge)
    await rounds.restore()
    await rounds.trickle(0)
    assert dict(rounds.ratios()) == {}


async def test_what_cannot_be_read_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    store.put("anchor", "x", {"query": "q"})
    store.put("anchor_watch", '["p", "v"]', {"fell": 1})
    _, rounds, _ = rig(store, Judge())
    with caplog.at_level(logging.ERROR):
        await rounds.restore()
    assert len(caplog.records) == 2


def test_agreement_with_people_corrects_the_share_of_useful_contexts() -> None:
    judged = [
        (labels.parse(line(n, (True, True, False, False))), Judgement([Verdict(useful=u) for u in says]))
        for n, says in enumerate([(True, True, False, False), (True, False, False, False)] * 20)
    ]
    rates = labels.rates(judged)
    assert rates is not None
    assert (rates.sensitivity, rates.specificity) == (0.75, 1.0)
    scores = by_series([evaluation(0.0, 0.6, scorer="share_useful", query=str(n)) for n in range(100)])
    ((_, sums),) = scores[Series("shop", "share_useful", "v1")].stages()
    found = labels.corrected(sums, rates)
    assert found is not None
    apparent, share = found
    assert [apparent, share.value] == pytest.approx([0.3, 0.4])
    assert share.lower < share.value < share.upper


def test_a_judge_that_agrees_too_little_corrects_nothing() -> None:
    says = [(True, False), (False, True)] * 20
    judged = [(labels.parse(line(n)), Judgement([Verdict(useful=u) for u in s])) for n, s in enumerate(says)]
    rates = labels.rates(judged)
    assert rates is not None
    ((_, sums),) = by_series([evaluation(0.5)])[Series("shop", "p", "v1")].stages()
    assert labels.corrected(sums, rates) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: "),
        ("[]", "line 1: is no JSON object"),
        ("{}", "query is missing"),
        ('{"query": "q", "contexts": []}', "contexts are missing"),
        ('{"query": "q", "contexts": [{"text": " ", "useful": true}]}', "contexts[0] has no text"),
        ('{"query": "q", "contexts": [{"text": "a"}]}', "contexts[0].useful"),
        ('{"query": "q", "contexts": [{"text": "a", "useful": 1}]}', "contexts[0].useful"),
        ('{"query": "q", "contexts": [{"text": "a", "useful": true, "relevance": "x"}]}', "contexts[0].relevance"),
        ('{"query": "q", "contexts": [{"text": "a", "useful": true, "used": "x"}]}', "contexts[0].used"),
        ('{"query": "q", "contexts": [{"text": "a", "useful": true}], "response": 1}', "response"),
        ('{"query": "q", "contexts": [{"text": "a", "useful": true}, {"text": "a", "useful": true}]}', "twice"),
    ],
)
def test_a_line_that_is_no_labelled_run_is_named(text: str, said: str) -> None:
    with pytest.raises(LabelError) as raised:
        read([text])
    assert said in str(raised.value)


def test_labelled_runs_keep_what_else_stands_in_their_line() -> None:
    (found,) = read(["\n", json.dumps(line(1, service="docs", run_id="r1", response="because"))])
    assert (found.run.service, found.run.response, found.useful) == ("docs", "because", (True, False))
    assert found.line["run_id"] == "r1"
    assert found.run.refused is None
