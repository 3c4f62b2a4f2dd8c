"""The spans of a trace as a tree, whatever is missing or wrong in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from otel_ctxscore.core.spans import Span

_NEVER = 2**64


def fuller(spans: Sequence[Span]) -> tuple[Span, ...]:
    """One span for each id: the ended one, then the one that holds more."""
    best: dict[bytes, Span] = {}
    for span in spans:
        kept = best.get(span.span_id)
        if kept is None or _fullness(span) > _fullness(kept):
            best[span.span_id] = span
    return tuple(best.values())


def _fullness(span: Span) -> tuple[bool, int, int, int, str]:
    return (span.end_ns > 0, len(span.attributes), len(span.events), span.end_ns, span.name)


@dataclass(frozen=True, slots=True)
class Tree:
    """Spans with their parents. A span whose parent is missing, itself or below it is a root.

    Spans side by side stand in the order of their start; a span without one comes last. Nothing ever stands before
    its parent.
    """

    order: tuple[Span, ...]
    parents: dict[bytes, bytes]
    children: dict[bytes, tuple[Span, ...]]
    roots: tuple[Span, ...]
    place: dict[bytes, int]

    def above(self, span_id: bytes) -> Iterator[bytes]:
        """The ids of the spans above, the nearest first."""
        while (parent := self.parents.get(span_id)) is not None:
            yield parent
            span_id = parent

    def is_above(self, upper: bytes, lower: bytes) -> bool:
        return any(span_id == upper for span_id in self.above(lower))

    def nested(self, one: bytes, other: bytes) -> bool:
        """Whether one of two spans is the other or stands above it."""
        return one == other or self.is_above(one, other) or self.is_above(other, one)

    def below(self, span: Span) -> tuple[Span, ...]:
        """The span and all below it, parents first."""
        found = [span]
        for upper in found:
            found += self.children.get(upper.span_id, ())
        return tuple(sorted(found, key=lambda s: self.place[s.span_id]))


def tree_of(spans: Sequence[Span]) -> Tree:
    by_id = {span.span_id: span for span in sorted(fuller(spans), key=_by_start)}
    parents = {i: s.parent_span_id for i, s in by_id.items() if s.parent_span_id in by_id and s.parent_span_id != i}
    for span_id in sorted(_in_circles(parents)):
        _cut(parents, span_id)
    children: dict[bytes, list[Span]] = {}
    for span_id, parent in parents.items():
        children.setdefault(parent, []).append(by_id[span_id])
    roots = tuple(span for span_id, span in by_id.items() if span_id not in parents)
    frozen = {parent: tuple(below) for parent, below in children.items()}
    order = _walked(roots, frozen)
    return Tree(order, parents, frozen, roots, {span.span_id: place for place, span in enumerate(order)})


def _by_start(span: Span) -> tuple[int, bytes]:
    return (span.start_ns or _NEVER, span.span_id)


def _in_circles(parents: dict[bytes, bytes]) -> set[bytes]:
    """The ids that are above themselves."""
    known: set[bytes] = set()
    circles: set[bytes] = set()
    for start in parents:
        path: dict[bytes, int] = {}
        at: bytes | None = start
        while at is not None and at not in known and at not in path:
            path[at] = len(path)
            at = parents.get(at)
        if at in path:
            circles.update(list(path)[path[at] :])
        known.update(path)
    return circles


def _cut(parents: dict[bytes, bytes], span_id: bytes) -> None:
    """Makes a root of `span_id` if it is still above itself."""
    at = parents.get(span_id)
    seen: set[bytes] = set()
    while at is not None and at != span_id and at not in seen:
        seen.add(at)
        at = parents.get(at)
    if at == span_id:
        del parents[span_id]


def _walked(roots: tuple[Span, ...], children: dict[bytes, tuple[Span, ...]]) -> tuple[Span, ...]:
    order: list[Span] = []
    waiting = list(reversed(roots))
    while waiting:
        span = waiting.pop()
        order.append(span)
        waiting += reversed(children.get(span.span_id, ()))
    return tuple(order)
