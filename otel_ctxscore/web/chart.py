"""The course of a mean as the shapes of a small drawing, with the same in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from otel_ctxscore.core.hours import Window
from otel_ctxscore.monitoring.past import Point
from otel_ctxscore.web.rendering import moment, share

HEIGHT = 100
"""Units from 0 to 1; the width is told."""
MARGIN = 4


@dataclass(frozen=True, slots=True)
class Chart:
    """Shapes in a box of `width` by `height`: `lines` and `bands` as points of polylines and polygons, `dots` as places
    of points that stand alone. `reference` is a height; `change` a place, and `doubt` the places that it may lie
    between. `title` and `words` say what is drawn."""

    width: int
    height: int
    lines: Sequence[str]
    bands: Sequence[str]
    dots: Sequence[tuple[float, float]]
    reference: float | None
    change: float | None
    doubt: tuple[float, float] | None
    title: str
    words: str


def chart(
    name: str,
    course: Sequence[Point],
    window: Window,
    piece: float,
    *,
    width: int = 300,
    reference: float | None = None,
    reference_name: str = "reference",
    change: float | None = None,
    doubt: tuple[float, float] | None = None,
) -> Chart | None:
    """The drawing of a mean in 0..1, point by point; pieces without a score are gaps. None without any point.

    `piece`: seconds that a point stands for. `change` and `doubt` are in Unix seconds.
    """
    if not course:
        return None
    length = max(window.until - window.since, piece)

    def x(at: float) -> float:
        return round(MARGIN + (width - 2 * MARGIN) * min(max((at - window.since) / length, 0.0), 1.0), 1)

    def middle(point: Point) -> float:
        return x(point.at + piece / 2)

    runs = list(_unbroken(course, piece))
    return Chart(
        width,
        HEIGHT + 2 * MARGIN,
        [_joined((middle(p), _y(p.now.mean)) for p in run) for run in runs if len(run) > 1],
        [
            _joined(
                [
                    *((middle(p), _y(p.now.upper)) for p in within),
                    *((middle(p), _y(p.now.lower)) for p in reversed(within)),
                ]
            )
            for run in runs
            for within in _known(run)
        ],
        [(middle(run[0]), _y(run[0].now.mean)) for run in runs if len(run) == 1],
        None if reference is None else _y(reference),
        None if change is None else x(change),
        None if doubt is None else (x(doubt[0]), x(doubt[1])),
        name,
        _words(course, reference, reference_name),
    )


def _y(value: float | None) -> float:
    return round(MARGIN + HEIGHT * (1.0 - (value or 0.0)), 1)


def _joined(places: Iterator[tuple[float, float]] | Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in places)


def _unbroken(course: Sequence[Point], piece: float) -> Iterator[list[Point]]:
    """The points in runs without a gap."""
    run: list[Point] = []
    for point in course:
        if run and point.at - run[-1].at > 1.5 * piece:
            yield run
            run = []
        run.append(point)
    if run:
        yield run


def _known(run: Sequence[Point]) -> Iterator[list[Point]]:
    """The stretches of two and more points that have an interval."""
    within: list[Point] = []
    for point in (*run, None):
        if point is not None and point.now.lower is not None:
            within.append(point)
        else:
            if len(within) > 1:
                yield within
            within = []


def _words(course: Sequence[Point], reference: float | None, named: str) -> str:
    first, last = course[0], course[-1]
    lowest = min(course, key=lambda point: point.now.mean or 0.0)
    said = (
        f"{share(first.now.mean)} at {moment(first.at)}, lowest {share(lowest.now.mean)} at {moment(lowest.at)}, "
        f"last {share(last.now.mean)} at {moment(last.at)}, of a scale from 0 to 1."
    )
    return said if reference is None else f"{said} The dashed line is the {named}, {share(reference)}."
