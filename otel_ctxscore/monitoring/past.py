"""Estimates over any window of the past, from the sums that are kept by the hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from otel_ctxscore.core.hours import CountRow, Evaluator, SumsOf, SumsRow, Window
from otel_ctxscore.core.stats import Estimate, Sums, estimate
from otel_ctxscore.monitoring.rules import Pace
from otel_ctxscore.monitoring.series import Series

Stages = Mapping[SumsOf, Sums]


class Past(Protocol):
    """Sums and counts by the hour of this replica."""

    async def sums(self, window: Window) -> Sequence[SumsRow]:
        """Sums of whole services, piece by piece."""

    async def segments(
        self, window: Window, *, segment: str | None = None, scorer: str | None = None
    ) -> Sequence[SumsRow]:
        """Sums by segment and value, piece by piece."""

    async def counts(self, window: Window) -> Sequence[CountRow]:
        """Counts, piece by piece; those of no service are always among them."""

    async def evaluators(self) -> Sequence[Evaluator]:
        """Who stands behind the versions that are kept."""

    async def since(self) -> float | None:
        """The earliest hour that is kept (Unix seconds)."""


@dataclass(frozen=True, slots=True)
class Point:
    """The mean of a piece of time, which begins at `at` (Unix seconds)."""

    at: float
    now: Estimate


def whole_hours(since: float, until: float, pace: Pace, service: str | None = None) -> Window:
    """The window with the hours whole in which it begins and ends."""
    end = pace.begin(pace.tick_at(until) + 1)
    return Window(min(pace.begin(pace.tick_at(since)), end - pace.tick), end, None if service is None else (service,))


def width_of(window: Window, pieces: int, pace: Pace) -> float:
    """The width of at most so many pieces, in whole hours."""
    hours = round((window.until - window.since) / pace.tick)
    return max(1, -(-hours // pieces)) * pace.tick


def stages_of(rows: Iterable[SumsRow]) -> dict[Series, dict[SumsOf, Sums]]:
    """Sums by series and stage, over all pieces."""
    found: dict[Series, dict[SumsOf, Sums]] = {}
    for row in rows:
        key = row.key
        stages = found.setdefault(Series(key.service, key.scorer, key.version), {})
        stages[key.stage] = stages[key.stage] + row.sums if key.stage in stages else row.sums
    return found


def estimated(stages: Stages, *, truncated: bool = False) -> Estimate:
    """The estimate of scores from the sums of their stages."""
    return estimate(stages.get("screened"), stages.get("judged", Sums()), truncated=truncated)


def truncated_pieces(counts: Iterable[CountRow]) -> frozenset[float]:
    """The pieces in which the budget's fuse was blown."""
    return frozenset(row.at for row in counts if row.key.kind == "truncated")


def points(rows: Iterable[SumsRow], truncated: frozenset[float]) -> list[Point]:
    """The estimates of one series, piece by piece; pieces without a score are left out."""
    by_piece: dict[float, list[SumsRow]] = {}
    for row in rows:
        by_piece.setdefault(row.at, []).append(row)
    found = []
    for at, within in sorted(by_piece.items()):
        for stages in stages_of(within).values():
            now = estimated(stages, truncated=at in truncated)
            if now.mean is not None:
                found.append(Point(at, now))
    return found


def added(parts: Iterable[Stages]) -> dict[SumsOf, Sums]:
    """The sums of several parts together."""
    found: dict[SumsOf, Sums] = {}
    for stages in parts:
        for stage, sums in stages.items():
            found[stage] = found.get(stage, Sums()) + sums
    return found
