"""Receipts: how a source learns that what it delivered is done with.

A delivery (one Kafka record, one OTLP request) has one receipt. Each trace that takes something from the delivery
holds the receipt and settles its hold once; when the last hold is settled, the source hears the worst outcome.
This module imports nothing of the package: whoever settles need not know what an offset is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import IntEnum


class Outcome(IntEnum):
    """What became of a delivery, or of one trace's part of it. Greater is worse."""

    DONE = 0
    """Finished for good: scored, refused with a reason, or left out by sampling."""
    FAILED = 1
    """Not finished: the source must deliver it again if it can."""


class Withdrawn(Exception):  # noqa: N818 -- a state of the delivery, not a fault
    """The source no longer answers for a delivery: someone else has it, and will do what was not done yet."""


class Receipt:
    """Counts the holds on one delivery and tells the source once, when none is left.

    The receipt is born with one hold, the source's own, which the source settles after it has handed the
    delivery over. Without that hold a trace that finishes at once would settle a delivery that is still being
    taken in. `owner` stands for what the delivery came from, such as one assignment of a partition. `used` is called
    when something of the delivery goes down the line; `secured` waits until the source has noted that durably, so that
    whoever is delivered it again knows that what comes of it may be a repeat.
    """

    __slots__ = ("_holds", "_secured", "_settled", "_used", "_worst", "owner")

    def __init__(
        self,
        settled: Callable[[Outcome], None] | None = None,
        owner: object = None,
        used: Callable[[], None] | None = None,
        secured: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._settled = settled
        self._used = used
        self._secured = secured
        self.owner = owner
        self._holds = 1
        self._worst = Outcome.DONE

    @property
    def open(self) -> bool:
        """Whether a hold is left."""
        return self._holds > 0

    def hold(self) -> None:
        """Add a hold. Raises RuntimeError when the receipt is settled: its delivery may be committed already."""
        if not self._holds:
            raise RuntimeError("a settled receipt cannot be held")
        self._holds += 1

    def use(self) -> None:
        """Tell the source that what it delivered goes down the line: delivered again, it may make a repeat."""
        if self._used is not None:
            self._used()

    async def secure(self) -> None:
        """Return once what comes of the delivery may be counted and sent. Raises Withdrawn where it may not."""
        if self._secured is not None:
            await self._secured()

    def settle(self, outcome: Outcome = Outcome.DONE) -> None:
        """Give up one hold. Raises RuntimeError when none is left, for then something was settled twice."""
        if not self._holds:
            raise RuntimeError("receipt settled more often than held")
        self._worst = max(self._worst, outcome)
        self._holds -= 1
        if not self._holds and self._settled is not None:
            self._settled(self._worst)
