"""What OTLP over gRPC and over HTTP have in common: a request's way from its bytes to the line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_ctxscore.config.section import Tls
from otel_ctxscore.core.codec import Encoding, Malformed, Taken, take_logs, take_traces
from otel_ctxscore.core.receipts import Receipt
from otel_ctxscore.core.spans import Delivery
from otel_ctxscore.io.inflate import BadEncoding, TooLarge, UnknownEncoding, inflate
from otel_ctxscore.ports import Full, IntakeCounts, Line
from otel_ctxscore.security import BearerToken

Signal = Literal["traces", "logs"]

_TAKES: dict[Signal, Callable[[bytes, Encoding, Callable[[bytes], bool]], Taken]] = {
    "traces": take_traces,
    "logs": take_logs,
}
_RESULTS: dict[type[Exception], str] = {
    Full: "full",
    TooLarge: "too_large",
    Malformed: "malformed",
    BadEncoding: "malformed",
    UnknownEncoding: "unsupported",
}
BODY_SECONDS = 60.0
"""Longest that a sender may take over the body of a request. Exporters give up after 10 s, the Collector after 30."""
_AT_ONCE = 2 << 20
"""A request that inflates to more bytes is inflated and decoded in a thread, so that the loop does not stand still."""
_THREADS = 2
"""Big requests in work at a time: with the limit of each it bounds what they take of memory."""


class OtlpIntake:
    """Takes requests for one receiver, named `source`, and counts them; spans that the line took it counts itself."""

    def __init__(self, source: str, line: Line, counts: IntakeCounts, limit: int) -> None:
        self._source = source
        self._line = line
        self._counts = counts
        self._limit = limit
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="otlp")

    async def take(self, signal: Signal, body: bytes, content_encoding: str, encoding: Encoding) -> Taken:
        """Hand a request to the line, whole or not at all.

        Raises TooLarge, BadEncoding, UnknownEncoding, Malformed: never send it again; Full: send it again later.
        """
        try:
            taken = await self._decoded(partial(self._decode, signal, body, content_encoding, encoding), len(body))
            self._hand_over(taken)
        except tuple(_RESULTS) as error:
            self.refused(_RESULTS[type(error)])
            raise
        self._count(signal, taken)
        return taken

    def refused(self, result: str) -> None:
        """Count a request that was refused: `too_large`, `too_slow`, `unsupported`, `unauthenticated`."""
        self._counts.request(result)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _decoded(self, decode: Callable[[int], Taken], size: int) -> Taken:
        if size <= _AT_ONCE:
            try:
                return decode(min(_AT_ONCE, self._limit))
            except TooLarge:
                if self._limit <= _AT_ONCE:
                    raise
        return await asyncio.get_running_loop().run_in_executor(self._threads, decode, self._limit)

    def _decode(self, signal: Signal, body: bytes, content_encoding: str, encoding: Encoding, limit: int) -> Taken:
        return _TAKES[signal](inflate(body, content_encoding, limit), encoding, self._line.keeps)

    def _hand_over(self, taken: Taken) -> None:
        if not taken.spans and not taken.logs:
            return
        receipt = Receipt()
        self._line.accept(Delivery(taken.spans, receipt, taken.logs, source=self._source))
        receipt.settle()

    def _count(self, signal: Signal, taken: Taken) -> None:
        self._counts.request("partial" if taken.invalid else "ok")
        if signal == "traces":
            counted = {"sampled_out": taken.sampled_out, "invalid": taken.invalid, "own": taken.own}
            for result, n in counted.items():
                if n:
                    self._counts.counted(result, n)


def export_response(signal: Signal, taken: Taken) -> ExportTraceServiceResponse | ExportLogsServiceResponse:
    """The answer to a request that was taken: `partial_success` is set only where something was rejected."""
    detail = "; ".join(taken.complaints)
    if signal == "traces":
        traces = ExportTraceServiceResponse()
        if taken.invalid:
            traces.partial_success.rejected_spans = taken.invalid
            traces.partial_success.error_message = detail
        return traces
    logs = ExportLogsServiceResponse()
    if taken.invalid:
        logs.partial_success.rejected_log_records = taken.invalid
        logs.partial_success.error_message = detail
    return logs


class OtlpReceiver:
    """What both receivers are given, and what neither has to do at its end. `port` is the port it listens on, once
    started."""

    def __init__(
        self,
        listen: str,
        *,
        max_request_size: int,
        counts: IntakeCounts,
        tls: Tls | None = None,
        token_file: Path | None = None,
    ) -> None:
        self._listen = listen
        self._limit = max_request_size
        self._counts = counts
        self._tls = tls
        self._token_file = token_file
        self._token: BearerToken | None = None
        self.port = 0

    def _expected_token(self) -> BearerToken | None:
        """The token that requests must carry. Raises ConfigError where its file holds none."""
        return BearerToken(self._token_file) if self._token_file else None

    async def close(self) -> None:
        """Nothing is left to close: an OTLP request is answered when it is taken."""

    def unhealthy(self) -> str | None:
        return None
