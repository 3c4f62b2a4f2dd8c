"""Evaluations posted to a URL, signed."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Awaitable, Callable

from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.io.jsonl import encoded
from otel_ctxscore.io.posting import Poster
from otel_ctxscore.io.results import evaluation_id


class WebhookSink:
    """Posts each evaluation as JSON with `evaluation_id`, the same at every repeat, so that a receiver can leave out
    what it has. Tries and refusals are those of Poster.

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
        self._poster = Poster(self.name, sleep=sleep)

    async def emit(self, evaluation: Evaluation) -> None:
        """Return when the receiver answered 2xx. Raises SinkError where it refuses for good."""
        body = encoded(evaluation, content=self._content, evaluation_id=evaluation_id(evaluation))
        await self._poster.post(self._url, body, self._headers(body))

    async def close(self) -> None:
        """Wait for what is being posted. Cancelled, give it up."""
        await self._poster.close()

    def _headers(self, body: bytes) -> dict[str, str]:
        signature = hmac.new(self._secret, body, hashlib.sha256).hexdigest()
        return {"Content-Type": "application/json", "X-Ctxscore-Signature": f"sha256={signature}"}
