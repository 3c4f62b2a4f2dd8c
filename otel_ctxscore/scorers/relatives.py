"""Relatives of context precision: other readings of the same ranked list, at no further call.

They are on with context precision, have its reasons, and take no part in outcomes or alarms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_ctxscore.scorers.numbers import round2
from otel_ctxscore.scorers.ranked import RankedScorer


@dataclass(frozen=True, slots=True)
class Relative(RankedScorer):
    """A relative has no label: its number is plain enough."""

    def label(self, ratio: float) -> None:
        return None


@dataclass(frozen=True, slots=True)
class HitRate(Relative):
    """1 where any context of the list is useful, else 0."""

    name = "hit_rate"
    definition = "hit_rate/any"

    def ratio(self, useful: Sequence[bool]) -> float:
        return float(any(useful))

    def reasoning(self, useful: Sequence[bool], ratio: float) -> str:
        return "A hit." if ratio else "No hit."


@dataclass(frozen=True, slots=True)
class ReciprocalRank(Relative):
    """1 / rank of the first useful context, 0 where none is."""

    name = "reciprocal_rank"
    definition = "reciprocal_rank/first"

    def ratio(self, useful: Sequence[bool]) -> float:
        return next((1 / rank for rank, is_useful in enumerate(useful, start=1) if is_useful), 0.0)

    def reasoning(self, useful: Sequence[bool], ratio: float) -> str:
        return f"The first useful one is at position {useful.index(True) + 1}." if ratio else "No first useful one."


@dataclass(frozen=True, slots=True)
class ShareUseful(Relative):
    """Useful contexts / contexts: precision at the length of the list."""

    name = "share_useful"
    definition = "share_useful/mean"

    def ratio(self, useful: Sequence[bool]) -> float:
        return sum(useful) / len(useful)

    def reasoning(self, useful: Sequence[bool], ratio: float) -> str:
        return f"That is a share of {round2(ratio):g}."
