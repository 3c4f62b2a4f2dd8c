"""The scores of one trace, by the series that they belong to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from otel_ctxscore.core.model import CheapScore, Evaluation
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.core.stats import Stage, Sums, TraceTotals, WeightedScore
from otel_ctxscore.telemetry.metrics import ratio


class Series(NamedTuple):
    """What has a mean of its own: scores of different judges or versions never share one."""

    service: str
    scorer: str
    version: str

    def name(self) -> str:
        """The series as one text, for a key of the state."""
        return json.dumps(self, ensure_ascii=False)

    @classmethod
    def named(cls, name: str) -> Series:
        """The reverse of `name`. Raises ValueError for another text."""
        parts = json.loads(name)
        if not (isinstance(parts, list) and len(parts) == len(cls._fields) and all(isinstance(p, str) for p in parts)):
            raise ValueError(f"not the name of a series: {name}")
        return cls(*parts)


Label = Callable[[Series], Series | None]
"""Gives a series the label values that its metrics have, and None where it shares them with others."""


@dataclass(slots=True)
class TraceScores:
    """The scores of one trace in one series: those of the stage judged, and the cheap ones of the stage screened
    (none where one judge judges all)."""

    judged: list[WeightedScore] = field(default_factory=list)
    screened: list[WeightedScore] = field(default_factory=list)

    def stages(self) -> Iterable[tuple[Stage, Sums]]:
        """What the trace adds to each stage that it is in."""
        if self.screened:
            yield "screened", TraceTotals.of(self.screened).screened
        if self.judged:
            yield "judged", TraceTotals.of(self.judged).judged


def counted(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """Those that enter sums: the first of each run, and never one that comes from the past or was left out."""
    return [
        evaluation
        for evaluation in evaluations
        if not (evaluation.run.redelivered or evaluation.revision or evaluation.backfill)
        and evaluation.outcome is not TraceOutcome.NOT_SAMPLED
    ]


def by_series(evaluations: Iterable[Evaluation]) -> dict[Series, TraceScores]:
    """The scores of the evaluations of one trace. A cheap judge that says nothing of a score counts as 0 in both
    stages, so that their means stay comparable."""
    found: dict[Series, TraceScores] = {}
    for evaluation in evaluations:
        cheap = {(one.name, one.version, one.retrieval): one.value or 0.0 for one in _cheap(evaluation)}
        for score in evaluation.scores:
            value = ratio(score)
            if value is not None:
                series = Series(evaluation.run.service, score.name, score.version)
                f = cheap.get((score.name, score.version, score.retrieval), 0.0)
                found.setdefault(series, TraceScores()).judged.append(WeightedScore(evaluation.weight, value, f))
        for (name, version, _), f in cheap.items():
            assert evaluation.screening is not None
            weight = 1 / evaluation.screening.probability
            series = Series(evaluation.run.service, name, version)
            found.setdefault(series, TraceScores()).screened.append(WeightedScore(weight, cheap=f))
    return found


def _cheap(evaluation: Evaluation) -> Sequence[CheapScore]:
    return evaluation.screening.scores if evaluation.screening is not None else ()
