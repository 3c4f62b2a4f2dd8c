"""Feeds the estimator sums: by trace totals, per series and per declared segment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.core.records import segment_value
from otel_ctxscore.monitoring.series import by_series
from otel_ctxscore.telemetry import Metrics


class EstimatorSums:
    """`segments` are those of the configuration: their names and the attributes that hold their values."""

    def __init__(self, metrics: Metrics, segments: Mapping[str, str]) -> None:
        self._metrics = metrics
        self._segments = dict(segments)

    def add(self, evaluations: Sequence[Evaluation]) -> None:
        """Take the evaluations of one trace. Totals are squared, so segments have sums of their own."""
        for series, scores in by_series(evaluations).items():
            for stage, sums in scores.stages():
                self._metrics.estimator(*series, stage, sums.terms(stage))
        for name, attribute in self._segments.items():
            for value, within in _by_value(evaluations, attribute).items():
                self._add_segment((name, value), within)

    def _add_segment(self, segment: tuple[str, str], evaluations: Iterable[Evaluation]) -> None:
        for (service, scorer, version), scores in by_series(evaluations).items():
            for stage, sums in scores.stages():
                self._metrics.segment_estimator(service, segment, scorer, version, stage, sums.terms(stage))


def _by_value(evaluations: Iterable[Evaluation], attribute: str) -> dict[str, list[Evaluation]]:
    """Runs without the attribute, or with one that is no plain value, are in no segment."""
    found: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        value = segment_value(evaluation.run, attribute)
        if value is not None:
            found.setdefault(value, []).append(evaluation)
    return found
