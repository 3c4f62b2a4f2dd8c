"""What is known about an alarm: since when, how much, where, what else changed, and who moved.

It reads the sums of this replica alone. What cannot be said is said with its reason, and never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from otel_ctxscore.core.hours import MEASURES, Evaluator, Measure, SumsOf, SumsRow, Window
from otel_ctxscore.core.stats import (
    Reference,
    Sums,
    change_point,
    contributions,
    estimate_judged,
    estimate_mean,
)
from otel_ctxscore.monitoring.findings import (
    Began,
    Circumstances,
    Compared,
    Count,
    Inquiry,
    OtherVersion,
    Part,
    Unknown,
)
from otel_ctxscore.monitoring.overview import Tally, tallied
from otel_ctxscore.monitoring.past import (
    Past,
    Point,
    added,
    estimated,
    in_pieces,
    points,
    stages_of,
    truncated_pieces,
)
from otel_ctxscore.monitoring.records import AlarmRecord
from otel_ctxscore.monitoring.rules import Pace
from otel_ctxscore.monitoring.segments import by_value
from otel_ctxscore.monitoring.series import Series

FINE = 3
"""Hours that are looked at by the quarter of a minute, at most."""
AROUND = 168
"""Hours before and after the change that are looked at, at most: a week each."""
PIECES = 30
"""Points of the course of the mean, at most."""


async def inquire(past: Past, record: AlarmRecord, known: Circumstances, now: float) -> Inquiry:
    """Look into an alarm, at a moment in Unix seconds."""
    window, pace, found = await _finest(past, record, known, now)
    # Hours of a demonstration begin at no whole second: to one number, however it was computed.
    rows = [SumsRow(pace.begin(round(row.at / pace.tick)), row.key, row.sums) for row in found]
    own = _own(rows, record)
    began = _began(own, known.reference, pace, round(known.pace.tick / pace.tick))
    split = began.at if began else record.began
    early, late = replace(window, until=split, width=None), replace(window, since=split, width=None)
    counts = [await past.counts(side) for side in (early, late)]
    truncated = [bool(truncated_pieces(side)) for side in counts]
    means = _means(own, split, truncated)
    sides = [by_value(await past.segments(side, scorer=record.scorer)) for side in (early, late)]
    segments = _segments(record.series, sides, truncated)
    measures = {measure: _measured(measure, rows, split) for measure in MEASURES}
    tallies = [tallied(side).get(record.service, {}) for side in counts]
    evaluators = {(one.scorer, one.version): one for one in await past.evaluators()}
    piece = in_pieces(window, PIECES, pace).width or pace.tick
    return Inquiry(
        record,
        window,
        split,
        began,
        means,
        _course(own, window, piece, truncated=any(truncated)),
        piece,
        evaluators.get((record.scorer, record.version)),
        segments,
        measures,
        _scores(record.scorer, tallies),
        _counts(tallies, lambda kind, name, detail: detail if (kind, name) == ("unscored", record.scorer) else None),
        _counts(tallies, lambda kind, name, detail: f"{name} {detail}" if kind == "calls" else None),
        _versions(record, rows, evaluators),
        known.anchors,
        list(_unknown(record, known, began, means, segments, measures)),
    )


def _window(record: AlarmRecord, known: Circumstances, pace: Pace, now: float, first: float = 0.0) -> Window:
    """From a week before the change, the end of the alarm before or `first` to when the alarm was over: a recovery is
    no part of the fall. Whole are the ticks of `pace`."""
    span = AROUND * known.pace.tick
    over = record.rose if record.ended_by == "recovered" else record.ended
    until = min(now if over is None else over, record.began + span)
    since = max(record.began - span, known.earlier or 0.0, first)
    begin, end = (pace.begin(pace.tick_at(moment)) for moment in (since, max(until, record.rose) + pace.tick))
    return Window(begin, end, (record.service,), pace.tick, fine=pace != known.pace)


async def _finest(
    past: Past, record: AlarmRecord, known: Circumstances, now: float
) -> tuple[Window, Pace, Sequence[SumsRow]]:
    """The window with its sums, by the hour; or by the quarter of a minute where the series is so young that these are
    kept of all of it: one hour holds runs from before the fall and from after it then."""
    pace, fine = known.pace, known.pace.fine
    window = _window(record, known, pace, now)
    rows = await past.sums(window)
    hours = _own(rows, record)
    if not hours or fine == pace:
        return window, pace, rows
    first, last = min(row.at for row in hours), max(row.at for row in hours) + pace.tick
    if last - first > FINE * pace.tick:
        return window, pace, rows
    whole = Window(first, last, window.services, fine.tick, fine=True)
    quarters = _own(await past.sums(whole), record)
    if sum(row.sums.n for row in quarters) < sum(row.sums.n for row in hours):
        return window, pace, rows
    window = _window(record, known, fine, now, first)
    return window, fine, await past.sums(window)


def _own(rows: Sequence[SumsRow], record: AlarmRecord) -> list[SumsRow]:
    """Those of the scorer and version that the alarm is about."""
    return [row for row in rows if row.key[3:5] == (record.scorer, record.version)]


def _began(rows: Sequence[SumsRow], reference: Reference | None, pace: Pace, parts: int) -> Began | None:
    """`parts`: pieces of an hour, by whose reference they are measured."""
    judged: dict[int, Sums] = {}
    for row in rows:
        if row.key.stage == "judged":
            judged[round(row.at / pace.tick)] = row.sums

    def expected(piece: int) -> float:
        return reference.at(piece // parts) if reference is not None else 0.0

    found = change_point(sorted(judged.items()), expected)
    if found is None:
        return None
    at, low, high = (pace.begin(tick) for tick in (found.tick, found.low, found.high + 1))
    return Began(at, low, high, found.probability)


def _course(rows: Sequence[SumsRow], window: Window, piece: float, *, truncated: bool) -> list[Point]:
    """The course of the mean. One hour that is truncated makes all so: it was not asked which."""
    pieces = [replace(row, at=window.since + int((row.at - window.since) / piece + 0.001) * piece) for row in rows]
    return points(pieces, frozenset(row.at for row in pieces) if truncated else frozenset())


# ---- before and after -------------------------------------------------------------------------------------------


def _parted(rows: Iterable[SumsRow], split: float) -> tuple[list[SumsRow], list[SumsRow]]:
    rows = list(rows)
    return [row for row in rows if row.at < split], [row for row in rows if row.at >= split]


def _means(rows: Sequence[SumsRow], split: float, truncated: Sequence[bool]) -> Compared:
    sides = [added(stages_of(side).values()) for side in _parted(rows, split)]
    return _compared(sides, truncated)


def _compared(sides: Sequence[Mapping[SumsOf, Sums]], truncated: Sequence[bool]) -> Compared:
    before, after = (estimated(side, truncated=cut) for side, cut in zip(sides, truncated, strict=True))
    n_before, n_after = (round(side.get("judged", Sums()).n) for side in sides)
    return Compared(before, after, n_before, n_after)


def _segments(
    series: Series,
    sides: Sequence[Mapping[tuple[Series, str], dict[str, dict[SumsOf, Sums]]]],
    truncated: Sequence[bool],
) -> dict[str, list[Part]]:
    """By segment its values, those that pull the mean down most first."""
    names = {name for side in sides for one, name in side if one == series}
    found = {}
    for name in sorted(names):
        before, after = (side.get((series, name), {}) for side in sides)
        judged = [{v: stages["judged"] for v, stages in side.items() if "judged" in stages} for side in (before, after)]
        parts = [
            Part(value, _compared([before.get(value, {}), after.get(value, {})], truncated), contribution)
            for value, contribution in contributions(*judged).items()
        ]
        found[name] = sorted(parts, key=lambda part: part.contribution.change)
    return found


def _measured(measure: Measure, rows: Sequence[SumsRow], split: float) -> Compared:
    own = [row for row in rows if row.key.stage == "retrieved" and row.key.scorer == measure]
    sides = [sum((row.sums for row in side), Sums()) for side in _parted(own, split)]
    estimating = estimate_judged if measure == "empty_retrievals" else estimate_mean
    before, after = map(estimating, sides)
    return Compared(before, after, *(round(side.n) for side in sides))


def _scores(scorer: str, tallies: Sequence[Tally]) -> Count:
    before, after = (round(tally.get(("scores", scorer, ""), 0)) for tally in tallies)
    return Count("scores", before, after)


def _counts(tallies: Sequence[Tally], named: Callable[[str, str, str], str | None]) -> list[Count]:
    """The counts that are given a name, the most frequent after the change first."""
    found: dict[str, list[int]] = {}
    for side, tally in enumerate(tallies):
        for place, n in tally.items():
            name = named(*place)
            if name is not None:
                found.setdefault(name, [0, 0])[side] += round(n)
    return sorted((Count(name, *sides) for name, sides in found.items()), key=lambda it: (-it.after, it.name))


def _versions(
    record: AlarmRecord, rows: Sequence[SumsRow], evaluators: Mapping[tuple[str, str], Evaluator]
) -> list[OtherVersion]:
    """Other versions that scored in the window, by when they first did."""
    found: dict[str, list[SumsRow]] = {}
    for row in rows:
        if row.key.scorer == record.scorer and row.key.version not in ("", record.version):
            found.setdefault(row.key.version, []).append(row)
    versions = [
        OtherVersion(
            version,
            evaluators.get((record.scorer, version)),
            min(row.at for row in within),
            round(sum(row.sums.n for row in within if row.key.stage == "judged")),
        )
        for version, within in found.items()
    ]
    return sorted(versions, key=lambda it: it.first)


# ---- what is not known ------------------------------------------------------------------------------------------


def _unknown(
    record: AlarmRecord,
    known: Circumstances,
    began: Began | None,
    means: Compared,
    segments: Mapping[str, Sequence[Part]],
    measures: Mapping[Measure, Compared],
) -> Iterable[Unknown]:
    if means.before.mean is None or means.after.mean is None:
        side = "before" if means.before.mean is None else "after"
        yield Unknown("mean", f"no judged trace {side} the change is kept here; the alarm's own numbers stand")
    elif began is None:
        yield Unknown(
            "beginning", "nothing stands out at which the mean fell: it fell earlier or slowly, or too little is kept"
        )
    if record.blame is None:
        yield Unknown("system or judge", _no_blame(known.anchors))
    if not known.segments:
        yield Unknown("segments", "none are configured: name attributes under segments")
    for name in known.segments:
        if not segments.get(name):
            yield Unknown(f"segment {name}", "no judged trace on both sides of the change is kept with it")
    for measure, compared in measures.items():
        if compared.before.mean is None and compared.after.mean is None:
            yield Unknown(measure, _UNMEASURED.get(measure, "nothing that could be measured is kept"))


def _no_blame(anchors: int) -> str:
    if not anchors:
        return (
            "no anchors are pinned for this scorer and version: a run's view has the button Add to the anchors, the "
            "command line otel-ctxscore anchors add"
        )
    return "the anchors are being judged, or were pinned after the alarm rose: otel-ctxscore anchors run judges them"


_UNMEASURED: Mapping[Measure, str] = {"document_score": "the traces bear no number of the retriever"}
