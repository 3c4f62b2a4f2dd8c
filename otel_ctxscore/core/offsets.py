"""Which offsets of a log may be committed: all below the lowest one that is still open.

One `PartitionLedger` lives as long as one assignment of a partition. A receipt of an earlier assignment settles into
the ledger of that assignment, which nobody reads any more: that is how late settles are void.
"""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from otel_ctxscore.core.receipts import Outcome, Receipt

TRIES = 5
"""A record that failed so often is done with: to read it once more would hold up all that come after it."""


@dataclass(slots=True, eq=False)
class PartitionLedger:
    """Offsets handed out under one assignment of a partition, and what became of them.

    `position` is the first offset of the assignment; all below it is done with. Something of offsets up to and
    including `watermark` went down the line before, perhaps in a process that died: what is read again there may be a
    repeat. `secure` waits until an offset's use is noted durably. `given_up` counts the records that failed `TRIES`
    times.
    """

    position: int
    watermark: int = -1
    secure: Callable[[PartitionLedger, int], Awaitable[None]] | None = None
    given_up: int = 0
    _used: int = -1
    _open: dict[int, float] = field(default_factory=dict)
    _lowest: list[int] = field(default_factory=list)
    _failed: set[int] = field(default_factory=set)
    _returned: set[int] = field(default_factory=set)
    _failures: dict[int, int] = field(default_factory=dict)
    _done_above: set[int] = field(default_factory=set)
    _next: int = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.position

    # ---- handing out --------------------------------------------------------------------------------------------

    def wants(self, offset: int) -> bool:
        """Whether the record is to be handed out: it is neither done with nor under way. (It can be read again for
        the sake of an older one that failed.)"""
        if offset < self.position or offset in self._done_above:
            return False
        return offset not in self._open or offset in self._failed or offset in self._returned

    def take(self, offset: int, now: float) -> Receipt:
        """The receipt of a wanted record that is handed out at `now`. Offsets ascend but for what failed."""
        self._failed.discard(offset)
        self._returned.discard(offset)
        if offset not in self._open:
            heapq.heappush(self._lowest, offset)
        self._open[offset] = now
        self._next = max(self._next, offset + 1)
        handed = _HandedOut(self, offset)
        return Receipt(handed.settled, owner=self, used=handed.used, secured=handed.secured)

    def put_back(self, offset: int) -> None:
        """The record was not taken after all: whoever has it keeps it and asks again. Its receipt is not settled."""
        self._returned.add(offset)

    def pass_over(self, offset: int) -> None:
        """A wanted record holds nothing for us: it is done with as soon as it is read, and as often as it is."""
        self._next = max(self._next, offset + 1)
        if offset in self._open:
            self._close(offset)

    def redelivers(self, offset: int) -> bool:
        """Whether something of this record went down the line before."""
        return offset <= self.watermark

    # ---- settling -----------------------------------------------------------------------------------------------

    def settle(self, offset: int, outcome: Outcome) -> None:
        """What became of a record that was handed out."""
        if outcome is Outcome.DONE:
            self._close(offset)
            return
        self._failures[offset] = self._failures.get(offset, 0) + 1
        if self._failures[offset] < TRIES:
            self._failed.add(offset)
        else:
            self.given_up += 1
            self._close(offset)

    def _close(self, offset: int) -> None:
        self._open.pop(offset, None)
        self._failed.discard(offset)
        self._failures.pop(offset, None)
        self._done_above.add(offset)

    def use(self, offset: int) -> None:
        """Something of a record goes down the line."""
        self._used = max(self._used, offset)

    async def secured(self, offset: int) -> None:
        """Return once it is written down that the record is in use."""
        if self.secure is not None:
            await self.secure(self, offset)

    # ---- what to write down -------------------------------------------------------------------------------------

    @property
    def committable(self) -> int:
        """The offset to commit: everything below it is done with. Never falls."""
        while self._lowest and self._lowest[0] not in self._open:
            heapq.heappop(self._lowest)
        floor = self._lowest[0] if self._lowest else self._next
        if floor > self.position:
            self._done_above = {offset for offset in self._done_above if offset >= floor}
            self.position = floor
        return floor

    @property
    def used(self) -> int:
        """The highest offset of which something went down the line, now or earlier. What stands above it and was
        only held can be delivered elsewhere as new, once it is dropped here."""
        return max(self.watermark, self._used)

    def rewind(self) -> int | None:
        """The lowest offset that failed, from where to read again; None where none did. What was handed out from
        there on is a repeat from now on."""
        if not self._failed:
            return None
        self.watermark = max(self.watermark, self._next - 1)
        return min(self._failed)

    def oldest(self) -> float | None:
        """When the oldest record that is open was handed out."""
        return self._open[self.committable] if self._open else None


@dataclass(frozen=True, slots=True)
class _HandedOut:
    """One record under its ledger: what its receipt calls. There are as many as records are open, so it is lean."""

    ledger: PartitionLedger
    offset: int

    def settled(self, outcome: Outcome) -> None:
        self.ledger.settle(self.offset, outcome)

    def used(self) -> None:
        self.ledger.use(self.offset)

    async def secured(self) -> None:
        await self.ledger.secured(self.offset)
