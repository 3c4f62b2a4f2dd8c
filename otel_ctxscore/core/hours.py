"""The past by the quarter of a minute, the hour and the day: sums of scores and of what was retrieved, and counts. Any
window is a sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from otel_ctxscore.core.stats import Stage, Sums

FINE, HOUR = 15.0, 3600.0


def finest(tick: float) -> float:
    """Seconds of the finest pieces that are kept beside hours of so many; a demonstration's has nothing finer."""
    return FINE if tick == HOUR else tick


Measure = Literal["contexts", "context_characters", "document_score", "empty_retrievals"]
MEASURES: tuple[Measure, ...] = ("contexts", "context_characters", "document_score", "empty_retrievals")
"""What is no score and may change before the scores do: contexts of a run, characters of a context, the retriever's own
number for a document, and the share of retrievals that found nothing."""

SumsOf = Stage | Literal["retrieved"]
"""Scores of a stage, or a measure: its name stands in place of a scorer then, and it has no version."""

Counted = Literal[
    "spans", "traces", "runs", "retrievals", "scores", "unscored", "calls", "tokens", "usd", "unpriced", "truncated"
]
"""What is counted. `traces`, `runs` by outcome; `retrievals` by `some` or `empty`; `scores` by scorer; `unscored` by
scorer and reason; `calls`, `tokens`, `usd` and `unpriced` (calls whose price is unknown) by the judge's tier and model.
`truncated`, of no service, are runs that came while the budget's fuse was blown: means of these hours have no
interval."""


class SumsKey(NamedTuple):
    """What has sums of its own in an hour. `segment` and `value` are "" for the whole service; a `value` alone is ""
    for runs that do not have the segment's attribute."""

    service: str
    segment: str
    value: str
    scorer: str
    version: str
    stage: SumsOf


class CountKey(NamedTuple):
    """What is counted in an hour; see `Counted` for `name` and `detail`."""

    service: str
    kind: Counted
    name: str = ""
    detail: str = ""


class Evaluator(NamedTuple):
    """Who stands behind a version."""

    scorer: str
    version: str
    tier: str
    model: str


@dataclass(frozen=True, slots=True)
class Window:
    """`since` to `until`, in Unix seconds, the latter exclusive, of some services or of all. Hours that begin in it
    count, or with `days` whole days (UTC), which are fewer rows, or with `fine` quarters of a minute, which are
    kept for some hours only. `width`: seconds of each piece, None for one piece."""

    since: float
    until: float
    services: tuple[str, ...] | None = None
    width: float | None = None
    days: bool = False
    fine: bool = False


@dataclass(frozen=True, slots=True)
class SumsRow:
    """Sums of the hours of one piece of a window, which begins at `at`."""

    at: float
    key: SumsKey
    sums: Sums


@dataclass(frozen=True, slots=True)
class CountRow:
    """A count over the hours of one piece of a window, which begins at `at`."""

    at: float
    key: CountKey
    n: float
