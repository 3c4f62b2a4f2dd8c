"""The sums that every estimate is made of (STATISTICS, "sums of trace totals").

A hash of the trace id keeps or drops all runs of a trace together, so the trace is the unit of sampling: terms are
formed from the totals of one trace and then only added. Any window, and any number of replicas, is a sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Literal

Stage = Literal["screened", "judged"]
"""`screened`: has the cheap score only. `judged`: has the cheap score and the full one. Judged runs are in both."""

SCREENED_TERMS = ("n", "w", "wf", "ww", "wwf", "wwff")
JUDGED_TERMS = (*SCREENED_TERMS, "wy", "wwy", "wwyy", "wwyf")
TERMS: Mapping[Stage, tuple[str, ...]] = {"screened": SCREENED_TERMS, "judged": JUDGED_TERMS}
"""The values of the label `term`, by stage."""

MAX_WEIGHT = 1e60
"""Greater weights are refused: their squares would leave the range of a float once added."""


@dataclass(frozen=True, slots=True)
class WeightedScore:
    """One run as it enters a stage.

    `weight`: one over the probability with which the run got into the stage, greater than 0.
    `score`: the full judge's score y, 0..1 before any scale; leave it at 0 in the stage screened.
    `cheap`: the local judge's score f, any finite number, known before y; 0 where there is none.
    Raises ValueError for anything else.
    """

    weight: float
    score: float = 0.0
    cheap: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.weight <= MAX_WEIGHT:
            raise ValueError(f"a weight is greater than 0 and at most {MAX_WEIGHT:g}, not {self.weight}")
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"a score lies in 0..1, not at {self.score}")
        if not abs(self.cheap) <= MAX_WEIGHT:
            raise ValueError(f"a cheap score is a finite number, not {self.cheap}")


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums over traces. With t0 = sum of w, ty = sum of w*y, tf = sum of w*f over the runs of one trace, a trace adds
    n: 1, w: t0, wf: tf, ww: t0^2, wwf: t0*tf, wwff: tf^2, and in the stage judged wy: ty, wwy: t0*ty, wwyy: ty^2,
    wwyf: ty*tf. In the stage screened the last four stay 0.
    """

    n: float = 0.0
    w: float = 0.0
    wf: float = 0.0
    ww: float = 0.0
    wwf: float = 0.0
    wwff: float = 0.0
    wy: float = 0.0
    wwy: float = 0.0
    wwyy: float = 0.0
    wwyf: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        """The sums over both sets of traces. A trace must not be in both."""
        return Sums(*(getattr(self, name) + getattr(other, name) for name in JUDGED_TERMS))

    def __sub__(self, earlier: Sums) -> Sums:
        """What was added since `earlier`, an older reading of the same sums."""
        return Sums(*(getattr(self, name) - getattr(earlier, name) for name in JUDGED_TERMS))

    @property
    def n_eff(self) -> float:
        """Effective number of traces, w^2/ww: what as many equal weights would be worth. 0 where there is none."""
        return self.w / (self.ww / self.w) if self.w > 0.0 and self.ww / self.w > 0.0 else 0.0

    @property
    def score_as_cheap(self) -> Sums:
        """These judged sums as the stage screened of a dearer judge, with f = y (labels by people, for example)."""
        return Sums(self.n, self.w, self.wy, self.ww, self.wwy, self.wwyy)

    @property
    def cheap_as_score(self) -> Sums:
        """These screened sums as the stage judged of a judge of its own, with y = f and no cheap score."""
        return Sums(self.n, self.w, ww=self.ww, wy=self.wf, wwy=self.wwf, wwyy=self.wwff)

    def terms(self, stage: Stage) -> dict[str, float]:
        """The sums by the name of their term, those of the stage only."""
        return {name: getattr(self, name) for name in TERMS[stage]}

    @classmethod
    def of_terms(cls, terms: Mapping[str, float]) -> Sums:
        """The reverse of `terms`; what is absent is 0. Raises ValueError for a name that is no term."""
        if unknown := terms.keys() - set(JUDGED_TERMS):
            raise ValueError(f"no such term: {', '.join(sorted(unknown))}")
        return cls(**{name: float(value) for name, value in terms.items()})


@dataclass(frozen=True, slots=True)
class TraceTotals:
    """Totals over the runs of one trace in one stage: weight, weighted score, weighted cheap score."""

    t0: float
    ty: float
    tf: float

    @classmethod
    def of(cls, runs: Iterable[WeightedScore]) -> TraceTotals:
        """The totals of the runs of one trace. A run belongs in here once: its first revision, never a repeat."""
        kept = tuple(runs)
        return cls(
            math.fsum(run.weight for run in kept),
            math.fsum(run.weight * run.score for run in kept),
            math.fsum(run.weight * run.cheap for run in kept),
        )

    @property
    def screened(self) -> Sums:
        """What the trace adds to the stage screened. Nothing where it has no run."""
        if not self.t0:
            return Sums()
        return Sums(1.0, self.t0, self.tf, self.t0 * self.t0, self.t0 * self.tf, self.tf * self.tf)

    @property
    def judged(self) -> Sums:
        """What the trace adds to the stage judged. Nothing where it has no run."""
        if not self.t0:
            return Sums()
        full = Sums(wy=self.ty, wwy=self.t0 * self.ty, wwyy=self.ty * self.ty, wwyf=self.ty * self.tf)
        return self.screened + full


assert tuple(field.name for field in fields(Sums)) == JUDGED_TERMS
