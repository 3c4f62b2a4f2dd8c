"""Recent scores for the page."""

from __future__ import annotations

from typing import Any

import pytest

from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, RagRun, Retrieval, Score
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.monitoring import AlarmStatus
from otel_ctxscore.web.standings import RECENT_RUNS, Standings


def evaluation(
    ratio: float | None,
    *,
    service: str = "shop",
    scorer: str = "p",
    version: str = "v1",
    weight: float = 1,
    **changed: Any,
) -> Evaluation:
    redelivered = changed.pop("redelivered", False)
    run = RagRun(
        "q",
        [Retrieval([Context("t")], span_id="b1")],
        trace_id="aa",
        span_id="a1",
        service=service,
        probability=1 / weight,
        redelivered=redelivered,
    )
    unscored = Reason.UNRANKED if ratio is None else None
    score = Score(scorer, "d", version, ratio, ratio=ratio, retrieval=0, unscored=unscored)
    return Evaluation(run, None, [score], TraceOutcome.SCORED, judged_by=JudgedBy("llm", "m", "p"), **changed)


def no_alarm(service: str, scorer: str, version: str) -> None:
    return None


def test_means_are_weighted_and_by_series() -> None:
    standings = Standings()
    for ratio, weight in [(0.0, 1), (1.0, 3)]:
        standings.add(evaluation(ratio, weight=weight))
    standings.add(evaluation(0.25, version="v2"))
    standings.add(evaluation(0.5, service="docs", scorer="hit_rate"))
    docs, first, second = standings.rows(no_alarm)
    assert (docs.service, docs.scorer, docs.alarm, docs.mean) == ("docs", "hit_rate", None, 0.5)
    assert (first.version, first.tier, first.runs, first.mean) == ("v1", "llm", 2, 0.75)
    assert (second.version, second.mean) == ("v2", 0.25)


@pytest.mark.parametrize("changed", [{"redelivered": True}, {"revision": 1}, {"backfill": True}])
def test_a_repeat_is_no_news(changed: dict[str, Any]) -> None:
    standings = Standings()
    standings.add(evaluation(0.5, **changed))
    standings.add(evaluation(None))
    assert standings.rows(no_alarm) == []


def test_the_mean_is_of_the_recent_scores_and_the_alarm_that_of_the_series() -> None:
    standings = Standings()
    for ratio in [0.9] * RECENT_RUNS + [0.1] * RECENT_RUNS:
        standings.add(evaluation(ratio))
    quiet = AlarmStatus("quiet", 0.25, 0.9)
    (row,) = standings.rows(lambda *series: quiet if series == ("shop", "p", "v1") else None)
    assert row.mean == pytest.approx(0.1)
    assert row.alarm is quiet


def test_of_many_series_the_longest_silent_is_forgotten() -> None:
    standings = Standings(limit=2)
    for service in ["a", "b", "a", "c"]:
        standings.add(evaluation(0.5, service=service))
    assert [row.service for row in standings.rows(no_alarm)] == ["a", "c"]
