"""What the configuration tells the alarm, and how fast its clock goes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from otel_ctxscore.config import Config
from otel_ctxscore.config import judges as cfg
from otel_ctxscore.config.intake import Sampling
from otel_ctxscore.config.model import Pinned
from otel_ctxscore.core.hours import HOUR, finest
from otel_ctxscore.core.stats import NullHypothesis, Reference, weight_cap
from otel_ctxscore.core.stats.reference import MIN_DAYS, MIN_TRACES


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds that stand for an hour, and the judged traces and days that a learned reference needs. Anything but the
    default is for a demonstration: the promise of the alarm is one in ticks."""

    tick: float = HOUR
    traces: int = MIN_TRACES
    days: int = MIN_DAYS

    def tick_at(self, seconds: float) -> int:
        """The tick of a moment (Unix seconds)."""
        return math.floor(seconds / self.tick)

    @property
    def fine(self) -> Pace:
        """The same by the quarter of a minute, of which the state keeps sums too; itself in a demonstration."""
        return replace(self, tick=finest(self.tick))

    def begin(self, tick: int) -> float:
        """The moment when a tick begins (Unix seconds)."""
        return tick * self.tick


@dataclass(frozen=True, slots=True)
class Thinning:
    """The least and the greatest probability with which upstream samplers kept the traces of a series. It widens by
    powers of two, so that it seldom changes: each change begins the evidence anew."""

    low: float
    high: float

    def widened(self, probability: float) -> Thinning:
        """The range with one more probability (0..1, above 0) in it."""
        low, high = self.low, self.high
        if probability < low:
            low = 2.0 ** math.floor(math.log2(probability))
        if probability > high:
            high = min(1.0, 2.0 ** math.ceil(math.log2(probability)))
        return Thinning(low, high) if (low, high) != (self.low, self.high) else self


@dataclass(frozen=True, slots=True)
class Rules:
    """`pinned`: the reference of all series where one is configured. `horizon`: H in ticks. `p_max`, `p_min`: the
    largest and the smallest probability that the rules of sampling and judging give."""

    pinned: Reference | None = None
    margin: float = 0.02
    horizon: float = 2160.0
    p_max: float = 1.0
    p_min: float = 1.0

    @classmethod
    def of(cls, config: Config) -> Rules:
        """The rules of a configuration."""
        alarm = config.alarm
        pinned = Reference.pinned(alarm.reference.pinned) if isinstance(alarm.reference, Pinned) else None
        p_max, p_min = _probabilities(config.sampling, config.judge)
        return cls(pinned, alarm.margin, alarm.false_alarm / HOUR, p_max, p_min)

    def cap(self, thinning: Thinning) -> float:
        """The weight at which weights are cut."""
        return weight_cap(self.p_max * thinning.high, self.p_min * thinning.low)

    def null(self, reference: Reference, thinning: Thinning) -> NullHypothesis:
        """What the alarm of a series tests."""
        return reference.null(margin=self.margin, cap=self.cap(thinning), horizon=self.horizon)


def _probabilities(sampling: Sampling, judge: cfg.Judge) -> tuple[float, float]:
    """The largest and the smallest probability above 0 with which a run is judged."""
    rates = [rate for rate in (sampling.rate, *(rule.rate for rule in sampling.rules)) if rate > 0] or [1.0]
    high, low = _drawn(judge)
    return max(rates) * high, min(rates) * low


def _drawn(judge: cfg.Judge) -> tuple[float, float]:
    """The range of the probability with which a screened run is drawn for the dearer judge. `sampled` follows the
    open question of a run, which seldom is twice the mean one."""
    if isinstance(judge, cfg.SampledJudge) and judge.rate > 0:
        return min(1.0, 2 * judge.rate), judge.rate * (judge.floor or 0.05)
    if isinstance(judge, cfg.CascadeJudge) and judge.rate > 0:
        return 1.0, judge.rate
    return 1.0, 1.0
