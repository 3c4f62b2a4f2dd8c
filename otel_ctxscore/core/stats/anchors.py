"""System or judge: who moved when the scores did (STATISTICS, "system or judge").

Anchors are runs with kept scores; judged again, only the judge can have moved. A steady trickle of them finds a judge
that moves while the mean hides it; a burst of all of them, when the live alarm rises, says whom to blame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from otel_ctxscore.core.stats.alarm import HORIZON, Detector, NullHypothesis
from otel_ctxscore.core.stats.quantiles import Z95

PASSES = 3
"""How often an anchor is judged when it is pinned: one pass would leave its own noise in every later difference."""

LEAST_SPREAD = 0.05
"""Standard deviation of the differences that is assumed at least."""

STEADY_MARGIN = 0.015
"""How far (1+d)/2 may move from one half before evidence collects: a mean difference of .03."""

STEADY_NULL = NullHypothesis((0.5 - STEADY_MARGIN,), 1.0, 2 * HORIZON)
"""The hypothesis of either steady detector; with twice the horizon, both together keep that of one."""

Z_BOTH = 2.24
"""The two-sided 95 % point where two questions are asked at once (97.5 % each)."""

Culprit = Literal["system", "judge", "both", "open"]


def kept_score(passes: Sequence[float]) -> float:
    """The score to keep for an anchor: the mean of its passes. Raises ValueError for fewer than three."""
    if len(passes) < PASSES:
        raise ValueError(f"an anchor is judged {PASSES} times when it is pinned")
    return math.fsum(passes) / len(passes)


@dataclass(frozen=True, slots=True)
class Blame:
    """Who moved. `judge`, `system`: the change of the mean score that each accounts for (below 0: it fell), with the
    standard errors `judge_error` and `system_error`. `open` says that neither can be told from noise."""

    culprit: Culprit
    judge: float
    judge_error: float
    system: float
    system_error: float


def blame(change: float, error: float, differences: Sequence[float]) -> Blame:
    """Split a live change into what the judge and what the system did.

    `change`: live mean now minus the reference, `error`: its standard error. `differences`: score now minus kept
    score, of every anchor once. A part counts where its 95 % interval excludes 0. With fewer than two differences
    the judge is not known and the answer is `open`.
    """
    n = len(differences)
    if n < 2:
        return Blame("open", 0.0, math.inf, change, math.inf)
    judge = math.fsum(differences) / n
    spread = math.sqrt(math.fsum((d - judge) ** 2 for d in differences) / (n - 1))
    judge_error = max(spread, LEAST_SPREAD) / math.sqrt(n)
    system, system_error = change - judge, math.hypot(error, judge_error)
    culprit = _culprit(abs(judge) / judge_error, abs(system) / system_error)
    return Blame(culprit, judge, judge_error, system, system_error)


def _culprit(judge: float, system: float) -> Culprit:
    """From the two parts in units of their standard errors."""
    if max(judge, system) <= Z95:
        return "open"
    if min(judge, system) > Z_BOTH:
        return "both"
    return "judge" if judge > system else "system"


@dataclass(frozen=True, slots=True)
class AnchorWatch:
    """The steady process: two detectors on the differences of anchors drawn at random, at a fixed rate."""

    fell: Detector = field(default_factory=lambda: Detector(STEADY_NULL))
    rose: Detector = field(default_factory=lambda: Detector(STEADY_NULL))

    def after(self, tick: int, differences: Iterable[float]) -> AnchorWatch:
        """The state after anchors judged in one tick (hours since the Unix epoch); each difference is the score now
        minus the kept one, in -1..1. Raises ValueError for any other."""
        halves = [(1.0 + d) / 2 for d in differences]
        return AnchorWatch(
            self.fell.after(tick, [(x, 1.0) for x in halves]),
            self.rose.after(tick, [(1.0 - x, 1.0) for x in halves]),
        )

    @property
    def ratio(self) -> float:
        """E/H of the direction with more evidence: 1 and more says that the judge moved."""
        return max(self.fell.ratio, self.rose.ratio)

    def as_dict(self) -> dict[str, object]:
        """The state as JSON has it."""
        return {"fell": self.fell.as_dict(), "rose": self.rose.as_dict()}

    @classmethod
    def restored(cls, state: Mapping[str, object]) -> AnchorWatch:
        """What `as_dict` wrote. Raises ValueError for anything else."""
        fell, rose = state.get("fell"), state.get("rose")
        if not isinstance(fell, Mapping) or not isinstance(rose, Mapping):
            raise ValueError("not the state of an anchor watch")
        return cls(Detector.restored(fell, STEADY_NULL), Detector.restored(rose, STEADY_NULL))
