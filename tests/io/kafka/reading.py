"""A source on real brokers, and what came out of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from otel_ctxscore.config.intake import KafkaSource as Settings
from otel_ctxscore.core.codec import open_log, open_span
from otel_ctxscore.core.receipts import Receipt
from otel_ctxscore.core.spans import Delivery, LogRecord, Span
from otel_ctxscore.io.kafka.source import KafkaSource
from otel_ctxscore.ports import Full


@dataclass
class Hearer:
    """A line that keeps what it is given. It takes `room` deliveries until more is given; `holds` keeps them open."""

    room_left: float = float("inf")
    holds: bool = False
    deliveries: list[Delivery] = field(default_factory=list)
    held: list[Receipt] = field(default_factory=list)
    relieved: int = 0

    def keeps(self, trace_id: bytes) -> bool:
        return True

    def accept(self, delivery: Delivery) -> None:
        if self.room_left <= 0:
            raise Full
        self.room_left -= 1
        self.deliveries.append(delivery)
        delivery.receipt.use()
        if self.holds:
            delivery.receipt.hold()
            self.held.append(delivery.receipt)

    async def room(self) -> None:
        while self.room_left <= 0:  # noqa: ASYNC110 -- set by the test
            await asyncio.sleep(0.01)

    def relieve(self) -> None:
        self.relieved += 1

    def give_up(self, owner: object) -> None:
        self.held = [receipt for receipt in self.held if receipt.owner is not owner]

    @property
    def spans(self) -> list[Span]:
        return [open_span(kept) for delivery in self.deliveries for kept in delivery.spans]

    @property
    def logs(self) -> list[LogRecord]:
        return [open_log(kept) for delivery in self.deliveries for kept in delivery.logs]


@dataclass
class Counts:
    spans: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    split: Counter[str] = field(default_factory=Counter)
    reconnects: Counter[str] = field(default_factory=Counter)

    def counted(self, result: str, n: int) -> None:
        self.spans[result] += n

    def request(self, result: str) -> None:
        self.requests[result] += 1


@dataclass
class Reading:
    source: KafkaSource
    line: Hearer
    counts: Counts

    async def until(self, condition: Callable[[Reading], bool], seconds: float = 30) -> None:
        """Return once it holds; TimeoutError else, with what there is."""
        ends = time.monotonic() + seconds
        while not condition(self):
            if time.monotonic() > ends:
                raise TimeoutError(f"{len(self.line.deliveries)} deliveries, {self.counts}, {self.source.unhealthy()}")
            await asyncio.sleep(0.02)


def settings(brokers: str, *topics: str, **further: object) -> Settings:
    chosen = {"brokers": [brokers], "topics": list(topics), "group_id": uuid.uuid4().hex, "start": "earliest"}
    return Settings.model_validate({**chosen, **further})


@contextlib.asynccontextmanager
async def reading(chosen: Settings, line: Hearer | None = None) -> AsyncIterator[Reading]:
    """A started source; stopped and closed at the end."""
    counts, line = Counts(), line or Hearer()
    source = KafkaSource(
        chosen,
        counts=counts,
        split=lambda n: counts.split.update(split=n),
        reconnected=lambda cause: counts.reconnects.update([cause]),
    )
    await source.start(line)
    try:
        yield Reading(source, line, counts)
    finally:
        await source.stop()
        await source.close()
