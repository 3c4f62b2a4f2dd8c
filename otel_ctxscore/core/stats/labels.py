"""What labels by people correct, and what they do not (STATISTICS, "human labels").

The share of useful contexts is linear in the verdicts: with the judge's sensitivity and specificity it is corrected,
also on traffic that has shifted. Average precision is not linear: it is corrected only by labels that were drawn by
hash from the very window, as a prediction-powered mean, and never through sensitivity and specificity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from otel_ctxscore.core.stats.estimate import Estimate, estimate
from otel_ctxscore.core.stats.quantiles import Z95
from otel_ctxscore.core.stats.sums import Sums

MIN_RATES = 1.3
"""Sensitivity plus specificity, at least: below it the correction divides by too little."""

MIN_LABELLED = 50
"""Labelled traces of the window that a corrected average precision needs, at least."""


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """The contexts of one labelled query: `positives` that people call useful, of which the judge found
    `true_positives`; `negatives` that they do not, of which the judge found `true_negatives`."""

    positives: int
    true_positives: int
    negatives: int
    true_negatives: int

    @classmethod
    def of(cls, verdicts: Iterable[tuple[bool, bool]]) -> LabelledQuery:
        """From (useful by people, useful by the judge), one a context."""
        kept = tuple(verdicts)
        return cls(
            sum(human for human, _ in kept),
            sum(human and judge for human, judge in kept),
            sum(not human for human, _ in kept),
            sum(not human and not judge for human, judge in kept),
        )


@dataclass(frozen=True, slots=True)
class JudgeRates:
    """Sensitivity and specificity, with variances and covariance over queries (contexts of one query are alike)."""

    sensitivity: float
    specificity: float
    var_sensitivity: float
    var_specificity: float
    covariance: float


def judge_rates(queries: Iterable[LabelledQuery]) -> JudgeRates | None:
    """The judge's rates as ratios of sums over queries. None with fewer than two queries or a single class."""
    kept = tuple(queries)
    m, pos, neg = len(kept), sum(q.positives for q in kept), sum(q.negatives for q in kept)
    if m < 2 or not pos or not neg:
        return None
    se, sp = sum(q.true_positives for q in kept) / pos, sum(q.true_negatives for q in kept) / neg
    rest = [(q.true_positives - se * q.positives, q.true_negatives - sp * q.negatives) for q in kept]
    small = m / (m - 1)
    return JudgeRates(
        se,
        sp,
        math.fsum(a * a for a, _ in rest) / (pos * pos) * small,
        math.fsum(b * b for _, b in rest) / (neg * neg) * small,
        math.fsum(a * b for a, b in rest) / (pos * neg),
    )


@dataclass(frozen=True, slots=True)
class Share:
    """A corrected share with its 95 % interval, all within 0..1, and the variance of the share."""

    value: float
    lower: float
    upper: float
    variance: float


def corrected_share(apparent: float, variance: float, rates: JudgeRates) -> Share | None:
    """The share of useful contexts that people would find (Rogan-Gladen), with its interval.

    `apparent`: the share that the judge finds in the window, `variance`: of that share (from an `Estimate` of it).
    None where sensitivity + specificity is below 1.3.
    """
    if rates.sensitivity + rates.specificity < MIN_RATES:
        return None
    gain = rates.sensitivity + rates.specificity - 1.0
    theta = (apparent + rates.specificity - 1.0) / gain
    spread = theta * theta * rates.var_sensitivity + (1.0 - theta) ** 2 * rates.var_specificity
    total = max(variance + spread - 2.0 * theta * (1.0 - theta) * rates.covariance, 0.0) / (gain * gain)
    half = Z95 * math.sqrt(total)
    value, lower, upper = (min(max(x, 0.0), 1.0) for x in (theta, theta - half, theta + half))
    return Share(value, lower, upper, total)


def corrected_precision(window: Sums, labelled: Sums) -> Estimate | None:
    """The mean average precision that people would give, None below 50 labelled traces.

    `window`: the judged sums of the window. `labelled`: sums of the traces whose labels were drawn by hash from this
    window, with y = average precision by people and f = average precision by the judge, weighted by one over the
    probability to be labelled. Labels from elsewhere do not do: publish the plain mean, marked `uncorrected`.
    """
    return estimate(window.score_as_cheap, labelled) if labelled.n >= MIN_LABELLED else None
