"""When a mean fell, and what of the fall comes from where (STATISTICS, "what an alarm says").

The change point is that of one fall of a share (Smith, Biometrika 62, 1975), any place as likely beforehand. Scores in
0..1 take the place of 0 and 1, with a dispersion of their own: near 1 they spread less than after a fall, and with one
variance for both sides the place was stated too narrowly. The parts of a fall are those of Kitagawa (JASA 50, 1955), at
the shares after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from otel_ctxscore.core.stats.sums import Sums

COVERED = 0.95
"""Posterior probability of the ticks between `low` and `high`, at least."""
BELIEVED = 10.0
"""Odds beforehand that the mean fell within the ticks: whoever asks has seen an alarm. A fall of .1 that an alarm would
see is then hardly ever denied, and a mean that stayed is given a place in one of seven cases."""
LEAST_N_EFF = 5.0
"""Effective traces that a change point needs, in all."""
WIDEST_VARIANCE = 0.25
"""That of a score in 0..1, at most."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """`tick`: the first tick with a run after the change, most likely. With 95 % the change lies in `low`..`high`, both
    included. `probability`: of `tick` itself, in 0..1, where the mean fell once."""

    tick: int
    low: int
    high: int
    probability: float


class _Side:
    """The runs on one side of a split."""

    def __init__(self, sums: Sums) -> None:
        self.sums = sums
        self.mean = min(max(sums.wy / sums.w, 0.0), 1.0)

    def likelihood(self, scale: float) -> float:
        """The log of the marginal likelihood, as if each unit of weight were `scale` draws of 0 or 1 (Jeffreys)."""
        n = self.sums.w * scale
        yes, no = n * self.mean + 0.5, n * (1.0 - self.mean) + 0.5
        return math.lgamma(yes) + math.lgamma(no) - math.lgamma(n + 1.0) - math.log(math.pi)

    @property
    def squares(self) -> float:
        """Sum of squared weights times squared deviations."""
        s, mean = self.sums, self.mean
        return max(s.wwyy - 2 * mean * s.wwy + mean * mean * s.ww, 0.0)

    @property
    def widest(self) -> float:
        """Sum of weights times the greatest variance that a score in 0..1 of this mean can have."""
        return self.sums.w * self.mean * (1.0 - self.mean)


@dataclass(frozen=True, slots=True)
class _Split:
    """One place for the change: `low` to `high` are ticks in which it would part the runs alike."""

    low: int
    high: int
    early: _Side
    late: _Side

    @property
    def ticks(self) -> int:
        return self.high - self.low + 1

    def likelihood(self, scale: float) -> float:
        return self.early.likelihood(scale) + self.late.likelihood(scale)

    def dispersion(self, scale: float) -> float:
        """The variance of an effective trace as a share of the greatest that its mean allows; one such trace of the
        greatest is added, so that equal scores do not make certainty of nothing."""
        squares, widest = self.early.squares + self.late.squares, self.early.widest + self.late.widest
        return (scale * scale * squares + WIDEST_VARIANCE) / (scale * widest + WIDEST_VARIANCE)


def change_point(
    ticks: Sequence[tuple[int, Sums]], expected: Callable[[int], float] = lambda tick: 0.0
) -> ChangePoint | None:
    """Where the mean of judged sums by tick (ascending, each with a run) most likely fell.

    `expected`: the mean that each tick had anyway, where it goes with the hour of the day. None where it is more likely
    that the mean did not fall within these ticks, although an alarm said so, or there is too little to tell.
    """
    total = sum((sums for _, sums in ticks), Sums())
    if len(ticks) < 2 or total.n_eff < LEAST_N_EFF:
        return None
    level = sum(sums.w * expected(tick) for tick, sums in ticks) / total.w
    rest = [(tick, _less(sums, expected(tick) - level)) for tick, sums in ticks]
    splits = [split for split in _splits(rest) if split.late.mean < split.early.mean]
    if not splits:
        return None
    scale = total.n_eff / total.w
    scale /= max(splits, key=lambda split: split.likelihood(scale)).dispersion(scale)
    likelihoods = [split.likelihood(scale) for split in splits]
    top = max(likelihoods)
    weights = [math.exp(known - top) * split.ticks for known, split in zip(likelihoods, splits, strict=True)]
    unchanged = _Side(sum((sums for _, sums in rest), Sums())).likelihood(scale)
    fell = top + math.log(math.fsum(weights) / (ticks[-1][0] - ticks[0][0]))
    return _told(splits, weights) if fell + math.log(BELIEVED) > unchanged else None


def _less(sums: Sums, level: float) -> Sums:
    """The sums of y - level."""
    return replace(
        sums,
        wy=sums.wy - level * sums.w,
        wwy=sums.wwy - level * sums.ww,
        wwyy=sums.wwyy - 2 * level * sums.wwy + level * level * sums.ww,
    )


def _splits(ticks: Sequence[tuple[int, Sums]]) -> Iterator[_Split]:
    before = list(accumulate(sums for _, sums in ticks))
    after = list(accumulate(sums for _, sums in reversed(ticks)))[::-1]
    for place in range(1, len(ticks)):
        yield _Split(ticks[place - 1][0] + 1, ticks[place][0], _Side(before[place - 1]), _Side(after[place]))


def _told(splits: Sequence[_Split], weights: Sequence[float]) -> ChangePoint:
    """From the likelihood of each split, times its ticks: each tick is as likely beforehand."""
    whole = math.fsum(weights)
    ranked = sorted(zip(weights, splits, strict=True), key=lambda pair: -pair[0])
    held, inside = 0.0, []
    for weight, split in ranked:
        inside.append(split)
        held += weight / whole
        if held >= COVERED:
            break
    best = ranked[0][1]
    low, high = min(split.low for split in inside), max(split.high for split in inside)
    return ChangePoint(best.high, low, high, min(ranked[0][0] / whole, 1.0))


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one part of the traffic adds to a change of the mean: `share_before`, `share_after` (0..1, by weight),
    `change` (below 0: it pulls the mean down) and its standard error."""

    share_before: float
    share_after: float
    change: float
    error: float


def contributions(before: Mapping[str, Sums], after: Mapping[str, Sums]) -> dict[str, Contribution]:
    """The change of the judged mean, by part: the `change` of all add up to it. Nothing where either side is empty.

    A part that is as before adds nothing, whatever its share, if its mean was that of all. One that is new adds its
    share times how far it lies from the mean before.
    """
    early, late = sum(before.values(), Sums()), sum(after.values(), Sums())
    if not (early.w > 0.0 and late.w > 0.0):
        return {}
    mean = early.wy / early.w
    found = {}
    for name in {**before, **after}:
        b, a = before.get(name, Sums()), after.get(name, Sums())
        gone, come = _pull(b, early, mean), _pull(a, late, mean)
        error = math.sqrt(max(_pull_spread(b, early, mean, gone) + _pull_spread(a, late, mean, come), 0.0))
        found[name] = Contribution(b.w / early.w, a.w / late.w, come - gone, error)
    return found


def _pull(part: Sums, whole: Sums, mean: float) -> float:
    """How far the part pulls the mean of the whole from `mean`."""
    return (part.wy - mean * part.w) / whole.w


def _pull_spread(part: Sums, whole: Sums, mean: float, pull: float) -> float:
    """The variance of `_pull`, where no trace is in two parts."""
    w = whole.w
    square = part.wwyy / w / w - 2 * mean * (part.wwy / w / w) + mean * mean * (part.ww / w / w)
    cross = part.wwy / w / w - mean * (part.ww / w / w)
    return square - 2 * pull * cross + pull * pull * (whole.ww / w / w)
