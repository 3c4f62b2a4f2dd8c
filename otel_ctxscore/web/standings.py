"""Recent scores by service, scorer and version."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from otel_ctxscore.core.model import Evaluation, Score
from otel_ctxscore.core.stats import Estimate, Sums, TraceTotals, WeightedScore, estimate_judged
from otel_ctxscore.monitoring import AlarmStatus
from otel_ctxscore.telemetry.metrics import ratio
from otel_ctxscore.web.status import Standing

Key = tuple[str, str, str, str]
RECENT_RUNS = 100
"""Scores whose mean is shown as the recent one."""


@dataclass(slots=True)
class _Series:
    recent: deque[WeightedScore] = field(default_factory=lambda: deque(maxlen=RECENT_RUNS))
    runs: int = 0


class Standings:
    """The last scores of at most `limit` series; of more, those that were longest without a score are forgotten."""

    def __init__(self, *, limit: int = 500) -> None:
        self._limit = limit
        self._series: dict[Key, _Series] = {}

    def add(self, evaluation: Evaluation) -> None:
        """Take the scores of a run, once: a repeat, a revision or a backfill is no news."""
        if evaluation.run.redelivered or evaluation.revision or evaluation.backfill:
            return
        for score in evaluation.scores:
            value = ratio(score)
            if value is not None:
                self._add(evaluation, score, value)

    def _add(self, evaluation: Evaluation, score: Score, value: float) -> None:
        tier = evaluation.judged_by.tier if evaluation.judged_by else "custom"
        key = (evaluation.run.service, score.name, tier, score.version)
        series = self._series.pop(key, None) or _Series()
        self._series[key] = series  # the last one is the youngest
        if len(self._series) > self._limit:
            del self._series[next(iter(self._series))]
        series.recent.append(WeightedScore(evaluation.weight, value))
        series.runs += 1

    def rows(self, alarm: Callable[[str, str, str], AlarmStatus | None]) -> list[Standing]:
        """All series, by service, scorer, tier and version. `alarm` gives the alarm of a service, scorer, version."""
        return [_row(key, series, alarm(key[0], key[1], key[3])) for key, series in sorted(self._series.items())]


def _row(key: Key, series: _Series, alarm: AlarmStatus | None) -> Standing:
    now = _estimate(series)
    return Standing(
        *key,
        runs=series.runs,
        mean=now.mean,
        lower=now.lower,
        upper=now.upper,
        alarm=alarm,
    )


def _estimate(series: _Series) -> Estimate:
    return estimate_judged(sum((TraceTotals.of([score]).judged for score in series.recent), Sums()))
