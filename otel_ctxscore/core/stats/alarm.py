"""The alarm that may be looked at as often as one likes (STATISTICS, "Shiryaev-Roberts e-detector on hourly ticks").

An e-detector (arXiv:2203.03532) with six betting rates (arXiv:2010.09686). While the mean stays at or above the floor
each factor is at most 1 on average, so the evidence grows by at most 1 a tick, and the mean time to a false alarm is
at least the horizon H, in ticks, whatever the traffic and the weights. What it does not survive is a floor that the
mean undercuts by itself: hence a floor by hour of day, and a repeated query's cached verdict counted once a tick.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from otel_ctxscore.core.stats.sums import TraceTotals, WeightedScore

Factors = tuple[float, ...]
"""One number for each of the six betting rates."""

BETS = 6
HOURS = 24
HORIZON = 2160.0
"""Wanted hours between false alarms of one series: 90 days."""

MAX_WEIGHT_RATIO = 20.0
"""Weights beyond this multiple of the least one are clipped: they would cost more delay than they give."""

LOWEST_RATE = 0.5
"""The boldest bet leaves at least this factor of the evidence after a perfect score at the lowest floor."""


def weight_cap(p_max: float, p_min: float) -> float:
    """The weight at which weights are clipped, from the largest and smallest probability that the rules can give.

    Both are fixed beforehand and include what is upstream (a constant share there cancels). Raises ValueError unless
    0 < p_min <= p_max <= 1.
    """
    if not 0.0 < p_min <= p_max <= 1.0:
        raise ValueError("probabilities lie in 0..1 and the smallest is greater than 0")
    return min(1.0 / p_min, MAX_WEIGHT_RATIO / p_max)


def observation(runs: Iterable[WeightedScore]) -> tuple[float, float] | None:
    """What a judged trace counts for in the alarm: the weighted mean score of its runs and their mean weight.

    Runs of one trace are alike; each as an observation of its own would count as evidence more than once (four runs a
    trace, correlation .5: a false alarm comes five times as early as promised). None where there is no run.
    """
    kept = tuple(runs)
    totals = TraceTotals.of(kept)
    return (min(totals.ty / totals.t0, 1.0), totals.t0 / len(kept)) if kept else None


@dataclass(frozen=True, slots=True)
class NullHypothesis:
    """What the detector tests: "the mean is not below its floor". Any change of it needs a new detector.

    `floors`: the floor c, one for all hours or one for each hour of the day (UTC), each below 1: the reference minus
    the margin, and minus 1.645 standard errors where the reference is an estimate. A floor of 0 or less cannot be
    undercut. `cap`: see `weight_cap`. `horizon`: H, ticks between false alarms, greater than 0.
    """

    floors: tuple[float, ...]
    cap: float = 1.0
    horizon: float = HORIZON

    def __post_init__(self) -> None:
        if len(self.floors) not in (1, HOURS) or not all(-math.inf < floor < 1.0 for floor in self.floors):
            raise ValueError("there is one floor or one an hour of the day, and each is below 1")
        if not (0.0 < self.cap < math.inf and 0.0 < self.horizon < math.inf):
            raise ValueError("the weight cap and the horizon are greater than 0")

    @property
    def bets(self) -> Factors:
        """The betting rates b: half of the greatest rate that keeps every factor positive, then halved in turn."""
        top = LOWEST_RATE / (1.0 - min(self.floors))
        return tuple(top * 0.5**j for j in range(BETS))

    def floor(self, tick: int) -> float:
        """The floor in a tick (hours since the Unix epoch)."""
        return self.floors[tick % len(self.floors)]

    def factors(self, tick: int, observations: Iterable[tuple[float, float]]) -> list[list[float]]:
        """The six factors of each observation, (score in 0..1, weight greater than 0). Raises ValueError else."""
        floor, cap, bets = self.floor(tick), self.cap, self.bets
        rows = []
        for score, weight in observations:
            if not (0.0 <= score <= 1.0 and weight > 0.0):
                raise ValueError(f"not a score in 0..1 with a positive weight: {score}, {weight}")
            edge = (weight / cap if weight < cap else 1.0) * (floor - score)
            rows.append([1.0 + bet * edge for bet in bets])
        return rows


@dataclass(frozen=True, slots=True)
class Detector:
    """The evidence that the mean fell below its floor, for one service, scorer and version. A value: what adds to it
    returns a new one.

    `evidence`: M, six numbers. `growth`, `starts`: the greatest product of factors over any run of ticks up to now,
    and the tick at which that run began. `tick`: the last tick that held a run. `raised`: the tick of the alarm, None
    while quiet. `began`: the tick in which the change most likely began, estimated when the alarm rose.
    """

    null: NullHypothesis
    evidence: Factors = (0.0,) * BETS
    growth: Factors = (1.0,) * BETS
    starts: tuple[int, ...] = (0,) * BETS
    tick: int | None = None
    raised: int | None = None
    began: int | None = None

    @property
    def ratio(self) -> float:
        """E/H: 1 and more is an alarm. It ends below .1."""
        return sum(self.evidence) / BETS / self.null.horizon

    def after(self, tick: int, observations: Iterable[tuple[float, float]]) -> Detector:
        """The state after observations of one tick, (score, weight) each, in any number of calls.

        An observation is a trace, see `observation`. `tick` counts hours since the Unix epoch; one that lies
        before the last one seen adds to that one. No observation changes nothing: silence is no evidence.
        Raises ValueError for a score outside 0..1 or a weight of 0 and less.
        """
        return self._grown(tick, self.null.factors(tick, observations))

    def acknowledged(self) -> Detector:
        """The state after a person has taken note: quiet, with no evidence. The alarm may rise again."""
        return Detector(self.null, tick=self.tick)

    def as_dict(self) -> dict[str, object]:
        """The state as JSON has it."""
        return {
            "null": {"floors": list(self.null.floors), "cap": self.null.cap, "horizon": self.null.horizon},
            "evidence": list(self.evidence),
            "growth": list(self.growth),
            "starts": list(self.starts),
            "tick": self.tick,
            "raised": self.raised,
            "began": self.began,
        }

    @classmethod
    def restored(cls, state: Mapping[str, object], null: NullHypothesis) -> Detector:
        """The detector that `as_dict` wrote, if it tested this very hypothesis, else a new one. Raises ValueError for
        what `as_dict` did not write."""
        fresh = cls(null)
        if state.keys() != fresh.as_dict().keys():
            raise ValueError("not the state of a detector")
        if state["null"] != fresh.as_dict()["null"]:
            return fresh
        evidence, growth = _numbers(state["evidence"]), _numbers(state["growth"])
        starts = tuple(int(start) for start in _numbers(state["starts"]))
        return cls(null, evidence, growth, starts, *(_tick(state[name]) for name in ("tick", "raised", "began")))

    def _grown(self, tick: int, rows: Sequence[Sequence[float]]) -> Detector:
        if not rows:
            return self
        opened = self._opened(tick)
        now = tick if opened.tick is None else opened.tick
        most = 2.0 * BETS * self.null.horizon
        rise, fall = BETS * self.null.horizon, BETS * self.null.horizon / 10
        evidence, growth, starts = list(opened.evidence), list(opened.growth), opened.starts
        raised, began = opened.raised, opened.began
        for row in rows:
            evidence = [min(m * factor, most) for m, factor in zip(evidence, row, strict=True)]
            growth = [min(p * factor, most) for p, factor in zip(growth, row, strict=True)]
            total = sum(evidence)
            if raised is None:
                if total >= rise:
                    raised, began = now, starts[growth.index(max(growth))]
            elif total < fall:
                raised = began = None
                growth, starts = [1.0] * BETS, (now,) * BETS
        return Detector(self.null, tuple(evidence), tuple(growth), starts, now, raised, began)

    def _opened(self, tick: int) -> Detector:
        """The state at the start of a tick: a new tick adds 1 to M, and a run of ticks that did not pay starts anew."""
        if self.tick is not None and tick <= self.tick:
            return self
        return replace(
            self,
            evidence=tuple(m + 1.0 for m in self.evidence),
            growth=tuple(max(p, 1.0) for p in self.growth),
            starts=tuple(start if p > 1.0 else tick for p, start in zip(self.growth, self.starts, strict=True)),
            tick=tick,
        )


def _numbers(value: object) -> Factors:
    if not isinstance(value, list | tuple) or len(value) != BETS:
        raise ValueError("not the state of a detector")
    numbers = tuple(float(number) for number in value)
    if not all(map(math.isfinite, numbers)):
        raise ValueError("not the state of a detector")
    return numbers


def _tick(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError("not the state of a detector")
