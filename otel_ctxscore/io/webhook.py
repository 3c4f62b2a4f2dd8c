"""Evaluations posted to a URL, signed."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import random
import time
from collections.abc import Awaitable, Callable

import aiohttp

from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.core.retry_after import retry_after
from otel_ctxscore.io.batcher import FIRST_PAUSE, LONGEST_PAUSE
from otel_ctxscore.io.jsonl import encoded
from otel_ctxscore.io.results import evaluation_id
from otel_ctxscore.ports import SinkError

_log = logging.getLogger(__name__)

TIMEOUT = 10.0
"""Seconds one request may take."""
LONGEST_ASKED = 600.0
"""Seconds of a Retry-After that are waited, at most."""
CONCURRENCY = 16
"""Requests at the same time, at most."""


class WebhookSink:
    """Posts each evaluation as JSON with `evaluation_id`, the same at every repeat, so that a receiver can leave out
    what it has. Answers of 408, 429 and 5xx, and no answer, are tried again without end, with a growing pause (or the
    one of Retry-After); any other answer than 2xx is final.

    `X-Ctxscore-Signature: sha256=HEX` is the HMAC-SHA256 of the body under `secret`.
    """

    name = "webhook"

    def __init__(
        self,
        url: str,
        secret: str,
        *,
        content: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._url = url
        self._secret = secret.encode()
        self._content = content
        self._sleep = sleep
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._session: aiohttp.ClientSession | None = None
        self._open: set[asyncio.Future[None]] = set()
        self._down = False

    async def emit(self, evaluation: Evaluation) -> None:
        """Return when the receiver answered 2xx. Raises SinkError where it refuses for good."""
        body = encoded(evaluation, content=self._content, evaluation_id=evaluation_id(evaluation))
        posting = asyncio.ensure_future(self._deliver(body))
        self._open.add(posting)
        posting.add_done_callback(self._open.discard)
        try:
            await posting
        except asyncio.CancelledError:
            if posting.cancelled():
                raise SinkError("the webhook was closed before it took the evaluation") from None
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

    async def _deliver(self, body: bytes) -> None:
        tries = 0
        async with self._slots:
            while (pause := await self._post(body, tries)) is not None:
                tries += 1
                await self._sleep(pause)

    async def _post(self, body: bytes, tries: int) -> float | None:
        """None when delivered, else the seconds to wait before the next try."""
        try:
            request = self._client().post(self._url, data=body, headers=self._headers(body), allow_redirects=False)
            async with request as answer:
                status, asked = answer.status, retry_after(answer.headers.get("Retry-After"), time.time())
        except (aiohttp.ClientError, TimeoutError) as error:
            self._warn(str(error) or type(error).__name__)
        else:
            if 200 <= status < 300:
                self._down = False
                return None
            if status not in (408, 429) and status < 500:
                raise SinkError(f"the webhook answered {status}")
            self._warn(f"answered {status}")
            if asked is not None:
                return min(asked, LONGEST_ASKED)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(tries, 16))
        return pause * random.uniform(0.5, 1)

    def _warn(self, why: str) -> None:
        """Once an outage, not once a try."""
        if not self._down:
            _log.warning("webhook: %s; trying again", why)
        self._down = True

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT))
        return self._session

    def _headers(self, body: bytes) -> dict[str, str]:
        signature = hmac.new(self._secret, body, hashlib.sha256).hexdigest()
        return {"Content-Type": "application/json", "X-Ctxscore-Signature": f"sha256={signature}"}
