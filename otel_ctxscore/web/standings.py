"""Recent scores by service, scorer and version, for the page."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from otel_ctxscore.core.model import Evaluation, Score
from otel_ctxscore.core.trend import Trend
from otel_ctxscore.telemetry.metrics import judged_span, ratio
from otel_ctxscore.web.status import Standing

Key = tuple[str, str, str, str]


@dataclass(slots=True)
class _Series:
    trend: Trend = field(default_factory=Trend)
    runs: int = 0
    last: float = 0.0
    span: dict[str, str] = field(default_factory=dict)


class Standings:
    """The last scores of at most `limit` series; of more, those that were longest without a score are forgotten.

    `alarming` names the scorers whose trend is shown.
    """

    def __init__(self, alarming: Collection[str], *, limit: int = 500) -> None:
        self._alarming = frozenset(alarming)
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
        series.trend.add(value, evaluation.weight)
        series.runs += 1
        series.last, series.span = value, judged_span(evaluation.run, score)

    def rows(self) -> list[Standing]:
        """All series, by service, scorer, tier and version."""
        return [self._row(key, series) for key, series in sorted(self._series.items())]

    def _row(self, key: Key, series: _Series) -> Standing:
        now, reference = series.trend.now, series.trend.reference
        return Standing(
            *key,
            runs=series.runs,
            mean=now.mean if now else None,
            lower=now.lower if now else None,
            upper=now.upper if now else None,
            last=series.last,
            trace_id=series.span.get("trace_id"),
            span_id=series.span.get("span_id"),
            reference=reference.mean if reference else None,
            trend=series.trend.state if key[1] in self._alarming else None,
        )
