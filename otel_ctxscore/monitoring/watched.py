"""The alarm of one series: learning its reference, then collecting evidence against it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from otel_ctxscore.core.stats import (
    Detector,
    Estimate,
    NullHypothesis,
    Reference,
    ReferenceSums,
    Sums,
    TraceTotals,
    WeightedScore,
    change_point,
    estimate_judged,
    observation,
)
from otel_ctxscore.monitoring.rules import Pace, Rules, Thinning

RECENT_TICKS = 168
"""Ticks of which the sums are kept, to say how far the mean has fallen when the alarm rises."""
RECENT_PIECES = 128
"""Pieces of time of which they are kept beside, seconds and what older ones were joined to: soon after a start one tick
has runs from before the fall and after it."""


@dataclass(slots=True)
class Watched:
    """State of one series. `detector` is None while there is no reference. `observed` and `clipped` count traces, and
    those whose weight was cut, since the detector is new. `seen` is when the last one came (Unix seconds)."""

    learning: ReferenceSums = field(default_factory=ReferenceSums)
    learned: Reference | None = None
    thinning: Thinning | None = None
    detector: Detector | None = None
    observed: int = 0
    clipped: int = 0
    recent: deque[tuple[int, Sums]] = field(default_factory=lambda: deque(maxlen=RECENT_TICKS))
    pieces: deque[tuple[int, Sums]] = field(default_factory=deque)
    seen: float = 0.0

    def reference(self, rules: Rules) -> Reference | None:
        """What the mean is compared with: pinned, learned or not there yet."""
        return rules.pinned or self.learned

    @property
    def tested(self) -> NullHypothesis | None:
        """What the evidence is against."""
        return self.detector.null if self.detector is not None else None

    def take(self, moment: float, runs: list[WeightedScore], upstream: float, rules: Rules, pace: Pace) -> None:
        """Take the judged runs of one trace, of a moment in Unix seconds, kept with probability `upstream` by samplers
        before us. What a reference is learned from is no evidence against it; both see the same, cut weights."""
        tick = pace.tick_at(moment)
        self.thinning = self.thinning.widened(upstream) if self.thinning else Thinning(upstream, upstream)
        cap = rules.cap(self.thinning)
        cut = [replace(run, weight=min(run.weight, cap)) for run in runs]
        judged = TraceTotals.of(cut).judged
        _keep(self.recent, tick, judged)
        _keep(self.pieces, math.floor(moment), judged)
        _join(self.pieces)
        if self.reference(rules) is None:
            self.learning = self.learning.after(tick, judged)
            self.learned = self.learning.learned(margin=rules.margin, traces=pace.traces, days=pace.days)
            self.arm(rules)
            return
        self.arm(rules)
        found = observation(cut)
        if found is not None and self.detector is not None:
            self.observed += 1
            self.clipped += cut != runs
            self.detector = self.detector.after(tick, [found])

    def arm(self, rules: Rules) -> None:
        """Begin anew where what is tested has changed; a state that tests the same stays."""
        reference = self.reference(rules)
        if reference is None or self.thinning is None:
            return
        null = rules.null(reference, self.thinning)
        if self.detector is None or self.detector.null != null:
            self.detector, self.observed, self.clipped = Detector(null), 0, 0

    def fell(self, tick: int, rules: Rules, pace: Pace) -> float:
        """When the change of an alarm most likely began (Unix seconds): the start of its tick, or a second in it or
        later, where what is kept of the last seconds says so."""
        reference = self.reference(rules)
        if reference is not None and pace.fine != pace:
            found = change_point(list(self.pieces), lambda second: reference.at(pace.tick_at(second)))
            if found is not None and pace.tick_at(found.tick) >= tick:
                return float(found.tick)
        return pace.begin(tick)

    def since(self, moment: float, rules: Rules, pace: Pace) -> tuple[Estimate, float] | None:
        """The mean of the runs since a moment (Unix seconds), or since its tick where the pieces do not reach back so
        far, and the reference at the hours when they came."""
        if pace.fine != pace and self.pieces and self.pieces[0][0] <= moment:
            kept = [(pace.tick_at(at), sums) for at, sums in self.pieces if at >= moment]
        else:
            kept = [(at, sums) for at, sums in self.recent if at >= pace.tick_at(moment)]
        total = sum((sums for _, sums in kept), Sums())
        reference = self.reference(rules)
        if reference is None or not total.w > 0:
            return None
        return estimate_judged(total), sum(sums.w * reference.at(at) for at, sums in kept) / total.w

    def as_dict(self) -> dict[str, object]:
        """The state as JSON has it."""
        return {
            "learning": self.learning.as_dict(),
            "learned": self.learned and self.learned.as_dict(),
            "thinning": self.thinning and [self.thinning.low, self.thinning.high],
            "detector": self.detector and self.detector.as_dict(),
            "observed": self.observed,
            "clipped": self.clipped,
            "recent": _written(self.recent),
            "pieces": _written(self.pieces),
            "seen": self.seen,
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any], rules: Rules) -> Watched:
        """What `as_dict` wrote; the evidence is kept if it is against what `rules` still say. Raises ValueError,
        KeyError or TypeError for anything else."""
        watched = cls(
            learning=ReferenceSums.restored(state["learning"]),
            learned=Reference.restored(state["learned"]) if state["learned"] else None,
            thinning=Thinning(*map(float, state["thinning"])) if state["thinning"] else None,
            seen=float(state["seen"]),
        )
        watched.recent.extend(_read(state["recent"]))
        watched.pieces.extend(_read(state.get("pieces", ())))
        watched.arm(rules)
        if state["detector"] and watched.detector is not None:
            watched.detector = Detector.restored(state["detector"], watched.detector.null)
            if watched.detector.tick is not None:
                watched.observed, watched.clipped = int(state["observed"]), int(state["clipped"])
        return watched


def _keep(recent: deque[tuple[int, Sums]], tick: int, judged: Sums) -> None:
    """Add to the sums of the tick; of one that is over, to the last."""
    if recent and tick <= recent[-1][0]:
        at, sums = recent.pop()
        recent.append((at, sums + judged))
    else:
        recent.append((tick, judged))


def _join(pieces: deque[tuple[int, Sums]]) -> None:
    """Where there are too many, make one of every two of the older half: of what is long ago less needs to be known."""
    if len(pieces) > RECENT_PIECES:
        kept = list(pieces)
        old, young = kept[: RECENT_PIECES // 2], kept[RECENT_PIECES // 2 :]
        pieces.clear()
        pieces.extend((at, sums + more) for (at, sums), (_, more) in zip(old[::2], old[1::2], strict=True))
        pieces.extend(young)


def _written(recent: Iterable[tuple[int, Sums]]) -> list[object]:
    return [[tick, _compact(sums.terms("judged"))] for tick, sums in recent]


def _read(written: Iterable[Any]) -> Iterator[tuple[int, Sums]]:
    return ((int(tick), Sums.of_terms(terms)) for tick, terms in written)


def _compact(terms: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in terms.items() if value}
