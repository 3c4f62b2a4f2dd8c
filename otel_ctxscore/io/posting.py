"""POST requests that are tried until they are taken: what the webhook and sinks of one's own over HTTP share."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping

import aiohttp

from otel_ctxscore.core.retry_after import retry_after
from otel_ctxscore.io.batcher import FIRST_PAUSE, LONGEST_PAUSE
from otel_ctxscore.ports import SinkError

_log = logging.getLogger(__name__)

TIMEOUT = 10.0
"""Seconds one request may take."""
LONGEST_ASKED = 600.0
"""Seconds of a Retry-After that are waited, at most."""
CONCURRENCY = 16
"""Requests at the same time, at most."""


class TryAgain(Exception):  # noqa: N818 -- what to do, not a fault
    """A receiver took the request and said in the body that it could not do all of it now."""


def _all_taken(body: bytes) -> None:
    """A receiver whose status says all."""


class Poster:
    """Posts bodies to receivers, a bounded number at the same time, and comes back when they are taken.

    Answers of 408, 429 and 5xx, and no answer, are tried again without end, after a growing pause or the one of
    Retry-After; so a receiver must know a repeat by an id in the body. Any other answer than 2xx is final. `name` is
    the sink's, for the log.
    """

    def __init__(self, name: str, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._name = name
        self._sleep = sleep
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._session: aiohttp.ClientSession | None = None
        self._open: set[asyncio.Future[None]] = set()
        self._down = False

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], taken: Callable[[bytes], None] = _all_taken
    ) -> None:
        """Return when the receiver answered 2xx and `taken` is content with the body of the answer: it may raise
        TryAgain, and SinkError. Raises SinkError where the receiver refuses for good, or the poster is closed."""
        posting = asyncio.ensure_future(self._deliver(url, body, headers, taken))
        self._open.add(posting)
        posting.add_done_callback(self._open.discard)
        try:
            await posting
        except asyncio.CancelledError:
            if posting.cancelled():
                raise SinkError(f"the {self._name} was closed before it took the evaluation") from None
            posting.cancel()
            raise

    async def close(self) -> None:
        """Wait for what is being posted. Cancelled, give it up."""
        try:
            while self._open:
                await asyncio.wait(self._open)
        finally:
            for posting in list(self._open):
                posting.cancel()
            if self._session is not None:
                await self._session.close()

    async def _deliver(self, url: str, body: bytes, headers: Mapping[str, str], taken: Callable[[bytes], None]) -> None:
        tries = 0
        async with self._slots:
            while (pause := await self._post(url, body, headers, taken, tries)) is not None:
                tries += 1
                await self._sleep(pause)

    async def _post(
        self, url: str, body: bytes, headers: Mapping[str, str], taken: Callable[[bytes], None], tries: int
    ) -> float | None:
        """None when delivered, else the seconds to wait before the next try."""
        try:
            async with self._client().post(url, data=body, headers=headers, allow_redirects=False) as answer:
                status, said = answer.status, await answer.read()
                asked = retry_after(answer.headers.get("Retry-After"), time.time())
            if 200 <= status < 300:
                taken(said)
                self._down = False
                return None
        except (aiohttp.ClientError, TimeoutError, TryAgain) as error:
            self._warn(str(error) or type(error).__name__)
        else:
            if status not in (408, 429) and status < 500:
                raise SinkError(f"the {self._name} answered {status}")
            self._warn(f"answered {status}")
            if asked is not None:
                return min(asked, LONGEST_ASKED)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(tries, 16))
        return pause * random.uniform(0.5, 1)

    def _warn(self, why: str) -> None:
        """Once an outage, not once a try."""
        if not self._down:
            _log.warning("%s: %s; trying again", self._name, why)
        self._down = True

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT))
        return self._session
