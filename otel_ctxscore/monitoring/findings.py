"""What an inquiry into an alarm finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from otel_ctxscore.core.hours import Evaluator, Measure, Window
from otel_ctxscore.core.stats import Contribution, Difference, Estimate, Reference, difference
from otel_ctxscore.monitoring.past import Point
from otel_ctxscore.monitoring.records import AlarmRecord
from otel_ctxscore.monitoring.rules import Pace


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the service knows beside the sums. `reference`: of the series, None where it is not watched any more.
    `anchors`: how many are pinned that speak of it. `segments`: the names that are configured. `earlier`: the end of
    the alarm of the same series before this one (Unix seconds)."""

    pace: Pace
    reference: Reference | None = None
    anchors: int = 0
    segments: Sequence[str] = ()
    earlier: float | None = None


@dataclass(frozen=True, slots=True)
class Began:
    """When the change most likely began, in Unix seconds: the start of an hour, or of a quarter of a minute where
    the series is so young that these are kept of all of it. With 95 % it did between `earliest` and `latest`;
    `probability` is that of the hour or quarter itself, both if the mean fell once."""

    at: float
    earliest: float
    latest: float
    probability: float


@dataclass(frozen=True, slots=True)
class Compared:
    """A mean before the change and after it, with the number of traces behind each."""

    before: Estimate
    after: Estimate
    n_before: int
    n_after: int

    @property
    def difference(self) -> Difference | None:
        return difference(self.after, self.before)


@dataclass(frozen=True, slots=True)
class Part:
    """One value of a segment, and what it adds to the change. `value` is "" for runs without the attribute."""

    value: str
    means: Compared
    contribution: Contribution


@dataclass(frozen=True, slots=True)
class OtherVersion:
    """Another version of the scorer with scores of this service, the first of them at `first` (Unix seconds)."""

    version: str
    evaluator: Evaluator | None
    first: float
    n: int


@dataclass(frozen=True, slots=True)
class Count:
    """How often something came before the change and after it."""

    name: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """What could not be said, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Inquiry:
    """All of it. `window` is what was looked at and `split` where it is parted in before and after: at `began`, or
    where that is not known at what the alarm noted when it rose. `course` is the mean in pieces of
    `piece` seconds. `measures` are of what was retrieved. `unscored` counts by reason, beside `scores`; `calls` by
    judge."""

    record: AlarmRecord
    window: Window
    split: float
    began: Began | None
    means: Compared
    course: Sequence[Point]
    piece: float
    evaluator: Evaluator | None
    segments: Mapping[str, Sequence[Part]]
    measures: Mapping[Measure, Compared]
    scores: Count
    unscored: Sequence[Count]
    calls: Sequence[Count]
    versions: Sequence[OtherVersion]
    anchors: int
    unknown: Sequence[Unknown]
