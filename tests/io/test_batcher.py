"""What is delivered, what is given up, and what an outage costs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_ctxscore.io.batcher import LONGEST_PAUSE, Batcher, Partly
from otel_ctxscore.ports import DroppedError, SinkError
from tests.io.waiting import until

DELAY = 0.0125


class Receiver:
    """Takes batches without a poison unit while it is up. Time passes only by its `sleep`."""

    def __init__(self, poison: Sequence[int] = (), *, down_for: int = 0) -> None:
        self.poison = set(poison)
        self.down_for = down_for
        self.tries: list[list[int]] = []
        self.taken: list[int] = []
        self.pauses: list[float] = []

    async def export(self, batch: Sequence[int]) -> bool:
        self.tries.append(list(batch))
        await asyncio.sleep(0)
        if self.down_for > 0 or self.poison.intersection(batch):
            self.down_for -= 1
            return False
        self.taken += batch
        return True

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)


def batcher(receiver: Receiver, *, max_units: int = 256, max_bytes: int = 1 << 20) -> Batcher[int]:
    return Batcher("test", receiver.export, max_units=max_units, max_bytes=max_bytes, delay=DELAY, sleep=receiver.sleep)


async def sent(batcher: Batcher[int], units: Sequence[int], size: int = 1) -> list[BaseException | None]:
    return await asyncio.gather(*(batcher.send(unit, size) for unit in units), return_exceptions=True)


async def test_what_comes_together_travels_together() -> None:
    receiver = Receiver()
    assert await sent(batcher(receiver), range(10)) == [None] * 10
    assert receiver.tries == [list(range(10))]


@pytest.mark.parametrize(("max_units", "max_bytes", "expected"), [(4, 1000, [4, 4, 2]), (100, 30, [3, 3, 3, 1])])
async def test_a_batch_is_bounded_by_units_and_bytes(max_units: int, max_bytes: int, expected: list[int]) -> None:
    receiver = Receiver()
    await sent(batcher(receiver, max_units=max_units, max_bytes=max_bytes), range(10), size=10)
    assert [len(batch) for batch in receiver.tries] == expected


async def test_a_unit_larger_than_a_batch_travels_alone() -> None:
    receiver = Receiver()
    assert await sent(batcher(receiver, max_bytes=10), range(3), size=100) == [None] * 3
    assert receiver.tries == [[0], [1], [2]]


@settings(max_examples=30, deadline=None)
@given(st.sets(st.integers(0, 99), max_size=5), st.integers(0, 12))
def test_poison_costs_nobody_else_the_delivery_and_an_outage_costs_none(poison: set[int], down_for: int) -> None:
    async def deliver() -> None:
        receiver = Receiver(sorted(poison), down_for=down_for)
        line = batcher(receiver, max_units=32)
        waiting = asyncio.create_task(sent(line, range(100)))
        await until(lambda: len(receiver.taken) >= 100 - len(poison))
        number = 1000
        while not waiting.done():  # poison is known by others being taken
            await sent(line, [number := number + 1])
        results = await waiting
        assert {unit for unit, result in enumerate(results) if isinstance(result, SinkError)} == poison
        assert sorted(u for u in receiver.taken if u < 1000) == sorted(set(range(100)) - poison)

    asyncio.run(deliver())


async def test_during_an_outage_one_unit_is_tried_at_a_time_and_the_pauses_grow() -> None:
    receiver = Receiver(down_for=12)
    assert await sent(batcher(receiver), range(50)) == [None] * 50
    assert [len(batch) for batch in receiver.tries[1:13]] == [1] * 12
    pauses = [pause for pause in receiver.pauses if pause != DELAY]
    assert max(pauses) <= LONGEST_PAUSE
    assert pauses[-1] > LONGEST_PAUSE / 3
    assert sum(pauses[:3]) < 2


async def test_an_exporter_that_raises_is_an_outage(caplog: pytest.LogCaptureFixture) -> None:
    receiver = Receiver()
    broken = iter([True])

    async def export(batch: Sequence[int]) -> bool:
        if next(broken, False):
            raise ValueError("cannot encode")
        return await receiver.export(batch)

    assert await sent(Batcher("test", export, sleep=receiver.sleep), [1, 2]) == [None, None]
    assert "cannot encode" in caplog.text


async def test_an_outage_is_logged_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    await sent(batcher(Receiver(down_for=8)), range(3))
    assert [record.message for record in caplog.records] == [
        "test refused a batch of 3 evaluations",
        "test takes evaluations again, after 8 tries",
    ]


async def test_a_sender_that_gives_up_takes_its_unit_with_it() -> None:
    receiver = Receiver(down_for=3)
    line = batcher(receiver)
    impatient = asyncio.create_task(line.send(1, 1))
    patient = asyncio.create_task(line.send(2, 1))
    await until(lambda: bool(receiver.tries))
    impatient.cancel()
    await patient
    assert receiver.taken == [2]


async def test_close_delivers_what_waits_and_takes_no_more() -> None:
    receiver = Receiver(down_for=2)
    line = batcher(receiver)
    waiting = asyncio.create_task(sent(line, range(5)))
    await until(lambda: bool(receiver.tries))
    await line.close()
    assert await waiting == [None] * 5
    with pytest.raises(SinkError):
        await line.send(6, 1)


async def test_close_cut_short_tells_who_waits(caplog: pytest.LogCaptureFixture) -> None:
    receiver = Receiver(down_for=10**9)
    line = batcher(receiver)
    waiting = asyncio.create_task(sent(line, range(5)))
    await until(lambda: bool(receiver.tries))
    closing = asyncio.create_task(line.close())
    await asyncio.sleep(0)
    closing.cancel()
    assert all(isinstance(result, SinkError) for result in await waiting)
    assert "5 evaluations not delivered" in caplog.text
    with pytest.raises(asyncio.CancelledError):
        await closing


async def test_senders_beyond_the_bound_wait_outside() -> None:
    receiver = Receiver(down_for=1)
    line = Batcher[int]("test", receiver.export, max_waiting=2, sleep=receiver.sleep)
    assert await sent(line, range(5)) == [None] * 5
    assert max(map(len, receiver.tries)) <= 2


@pytest.mark.parametrize(("left_out", "dropped"), [(1, 1), (4, 4), (9, 4)])
async def test_what_is_left_out_of_a_batch_is_dropped_and_the_rest_delivered(left_out: int, dropped: int) -> None:
    tries = []

    async def export(batch: Sequence[int]) -> bool:
        tries.append(list(batch))
        raise Partly(left_out)

    given = Batcher[int]("test", export, delay=0)
    results = await sent(given, range(4))
    assert [type(result) for result in results].count(DroppedError) == dropped
    assert results.count(None) == 4 - dropped
    assert tries == [[0, 1, 2, 3]]
    await given.close()
