"""Sums and counts by the hour."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.hours import CountKey, Evaluator, SumsRow, Window
from otel_ctxscore.core.model import CheapScore, Context, Evaluation, JudgedBy, RagRun, Retrieval, Screening
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.stats import Sums, estimate_judged, estimate_mean
from otel_ctxscore.io.state import Database
from otel_ctxscore.io.state.hours import MAX_VALUES, Hours
from tests.io.evaluations import JUDGED_BY, RUN, evaluation, score

HOUR = 3600.0
NOON = 1_700_000_000 // HOUR * HOUR
EVER = Window(0.0, 1e12)
LEADING = ("context_precision",)
LOCAL = JudgedBy("local", "lexical", "p", calls=1, cost_usd=0.0)


class Rig:
    """Hours over a database in memory, or in a file."""

    def __init__(self, path: Path | None = None, segments: dict[str, str] | None = None, **options: Any) -> None:
        self.database = Database(path, max_size=64 << 20, max_age=1e12)
        self.hours = Hours(self.database, segments or {"release": "v"}, LEADING, **options)

    def add(self, *evaluations: Evaluation, at: float = NOON, spans: int = 0, **changed: Any) -> None:
        given = {"outcome": TraceOutcome.SCORED, "service": "shop", "spans": spans, **changed}
        self.hours.add(Finished(b"", evaluations=evaluations, **given), at)

    async def sums(self, scorer: str, window: Window = EVER) -> Sums:
        rows = [row for row in await self.hours.sums(window) if row.key.scorer == scorer]
        return sum((row.sums for row in rows), Sums())

    async def counts(self) -> dict[CountKey, float]:
        return {row.key: row.n for row in await self.hours.counts(EVER)}


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    found = Rig()
    yield found
    await found.database.close()


def judged(*values: float, run: RagRun = RUN, **changed: Any) -> Evaluation:
    scores = [score("context_precision", value, retrieval=place) for place, value in enumerate(values)]
    return evaluation(scores, run, outcome=TraceOutcome.SCORED, reason=None, **changed)


async def test_any_window_is_a_sum_of_hours(rig: Rig) -> None:
    for hour, value in enumerate((1.0, 0.5, 0.0)):
        rig.add(judged(value), at=NOON + hour * HOUR + 100)
    assert (await rig.sums("context_precision")).wy == 6.0, "weight 4, of 1, .5 and 0"
    late = await rig.hours.sums(Window(NOON + HOUR, NOON + 3 * HOUR, width=HOUR))
    means = {row.at: row.sums.wy / row.sums.w for row in late if row.key.scorer == "context_precision"}
    assert means == {NOON + HOUR: 0.5, NOON + 2 * HOUR: 0.0}
    assert await rig.hours.sums(Window(0.0, NOON)) == []
    assert await rig.hours.since() == NOON


async def test_an_hour_is_that_in_which_the_run_ended(rig: Rig) -> None:
    """After an outage the runs of yesterday are judged today; a clock ahead of ours is ours."""
    rig.add(judged(0.5, run=replace(RUN, end_ns=int((NOON - 5 * HOUR) * 1e9))), at=NOON)
    rig.add(judged(0.5, run=replace(RUN, end_ns=int((NOON + 5 * HOUR) * 1e9))), at=NOON)
    rows = await rig.hours.sums(replace(EVER, since=0.0, width=HOUR))
    assert {row.at for row in rows} == {NOON - 5 * HOUR, NOON}


async def test_it_survives_and_goes_on(tmp_path: Path) -> None:
    for _ in range(2):
        rig = Rig(tmp_path / "state")
        rig.add(judged(0.5))
        rig.hours.save()
        await rig.database.close()
    rig = Rig(tmp_path / "state")
    assert (await rig.sums("context_precision")).n == 2
    assert await rig.hours.evaluators() == [
        Evaluator("context_precision", "v-context_precision", "llm", "openai/small")
    ]
    await rig.database.close()


async def test_runs_of_one_trace_are_one_observation(rig: Rig) -> None:
    rig.add(judged(1.0), judged(0.0))
    found = await rig.sums("context_precision")
    assert (found.n, found.w, found.wy, found.ww) == (1, 8.0, 4.0, 64.0)


@pytest.mark.parametrize(
    "changed", [{"revision": 1}, {"backfill": True}, {"run": replace(RUN, redelivered=True)}], ids=repr
)
async def test_a_repeat_costs_and_is_no_score(rig: Rig, changed: dict[str, Any]) -> None:
    rig.add(replace(judged(0.5), **changed))
    assert await rig.hours.sums(EVER) == []
    kinds = {key.kind for key in await rig.counts()}
    assert kinds == {"spans", "traces", "calls", "tokens", "usd"}


async def test_segments_have_sums_of_their_own_and_runs_without_one_are_kept_apart(rig: Rig) -> None:
    for value, attributes in ((1.0, {"v": "r1"}), (0.0, {"v": 2}), (0.5, {})):
        rig.add(judged(value, run=replace(RUN, attributes=attributes)))
    rows = await rig.hours.segments(EVER)
    assert {row.key.value: row.sums.wy / row.sums.w for row in rows} == {"r1": 1.0, "2": 0.0, "": 0.5}
    assert {row.key.scorer for row in rows} == set(LEADING)
    assert await rig.hours.segments(EVER, segment="other") == []
    assert await rig.hours.segments(EVER, scorer="hit_rate") == []


async def test_many_values_are_one(rig: Rig) -> None:
    for n in range(MAX_VALUES + 5):
        rig.add(judged(0.5, run=replace(RUN, attributes={"v": f"r{n}"})))
    values = {row.key.value: row.sums.n for row in await rig.hours.segments(EVER)}
    assert (len(values), values["other"]) == (MAX_VALUES + 1, 5)


async def test_services_are_told_apart(rig: Rig) -> None:
    for service in ("shop", "docs"):
        rig.add(judged(0.5, run=replace(RUN, service=service)), service=service)
    rig.hours.truncated(NOON)
    window = replace(EVER, services=("docs",))
    assert {row.key.service for row in await rig.hours.sums(window)} == {"docs"}
    assert {row.key.service for row in await rig.hours.counts(window)} == {"docs", ""}
    assert CountKey("", "truncated") in await rig.counts()


# ---- what is no score -------------------------------------------------------------------------------------------


def retrieved(*lists: list[tuple[int, float | None]], probability: float = 1.0) -> RagRun:
    """A run with lists of contexts, each of so many characters and with a retriever's number."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    retrievals = [Retrieval([Context(next(letters) * n, document_score=number) for n, number in one]) for one in lists]
    return replace(RUN, retrievals=retrievals, probability=probability)


async def mean_of(rig: Rig, measure: str) -> float | None:
    return estimate_mean(await rig.sums(measure)).mean


async def test_what_was_retrieved_is_measured(rig: Rig) -> None:
    rig.add(evaluation([], retrieved([(10, 0.9), (20, 0.7)], [(30, None)]), outcome=TraceOutcome.SCORED))
    rig.add(evaluation([], retrieved([]), outcome=TraceOutcome.UNSCORED, reason=Reason.NO_CONTEXTS))
    assert await mean_of(rig, "contexts") == 1.5
    assert await mean_of(rig, "context_characters") == 20
    assert await mean_of(rig, "document_score") == pytest.approx(0.8)
    assert await mean_of(rig, "empty_retrievals") == pytest.approx(1 / 3)


async def test_text_that_was_not_captured_is_no_empty_list(rig: Rig) -> None:
    redacted = replace(RUN, retrievals=[Retrieval([Context("x")], refused=Reason.REDACTED)])
    rig.add(evaluation([], redacted, outcome=TraceOutcome.UNSCORED, reason=Reason.REDACTED))
    assert await mean_of(rig, "contexts") is None
    assert await mean_of(rig, "empty_retrievals") == 0.0


@given(st.floats(), st.floats())
async def test_no_number_of_a_retriever_breaks_the_sums(first: float, second: float) -> None:
    rig = Rig()
    rig.add(evaluation([], retrieved([(1, first), (2, second), (3, 0.5)]), outcome=TraceOutcome.SCORED))
    rig.hours.save()
    await rig.database.flush()
    assert rig.database.dropped == 0
    found = await mean_of(rig, "document_score")
    assert found is not None
    assert abs(found) <= 1e12
    await rig.database.close()


async def test_all_traffic_is_measured_by_those_that_were_screened(rig: Rig) -> None:
    """Where two judge, a run that the dearer one saw stands for itself among the screened ones; where a budget leaves
    runs out, those that were judged stand for them."""
    screening = Screening(0.5, [CheapScore("context_precision", "v-context_precision", 0, 0.7)])
    rig.add(judged(1.0, run=retrieved([(5, None)], probability=0.05), screening=screening))
    rig.add(evaluation([], retrieved([(5, None)] * 3), outcome=TraceOutcome.SCREENED, screening=screening))
    rig.add(evaluation([], retrieved([(5, None)] * 9), outcome=TraceOutcome.OVER_BUDGET))
    assert (await rig.sums("contexts")).w == 4.0
    assert await mean_of(rig, "contexts") == 2.0
    rows = {row.key.stage: row.sums for row in await rig.hours.sums(EVER) if row.key.scorer == "context_precision"}
    assert (rows["screened"].n, rows["judged"].n, rows["judged"].w) == (2, 1, 20.0)


# ---- counts -----------------------------------------------------------------------------------------------------


async def test_from_spans_to_scores_everything_is_counted(rig: Rig) -> None:
    rig.add(judged(1.0), spans=7)
    unscored = evaluation([score("context_precision", None, unscored=Reason.JUDGE_REFUSED)], judged_by=None)
    rig.add(replace(unscored, outcome=TraceOutcome.UNSCORED), spans=3, outcome=TraceOutcome.UNSCORED)
    rig.add(spans=2, outcome=TraceOutcome.NOT_RAG)
    found = {key[1:]: n for key, n in (await rig.counts()).items()}
    assert found[("spans", "", "")] == 12
    assert {key[1]: n for key, n in found.items() if key[0] == "traces"} == {"scored": 1, "unscored": 1, "not_rag": 1}
    assert {key[1]: n for key, n in found.items() if key[0] == "runs"} == {"scored": 1, "unscored": 1}
    assert found[("scores", "context_precision", "")] == 1
    assert found[("unscored", "context_precision", "judge_refused")] == 1
    assert found[("retrievals", "some", "")] == 4


async def test_a_price_that_is_unknown_is_not_none(rig: Rig) -> None:
    rig.add(judged(1.0))
    rig.add(judged(1.0, judged_by=replace(JUDGED_BY, cost_usd=None, calls=2)))
    rig.add(judged(1.0, judged_by=replace(JUDGED_BY, calls=0, cached=True, cost_usd=0.0)))
    rig.add(judged(1.0, judged_by=LOCAL))
    found = {key[1:]: n for key, n in (await rig.counts()).items()}
    llm, local = ("llm", "openai/small"), ("local", "lexical")
    assert [found.get((kind, *llm)) for kind in ("calls", "tokens", "usd", "unpriced")] == [3, 200, 0.001, 2]
    assert [found.get((kind, *local)) for kind in ("calls", "usd", "unpriced")] == [1, 0, None]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.25, 1.0]), st.sampled_from([1.0, 0.25, 0.05])),
        min_size=1,
        max_size=30,
    )
)
async def test_the_estimate_is_that_of_all_traces_together(runs: list[tuple[int, float, float]]) -> None:
    rig = Rig()
    for hour, value, probability in runs:
        rig.add(judged(value, run=replace(RUN, probability=probability)), at=NOON + hour * HOUR)
    found = estimate_judged(await rig.sums("context_precision"))
    weights = [1 / probability for _, _, probability in runs]
    mean = sum(w * value for w, (_, value, _) in zip(weights, runs, strict=True)) / sum(weights)
    assert found.mean == pytest.approx(mean)
    assert found.n_eff == pytest.approx(sum(weights) ** 2 / sum(w * w for w in weights))
    pieces: list[SumsRow] = await rig.hours.sums(replace(EVER, since=NOON, width=2 * HOUR))
    assert {row.at for row in pieces} <= {NOON, NOON + 2 * HOUR}
    await rig.database.close()
