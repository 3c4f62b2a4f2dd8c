"""The mean of the traffic with its 95 % interval, from sums alone (STATISTICS, "the estimate").

The prediction-powered mean (arXiv:2301.09633, power tuning as in arXiv:2311.01453) with weights: a cheap score that
every screened run has takes up part of the variance of the dear score that few have. It speaks of the process that
makes the traffic, not only of the runs that a window happened to hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from otel_ctxscore.core.stats.quantiles import student_t95
from otel_ctxscore.core.stats.sums import Sums

MIN_N_EFF = 10.0
"""Below this effective number of traces there is no interval."""

LOW_N_EFF = 30.0
"""Below this the interval is flagged, and no rule may be built on it."""

FLAT = 1e-9
"""A cheap score whose variance is below this part of its mean square is constant up to rounding: it says nothing."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and how well it is known.

    `mean`: 0..1, None where there is no run. `lower`, `upper`: 95 % interval around it, within 0..1, None below an
    effective number of 10 or in a truncated window. `n_eff`: effective number of judged traces. `low_n`: n_eff is
    below 30. `lambda_`: 0..1, the part of the cheap score that was used. `variance`: of the mean.
    """

    mean: float | None = None
    lower: float | None = None
    upper: float | None = None
    n_eff: float = 0.0
    low_n: bool = True
    lambda_: float = 0.0
    variance: float | None = None


def estimate(screened: Sums | None, judged: Sums, *, truncated: bool = False) -> Estimate:
    """The prediction-powered mean of the full score.

    `screened`: sums over all screened traces, the judged ones among them; None where every trace is judged (one judge
    only): then the weighted mean. `truncated`: a hard cap left runs with no chance to be judged; the mean is then a
    description of what was judged and gets no interval. Sums that are not finite, or hold no weight, give no mean.
    """
    frame = _frame(screened)
    sample = _sample(judged)
    if sample is None:
        return Estimate()
    point = _point(sample, frame)
    if not all(map(math.isfinite, (point.mean, point.variance, sample.n_eff))):
        return Estimate()
    mean = min(max(point.mean, 0.0), 1.0)
    n_eff = sample.n_eff
    plain = Estimate(mean, None, None, n_eff, n_eff < LOW_N_EFF, point.lambda_, point.variance)
    ends = None if truncated or n_eff < MIN_N_EFF else _interval(judged, frame, n_eff)
    return plain if ends is None else replace(plain, lower=min(ends[0], mean), upper=max(ends[1], mean))


def estimate_judged(judged: Sums, *, truncated: bool = False) -> Estimate:
    """The weighted mean of the full score, without the help of a cheap one."""
    return estimate(None, judged, truncated=truncated)


def estimate_screened(screened: Sums) -> Estimate:
    """The weighted mean of the cheap score by itself, to be published under the name of the cheap judge."""
    return estimate(None, screened.cheap_as_score)


@dataclass(frozen=True, slots=True)
class _Frame:
    """The cheap score over all screened traces: its mean F and the variance A of that mean."""

    mean: float
    variance: float


@dataclass(frozen=True, slots=True)
class _Sample:
    """Means over the judged traces and the (co)variances of these means."""

    mean_y: float
    mean_f: float
    cyy: float
    cff: float
    cyf: float
    n_eff: float
    lambda_: float


@dataclass(frozen=True, slots=True)
class _Point:
    mean: float
    variance: float
    lambda_: float


def _frame(screened: Sums | None) -> _Frame | None:
    if screened is None or not screened.w > 0.0:
        return None
    mean = screened.wf / screened.w
    return _Frame(mean, _spread(screened, mean, mean, screened.wwff, screened.wwf, screened.wwf))


def _sample(judged: Sums) -> _Sample | None:
    """None where there is no weight to divide by. Divisions go one at a time, so that no square can overflow."""
    if not (judged.w > 0.0 and judged.n_eff > 0.0):
        return None
    y, f = judged.wy / judged.w, judged.wf / judged.w
    cff = _spread(judged, f, f, judged.wwff, judged.wwf, judged.wwf)
    cyf = _spread(judged, y, f, judged.wwyf, judged.wwy, judged.wwf)
    slope = cyf / cff if cff > FLAT * abs(judged.wwff / judged.w / judged.w) else 0.0
    return _Sample(
        mean_y=y,
        mean_f=f,
        cyy=_spread(judged, y, y, judged.wwyy, judged.wwy, judged.wwy),
        cff=cff,
        cyf=cyf,
        n_eff=judged.n_eff,
        lambda_=min(max(slope, 0.0), 1.0),
    )


def _spread(sums: Sums, mean_a: float, mean_b: float, wwab: float, wwa: float, wwb: float) -> float:
    """Sum of w^2 (a - mean a)(b - mean b) over w^2: the covariance of two weighted means, linearised."""
    w = sums.w
    return wwab / w / w - mean_a * (wwb / w / w) - mean_b * (wwa / w / w) + mean_a * mean_b * (sums.ww / w / w)


def _point(sample: _Sample, frame: _Frame | None) -> _Point:
    if frame is None or sample.lambda_ == 0.0:
        return _Point(sample.mean_y, max(sample.cyy, 0.0), 0.0)
    part = sample.lambda_
    mean = sample.mean_y + part * (frame.mean - sample.mean_f)
    rest = sample.cyy - 2 * part * sample.cyf + part * part * sample.cff
    return _Point(mean, max(rest, 0.0) + part * part * max(frame.variance, 0.0), part)


def _with_half_runs(judged: Sums) -> Sums:
    """The sums with half a run that scored 0 and half a run that scored 1 added, both with the mean cheap score."""
    m, f = judged.ww / judged.w, judged.wf / judged.w
    return judged + Sums(1, m, m * f, m * m, m * m * f, m * m * f * f, m / 2, m * m / 2, m * m / 2, m * m * f / 2)


def _interval(judged: Sums, frame: _Frame | None, n_eff: float) -> tuple[float, float] | None:
    """The 95 % interval on the logit scale around the mean with the two half runs; None where it is not finite."""
    sample = _sample(_with_half_runs(judged))
    if sample is None or not sample.n_eff > 1.0:
        return None
    point = _point(sample, frame)
    n = sample.n_eff
    edge = max(0.5 / n, 1e-12)
    p = min(max(point.mean, edge), 1.0 - edge)
    half = student_t95(n_eff - 1.0) * math.sqrt(point.variance * n / (n - 1.0)) / (p * (1.0 - p))
    centre = math.log(p / (1.0 - p))
    ends = _expit(centre - half), _expit(centre + half)
    return ends if all(map(math.isfinite, ends)) else None


def _expit(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0
