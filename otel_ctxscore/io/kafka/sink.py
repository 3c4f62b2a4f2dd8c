"""Evaluations as OTLP to a topic, keyed by trace id as the Collector keys traces."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, Literal

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from otel_ctxscore.config import outlets as cfg
from otel_ctxscore.core.errors import in_words
from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.io.kafka.client import connection, started
from otel_ctxscore.io.spans import evaluation_spans
from otel_ctxscore.ports import DroppedError, SinkError

log = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0
MAX_BYTES = 64 << 20
"""The brokers have a limit of their own; this one only lets theirs be the one that counts."""

PAUSES = (0.5, 30.0)
"""Seconds between tries while the brokers do not take a record: from, and to at most."""


class KafkaSink:
    """One record an evaluation: an OTLP request with its spans, key = the 32 hex digits of the trace id.

    An outage of the brokers is waited for, as long as the service lives.
    """

    name = "kafka"

    def __init__(
        self, section: cfg.KafkaSink, *, placement: Literal["child", "linked"] = "child", content: bool = False
    ) -> None:
        self._topic = section.topic
        self._connection: dict[str, Any] = connection(section.brokers, section.security, "sinks.kafka.security")
        self._placement = placement
        self._content = content
        self._producer: AIOKafkaProducer | None = None
        self._starting = asyncio.Lock()
        self._closed = False

    async def emit(self, evaluation: Evaluation) -> None:
        spans = evaluation_spans(evaluation, placement=self._placement, content=self._content)
        if not spans:
            return
        value: bytes = encode_spans(spans).SerializeToString()
        key = (evaluation.run.trace_id or "").encode()
        pause = PAUSES[0]
        while not await self._sent(key, value):
            if self._closed:
                raise SinkError("the kafka sink was closed before the brokers took the evaluation")
            await asyncio.sleep(pause)
            pause = min(pause * 2, PAUSES[1])

    async def _sent(self, key: bytes, value: bytes) -> bool:
        """Whether the brokers have the record. Raises DroppedError for one that they will never take."""
        try:
            producer = await self._started()
            await producer.send_and_wait(self._topic, value, key=key)
        except MessageSizeTooLargeError as error:
            raise DroppedError(f"topic {self._topic} takes no record of {len(value)} bytes: {error}") from None
        except (KafkaError, OSError) as error:
            log.warning("kafka sink: %s", in_words(error))
            if not getattr(error, "retriable", True):
                await self._begin_anew()  # one that lost its place among the records sends none any more
            return False
        return True

    async def _started(self) -> AIOKafkaProducer:
        async with self._starting:
            if self._producer is None:
                self._producer = await started(self._connection, max_request_size=MAX_BYTES)
            return self._producer

    async def _begin_anew(self) -> None:
        if self._closed:
            return
        async with self._starting:
            producer, self._producer = self._producer, None
            if producer is not None:
                with contextlib.suppress(KafkaError, TimeoutError):
                    await asyncio.wait_for(producer.stop(), CLOSE_SECONDS)

    async def close(self) -> None:
        """Send what the brokers take now. What waits for them to come back is given up at its next try."""
        self._closed = True
        if self._producer is not None:
            await self._producer.stop()
