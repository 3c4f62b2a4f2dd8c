"""`sampled`: a share of the runs goes to the LLM, more often where the local judge is unsure."""

from __future__ import annotations

import math

from otel_ctxscore.core.model import Judgement
from otel_ctxscore.judges.drawing import TwoJudges
from otel_ctxscore.ports import Judge

_START = 0.35
"""The mean uncertainty before any run was seen: between that of p = .15 and p = .5."""
_MEMORY = 1000
"""Runs over which the mean uncertainty is taken."""


class SampledJudge(TwoJudges):
    """Draws a share of `rate` of the runs in the mean.

    The probability of a run is in proportion to the standard deviation that the local judge leaves open (for a mean
    that is the allocation with the smallest variance, Neyman), and at least `floor` times the rate: what it is
    falsely sure of is seen too. The proportion is to the mean of the runs before.
    """

    def __init__(self, local: Judge, llm: Judge, *, rate: float = 0.05, floor: float = 0.25, salt: str = "") -> None:
        super().__init__(local, llm, salt=salt)
        self._rate = rate
        self._floor = floor
        self._mean = _START

    def probability(self, screened: Judgement) -> float:
        open_ = uncertainty(screened)
        share = self._rate * max(self._floor, open_ / self._mean)
        self._mean += (max(open_, self._floor * self._mean) - self._mean) / _MEMORY
        return min(1.0, share)


def uncertainty(judgement: Judgement) -> float:
    """What the probabilities of a judgement leave open of a ranked score, 0 to .5: the standard deviation of the
    verdicts, the first ranks weighing more as they do in average precision."""
    chances = [verdict.p_useful for verdict in judgement.verdicts]
    weighted = [(1 / (rank + 1), p * (1 - p)) for rank, p in enumerate(chances) if p is not None]
    whole = sum(weight for weight, _ in weighted)
    return math.sqrt(sum(weight * variance for weight, variance in weighted) / whole) if whole else 0.5
