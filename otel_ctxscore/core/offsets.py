"""Which offsets of a log may be committed: all below the lowest one that is still open.

One `PartitionLedger` lives as long as one assignment of a partition. A receipt of an earlier assignment settles into
the ledger of that assignment, which nobody reads any more: that is how late settles are void.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from otel_ctxscore.core.receipts import Outcome, Receipt


@dataclass(slots=True)
class PartitionLedger:
    """Offsets handed out under one assignment of a partition, and what became of them.

    `position` is the first offset of the assignment; all below it is done with. Offsets up to and including
    `watermark` were handed out before, perhaps by a process that died: what is read again there may be a repeat.
    """

    position: int
    watermark: int = -1
    _open: dict[int, float] = field(default_factory=dict)
    _lowest: list[int] = field(default_factory=list)
    _failed: set[int] = field(default_factory=set)
    _settled_above: set[int] = field(default_factory=set)
    _next: int = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.position

    def take(self, offset: int, now: float) -> Receipt | None:
        """A receipt for the record at `offset`, read at `now`; None where the record is done with already (it was
        read again because an older one failed). Offsets come in ascending order but for such a rewind."""
        done = offset < self.position or offset in self._settled_above
        if done or (offset in self._open and offset not in self._failed):
            return None
        self._failed.discard(offset)
        if offset not in self._open:
            heapq.heappush(self._lowest, offset)
        self._open[offset] = now
        self._next = max(self._next, offset + 1)
        return Receipt(lambda outcome: self._settle(offset, outcome), owner=self)

    def pass_over(self, offset: int) -> None:
        """The record at `offset` holds nothing: it is done with as soon as it is read."""
        self._next = max(self._next, offset + 1)

    def redelivers(self, offset: int) -> bool:
        """Whether this record was handed out before."""
        return offset <= self.watermark

    def _settle(self, offset: int, outcome: Outcome) -> None:
        if outcome is Outcome.FAILED:
            self._failed.add(offset)
            return
        self._open.pop(offset, None)
        self._settled_above.add(offset)

    @property
    def committable(self) -> int:
        """The offset to commit: everything below it is done with. Never falls."""
        while self._lowest and self._lowest[0] not in self._open:
            heapq.heappop(self._lowest)
        floor = self._lowest[0] if self._lowest else self._next
        if floor > self.position:
            self._settled_above = {offset for offset in self._settled_above if offset >= floor}
            self.position = floor
        return floor

    @property
    def high(self) -> int:
        """The highest offset handed out, by this assignment or an earlier one."""
        return max(self.watermark, self._next - 1)

    def rewind(self) -> int | None:
        """The lowest offset that failed, from where to read again; None where none did. What failed from there on
        was handed out: it is a repeat from now on."""
        if not self._failed:
            return None
        self.watermark = max(self.watermark, self._next - 1)
        return min(self._failed)

    def oldest(self) -> float | None:
        """When the oldest record that is open was read."""
        return self._open[self.committable] if self._open else None

    @property
    def open_offsets(self) -> int:
        """Records that are not done with."""
        return len(self._open)
