import asyncio

import pytest

from otel_ctxscore.judges.concurrency import AdaptiveConcurrency
from tests.virtual_time import run


async def _calls(limit: AdaptiveConcurrency, count: int, outcome: str = "ok") -> int:
    """Makes calls of one second each; gives the most that were under way at once."""
    most = 0

    async def one() -> None:
        nonlocal most
        async with limit:
            began = asyncio.get_running_loop().time()
            most = max(most, limit.in_flight)
            await asyncio.sleep(1)
            if outcome == "ok":
                limit.succeeded()
            else:
                limit.overloaded(began, asyncio.get_running_loop().time())

    await asyncio.gather(*(one() for _ in range(count)))
    return most


def test_it_grows_to_the_most_while_all_goes_well() -> None:
    limit = AdaptiveConcurrency(128)
    assert run(_calls(limit, 16)) == 16
    assert run(_calls(limit, 2000)) == 128
    assert limit.in_flight == 0


def test_it_never_exceeds_the_most() -> None:
    assert run(_calls(AdaptiveConcurrency(3), 50)) == 3


def test_a_round_of_overload_halves_it_once() -> None:
    limit = AdaptiveConcurrency(64)
    run(_calls(limit, 500))
    before = limit.limit

    async def cut() -> None:
        for _ in range(10):
            limit.overloaded(began=5000, now=5001)

    run(cut())
    assert limit.limit == before // 2


def test_it_never_falls_below_one_and_raises_slowly_after_a_cut() -> None:
    limit = AdaptiveConcurrency(64)
    run(_calls(limit, 200, "overload"))
    assert limit.limit == 1
    run(_calls(limit, 30))
    assert 4 <= limit.limit <= 9


def test_unused_places_do_not_raise_it() -> None:
    limit = AdaptiveConcurrency(64)

    async def one_at_a_time() -> None:
        for _ in range(100):
            async with limit:
                limit.succeeded()

    run(one_at_a_time())
    assert limit.limit == 16


@pytest.mark.parametrize("given_at_once", [False, True])
def test_who_gives_up_waiting_takes_no_place(given_at_once: bool) -> None:
    limit = AdaptiveConcurrency(1)

    async def give_up() -> None:
        async def hold() -> None:
            async with limit:
                await asyncio.sleep(5)

        holder = asyncio.create_task(hold())
        await asyncio.sleep(0)
        waiter = asyncio.create_task(hold())
        await asyncio.sleep(0)
        if given_at_once:
            holder.cancel()
            await asyncio.sleep(0)  # the place is given to the waiter, which has not woken yet
        waiter.cancel()
        await asyncio.gather(holder, waiter, return_exceptions=True)
        async with limit:
            assert limit.in_flight == 1

    run(give_up())
    assert limit.in_flight == 0
