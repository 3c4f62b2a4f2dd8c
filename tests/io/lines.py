"""A line that remembers what it took, and one source's counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from otel_ctxscore.core.codec import open_span
from otel_ctxscore.core.spans import Delivery, Span
from otel_ctxscore.ports import Full


@dataclass
class FakeLine:
    """Takes what it is given; refuses with `full` where that is set. Keeps every trace but those in `left_out`."""

    full: Full | None = None
    left_out: set[bytes] = field(default_factory=set)
    deliveries: list[Delivery] = field(default_factory=list)

    def keeps(self, trace_id: bytes) -> bool:
        return trace_id not in self.left_out

    def accept(self, delivery: Delivery) -> None:
        if self.full is not None:
            raise self.full
        self.deliveries.append(delivery)

    async def room(self) -> None:
        return

    def relieve(self) -> None:
        return

    def give_up(self, owner: object) -> None:
        return

    @property
    def spans(self) -> list[Span]:
        return [open_span(kept) for delivery in self.deliveries for kept in delivery.spans]


@dataclass
class FakeCounts:
    spans: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    refused_once: asyncio.Event = field(default_factory=asyncio.Event)

    def counted(self, result: str, n: int) -> None:
        self.spans[result] += n

    def request(self, result: str) -> None:
        self.requests[result] += 1
        if result == "full":
            self.refused_once.set()
