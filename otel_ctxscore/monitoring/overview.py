"""How the services do: over a window, what came, what became of it, how it scored, and what that cost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from otel_ctxscore.core.hours import CountRow, Evaluator, SumsRow, Window
from otel_ctxscore.core.stats import Estimate, Sums, estimate_judged
from otel_ctxscore.monitoring.alarms import AlarmStatus
from otel_ctxscore.monitoring.past import Past, Point, estimated, in_pieces, points, stages_of, truncated_pieces
from otel_ctxscore.monitoring.rules import Pace
from otel_ctxscore.monitoring.series import Series

PIECES = 30
"""Points of the course of a mean, at most."""
AlarmOf = Callable[[Series], AlarmStatus | None]
Tally = Mapping[tuple[str, str, str], float]
"""Counts by kind, name and detail."""


@dataclass(frozen=True, slots=True, eq=False)
class SeriesView:
    """One scorer under one version. `n` are judged traces; `course` is the mean piece by piece; `truncated` tells that
    the budget's fuse was blown within. `evaluator` is None where nobody knows any more who stands behind it."""

    series: Series
    evaluator: Evaluator | None
    now: Estimate
    n: int
    course: Sequence[Point]
    truncated: bool
    alarm: AlarmStatus | None


@dataclass(frozen=True, slots=True)
class Funnel:
    """From spans to scores, counted without weights. Traces and runs by outcome, scores by scorer, unscored by scorer
    and reason."""

    spans: int = 0
    traces: Mapping[str, int] = field(default_factory=dict)
    runs: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, int] = field(default_factory=dict)
    unscored: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Empty:
    """Retrievals that found nothing: the share in all traffic (weighted), and the counts behind it."""

    share: Estimate
    empty: int
    retrievals: int


@dataclass(frozen=True, slots=True)
class JudgeCost:
    """What one judge took. `usd` is the price of the calls whose price is known; `unpriced` are the others."""

    tier: str
    model: str
    calls: int
    tokens: int
    usd: float
    unpriced: int

    @property
    def whole_usd(self) -> float | None:
        """The price of all calls; None where that of any is unknown."""
        return None if self.unpriced else self.usd


@dataclass(frozen=True, slots=True)
class ServiceView:
    """One service over the window."""

    name: str
    series: Sequence[SeriesView]
    funnel: Funnel
    empty: Empty
    judges: Sequence[JudgeCost]


@dataclass(frozen=True, slots=True)
class Overview:
    """The services of one page over a window, and how many there are in all. Their courses are in pieces of `piece`
    seconds."""

    window: Window
    services: Sequence[ServiceView]
    known: int
    piece: float


async def overview(
    past: Past,
    alarm: AlarmOf,
    window: Window,
    pace: Pace,
    *,
    first: Collection[str] = (),
    limit: int = 20,
    offset: int = 0,
) -> Overview:
    """So many services of a window, behind `offset` others; those in `first` lead."""
    tallies = tallied(await past.counts(window))
    names = sorted(tallies.keys() - {""}, key=lambda name: (name not in first, name))
    shown = names[offset : offset + limit]
    cut = in_pieces(replace(window, services=tuple(shown)), PIECES, pace)
    truncated = truncated_pieces(await past.counts(replace(cut, services=())))
    known = {(one.scorer, one.version): one for one in await past.evaluators()}
    rows = _by_service(await past.sums(cut))
    services = []
    for name in shown:
        own = rows.get(name, [])
        series = [
            _series(one, within, known.get((one.scorer, one.version)), truncated, alarm(one))
            for one, within in sorted(_scored(own).items())
        ]
        tally = tallies[name]
        services.append(ServiceView(name, series, funnel(tally), empty(own, tally), judges(tally)))
    return Overview(window, services, len(names), cut.width or pace.tick)


def _by_service(rows: Iterable[SumsRow]) -> dict[str, list[SumsRow]]:
    found: dict[str, list[SumsRow]] = {}
    for row in rows:
        found.setdefault(row.key.service, []).append(row)
    return found


def _scored(rows: Iterable[SumsRow]) -> dict[Series, list[SumsRow]]:
    found: dict[Series, list[SumsRow]] = {}
    for row in rows:
        if row.key.stage != "retrieved":
            found.setdefault(Series(row.key.service, row.key.scorer, row.key.version), []).append(row)
    return found


def _series(
    series: Series,
    rows: Sequence[SumsRow],
    evaluator: Evaluator | None,
    truncated: frozenset[float],
    alarm: AlarmStatus | None,
) -> SeriesView:
    stages = stages_of(rows)[series]
    within = bool(truncated)
    now = estimated(stages, truncated=within)
    n = round(stages.get("judged", Sums()).n)
    return SeriesView(series, evaluator, now, n, points(rows, truncated), within, alarm)


# ---- counts -----------------------------------------------------------------------------------------------------


def tallied(counts: Iterable[CountRow]) -> dict[str, dict[tuple[str, str, str], float]]:
    """Counts by service."""
    found: dict[str, dict[tuple[str, str, str], float]] = {}
    for row in counts:
        service, *rest = row.key
        tally = found.setdefault(service, {})
        place = (rest[0], rest[1], rest[2])
        tally[place] = tally.get(place, 0.0) + row.n
    return found


def funnel(tally: Tally) -> Funnel:
    """From spans to scores."""
    unscored: dict[str, dict[str, int]] = {}
    for (kind, scorer, reason), n in tally.items():
        if kind == "unscored":
            unscored.setdefault(scorer, {})[reason] = round(n)
    spans = round(tally.get(("spans", "", ""), 0))
    return Funnel(spans, _by_name(tally, "traces"), _by_name(tally, "runs"), _by_name(tally, "scores"), unscored)


def _by_name(tally: Tally, wanted: str) -> dict[str, int]:
    return {name: round(n) for (kind, name, _), n in tally.items() if kind == wanted}


def empty(rows: Iterable[SumsRow], tally: Tally) -> Empty:
    """From the sums and counts of one service."""
    sums = sum((row.sums for row in rows if row.key.scorer == "empty_retrievals" and not row.key.version), Sums())
    found = _by_name(tally, "retrievals")
    return Empty(estimate_judged(sums), found.get("empty", 0), sum(found.values()))


def judges(tally: Tally) -> list[JudgeCost]:
    """Those that were asked most often first."""
    asked = sorted(((n, tier, model) for (kind, tier, model), n in tally.items() if kind == "calls"), reverse=True)
    return [
        JudgeCost(
            tier,
            model,
            round(n),
            round(tally.get(("tokens", tier, model), 0)),
            tally.get(("usd", tier, model), 0.0),
            round(tally.get(("unpriced", tier, model), 0)),
        )
        for n, tier, model in asked
    ]
