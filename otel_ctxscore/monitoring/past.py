"""Estimates over any window of the past, from the sums that are kept by the hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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

    async def latest(self) -> float | None:
        """The latest hour that is kept (Unix seconds)."""


@dataclass(frozen=True, slots=True)
class Point:
    """The mean of a piece of time, which begins at `at` (Unix seconds)."""

    at: float
    now: Estimate


FINE = 4 * 24
"""Hours of a window that is answered by the hour; a longer one is by the day."""


async def kept_window(past: Past, since: float, until: float, pace: Pace, service: str | None = None) -> Window:
    """The window from `since` on, or from the earliest hour that is kept; whole are the hours, or days where it is a
    long one, in which it begins and ends. Where nothing came for more than half of it, it ends with the latest hour
    that is kept: silence shows as a gap, but leaves the rest its room."""
    begin = max(since, await past.since() or since)
    # A thousandth of an hour in, here and below, for those of a demonstration begin at no whole second.
    latest = await past.latest()
    if latest is not None and begin < latest and until - latest > latest - begin:
        until = latest + pace.tick * 1e-3
    days = until - begin > FINE * pace.tick
    unit = pace.tick * (24 if days else 1)
    start = (begin + pace.tick * 1e-3) // unit * unit
    end = (until // unit + 1) * unit
    return Window(min(start, end - unit), end, None if service is None else (service,), None, days)


def in_pieces(window: Window, pieces: int, pace: Pace) -> Window:
    """The window in at most so many pieces of whole hours or days, all of one width."""
    unit = pace.tick * (24 if window.days else 1)
    units = round((window.until - window.since) / unit)
    return replace(window, width=max(1, -(-units // pieces)) * unit)


def stages_of(rows: Iterable[SumsRow]) -> dict[Series, dict[SumsOf, Sums]]:
    """Sums by series and stage, over all pieces."""
    found: dict[Series, dict[SumsOf, Sums]] = {}
    for row in rows:
        key = row.key
        stages = found.setdefault(Series(key.service, key.scorer, key.version), {})
        stages[key.stage] = stages.get(key.stage, Sums()) + row.sums
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
