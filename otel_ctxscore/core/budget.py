"""How much may be judged: a share fixed ahead of each minute, and a fuse behind it.

"Judge the first so many, then stop" leaves runs without a chance and biases the mean of the day. So each minute's
share follows from the past alone; what it leaves out had a known chance. The fuse is for what nobody foresaw: spending
is reserved before a call and settled after it, and a day that is spent is closed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from otel_ctxscore.core.model import JudgedBy
from otel_ctxscore.core.stats import Traffic, judging_probability, refilled

MINUTE = 60.0
DAY_MINUTES = 1440
FORGETS = 200.0
"""Judged runs over which the mean cost of a run is taken."""
BURST = 5.0
"""Minutes' worth of runs that may be spent at once after a quiet time."""
LEAST = 0.5
"""Part of a minute's allowance that the next minute has at least, whatever was spent before."""
_SET_BACK = 60
"""Minutes. A clock that is set back further had run ahead; less is how clocks are kept right."""
Kind = Literal["tokens", "usd"]
Window = Literal["minute", "day"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent, None where there is no limit: judged runs a minute, and tokens and US dollars a day (UTC)."""

    runs_per_minute: float | None = None
    tokens_per_day: float | None = None
    usd_per_day: float | None = None

    @property
    def by_day(self) -> dict[Kind, float]:
        given: dict[Kind, float | None] = {"tokens": self.tokens_per_day, "usd": self.usd_per_day}
        return {kind: limit for kind, limit in given.items() if limit is not None}


def costs_of(by: JudgedBy | None) -> dict[Kind, float]:
    """What a judgement cost, for `Budget.settle`; nothing where no judge answered, or the verdict was known."""
    return {} if by is None or not by.calls else {"tokens": float(by.tokens), "usd": by.cost_usd or 0.0}


@dataclass(slots=True)
class Budget:
    """The state of one process. `fraction` is its part of the limits, in (0, 1], where replicas share them.

    Times are Unix seconds; they may go back, as clocks do that are set. `wanted` below is the probability with which a
    run would be judged without a budget.
    """

    limits: Limits
    fraction: float = 1.0
    traffic: Traffic = field(default_factory=Traffic)
    _minute: int | None = None
    _share: float = 1.0
    _seen: float = 0.0
    _judged: float = 0.0
    _left: float = 0.0
    _day: int | None = None
    _spent: dict[Kind, float] = field(default_factory=dict)
    _other_days: dict[int, dict[Kind, float]] = field(default_factory=dict)
    _under_way: int = 0
    _each: dict[Kind, float] = field(default_factory=dict)
    _settled: int = 0
    _blown: bool = False
    _burst: float = -math.inf

    def share(self, now: float) -> float:
        """What is let through of the runs that would be judged, in this minute. The same for the whole minute."""
        minute = int(now // MINUTE)
        if minute != self._minute:
            self._turn(minute)
        return 0.0 if self._blown else self._share

    def saw(self, now: float, wanted: float) -> None:
        """Note a run of this minute, judged or not."""
        self.share(now)
        self._seen += wanted

    def reserve(self, now: float) -> bool:
        """Set aside what a call is expected to cost; False, and nothing set aside, where the day cannot bear it or the
        minute has had many times its part."""
        self.share(now)
        by_day = self.limits.by_day.items()
        if any(self.used(kind) + self._each.get(kind, 0.0) > limit * self.fraction for kind, limit in by_day):
            self._blown = True
            return False
        if self._judged >= BURST * (self.limits.runs_per_minute or math.inf) * self.fraction:
            self._burst = now
            return False
        self._judged += 1
        self._under_way += 1
        return True

    def settle(self, costs: Mapping[Kind, float]) -> None:
        """Give back what one call had reserved and take what it cost. `costs` is empty for a call that was not made."""
        self._settled += bool(costs)
        self._under_way = max(0, self._under_way - 1)
        for kind in self.limits.by_day:
            each, cost = self._each.get(kind, 0.0), costs.get(kind, 0.0)
            self._spent[kind] = self._spent.get(kind, 0.0) + cost
            if costs:
                self._each[kind] = each + (cost - each) / min(self._settled, FORGETS)

    def used(self, kind: Kind) -> float:
        """What is spent today, and what is set aside for calls under way: the mean cost of one for each."""
        return self._spent.get(kind, 0.0) + self._under_way * self._each.get(kind, 0.0)

    def used_ratio(self, window: Window) -> float | None:
        """The share of this process's part that is used; of a day the greatest of its limits. None without a limit."""
        if window == "minute":
            limit = self.limits.runs_per_minute
            return None if limit is None else self._judged / (limit * self.fraction)
        ratios = [self.used(kind) / (limit * self.fraction) for kind, limit in self.limits.by_day.items()]
        return max(ratios, default=None)

    def relimit(self, limits: Limits, fraction: float) -> None:
        """Hold to other limits from now on; a share that is fixed ahead follows with the next minute. The fuse is
        mended: where the new limits are spent too, the next run blows it again."""
        self.limits, self.fraction, self._blown, self._burst = limits, fraction, False, -math.inf

    def is_open(self, window: Window, now: float) -> bool | None:
        """Whether the fuse of a window lets calls through; None without a limit. That of the minute counts as blown
        for a minute after it last held a call back: scrapes see it."""
        if window == "minute":
            return None if self.limits.runs_per_minute is None else not 0 <= now - self._burst < MINUTE
        return not (self._blown or self._share == 0) if self.limits.by_day else None

    def blown(self, now: float) -> bool:
        """Whether a fuse is blown: some runs have no chance to be judged, and means of this time are truncated."""
        return self.is_open("day", now) is False or self.is_open("minute", now) is False

    def as_dict(self) -> dict[str, object]:
        """What to keep over a restart: by day (since the Unix epoch), what was spent on it."""
        days = self._other_days if self._day is None else {**self._other_days, self._day: self._spent}
        return {"days": {str(day): dict(spent) for day, spent in days.items()}}

    def restore(self, now: float, kept: Mapping[str, object]) -> None:
        """Go on with what `as_dict` gave earlier of the day of `now`."""
        days = kept.get("days")
        for day, spent in days.items() if isinstance(days, dict) else ():
            if str(day).isdecimal() and isinstance(spent, dict):
                self._other_days[int(day)] = {kind: _amount(spent.get(kind)) for kind in self.limits.by_day}
        self._turn(int(now // MINUTE))

    def _turn(self, minute: int) -> None:
        """Begin a minute: its share comes from what was seen up to now."""
        if self._minute is not None:
            self.traffic = self.traffic.after(self._minute, self._seen)
            if minute < self._minute - _SET_BACK:  # the clock was wrong till now, and so is what goes by it
                self.traffic = Traffic()
        day = minute // DAY_MINUTES
        if day != self._day:
            self._begin(day)
        self._left = self._refilled(minute)
        self._minute, self._seen, self._judged = minute, 0.0, 0.0
        self._share = self._next_share()

    def _begin(self, day: int) -> None:
        """Begin a day, or go on with one: a clock that is set back over midnight and forth gives nothing twice."""
        if self._day is not None:
            self._other_days[self._day] = self._spent
        self._day, self._spent, self._blown = day, self._other_days.pop(day, {}), False
        self._other_days = {other: spent for other, spent in self._other_days.items() if abs(other - day) <= 1}

    def _next_share(self) -> float:
        return min([self._runs_share(), *(self._day_share(kind) for kind in self.limits.by_day)])

    def _refilled(self, minute: int) -> float:
        allowance = (self.limits.runs_per_minute or 0.0) * self.fraction
        if self._minute is None:
            return allowance
        skipped = max(0, minute - self._minute - 1)
        left = refilled(self._left, allowance, self._judged, burst=BURST) + skipped * allowance
        # A minute that nobody foresaw is forgiven in part: one without a chance for any run would bias the mean.
        return min(max(left, LEAST * allowance), BURST * allowance)

    def _runs_share(self) -> float:
        if self.limits.runs_per_minute is None:
            return 1.0
        return judging_probability(self._left, self.traffic.expected(1))

    def _day_share(self, kind: Kind) -> float:
        left = self.limits.by_day[kind] * self.fraction - self.used(kind)
        return judging_probability(left, self.traffic.until_midnight() * self._each.get(kind, 0.0))


def _amount(kept: object) -> float:
    """An amount as it was kept; 0 for what is none."""
    return float(kept) if isinstance(kept, int | float) and 0 <= kept < math.inf else 0.0
