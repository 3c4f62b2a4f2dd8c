"""Evaluations as OTLP: spans, log events or both, delivered only when the receiver said so."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.trace import ReadableSpan

from otel_ctxscore.config import outlets as cfg
from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.io import otlp_exporters
from otel_ctxscore.io.batcher import Batcher, Partly
from otel_ctxscore.io.daemon_thread import in_daemon_thread
from otel_ctxscore.io.log_events import evaluation_events
from otel_ctxscore.io.otlp_exporters import Exporters, Rejections
from otel_ctxscore.io.spans import evaluation_spans

_log = logging.getLogger(__name__)
Sized = Mapping[str, Any]


class OtlpSink:
    """Sends evaluation spans, log events or both. `content` lets text of queries, contexts and answers leave.

    `batching` are options of `Batcher`.
    """

    name = "otlp"

    def __init__(
        self,
        exporters: Exporters,
        *,
        placement: Literal["child", "linked", "log"] = "child",
        content: bool = False,
        **batching: Any,
    ) -> None:
        self._exporters = exporters
        self._placement = placement
        self._content = content
        self._spans = Batcher[Sequence[ReadableSpan]](
            "otlp", _export("otlp", exporters.spans, exporters.spans_left_out), **batching
        )
        self._logs = Batcher[Sequence[ReadableLogRecord]](
            "otlp logs", _export("otlp logs", exporters.logs, exporters.logs_left_out), **batching
        )

    @classmethod
    def from_config(cls, section: cfg.OtlpSink, *, content: bool) -> OtlpSink:
        """The sink of `sinks.otlp`. Raises ConfigError for TLS files that cannot be read."""
        return cls(otlp_exporters.configured(section), placement=section.placement, content=content)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], *, content: bool) -> OtlpSink | None:
        """The sink of OTEL_EXPORTER_OTLP_*, None where no endpoint is set."""
        exporters = otlp_exporters.from_environment(environ)
        return cls(exporters, content=content) if exporters else None

    async def emit(self, evaluation: Evaluation) -> None:
        """Return when spans and events are delivered; at once where no judge was asked."""
        if self._exporters.spans is not None and self._placement != "log":
            spans = evaluation_spans(evaluation, placement=self._placement, content=self._content)
            if spans:
                await self._spans.send(spans, sum(map(_span_size, spans)))
        if self._exporters.logs is not None:
            records = evaluation_events(evaluation, content=self._content)
            if records:
                await self._logs.send(records, sum(_size(r.log_record.attributes or {}) for r in records))

    async def close(self) -> None:
        """Send what waits. Cancelled, it gives that up and still ends the exporters, whose retries it cuts short."""
        try:
            await self._spans.close()
            await self._logs.close()
        finally:
            for exporter in (self._exporters.spans, self._exporters.logs):
                if exporter is not None:
                    exporter.shutdown()


def _export(name: str, exporter: Any, left_out: Rejections) -> Callable[[Sequence[Sequence[Any]]], Any]:
    """Export in a thread; whether the receiver took it. Raises Partly where it left some out."""

    async def export(units: Sequence[Sequence[Any]]) -> bool:
        batch = list(chain.from_iterable(units))
        result = await in_daemon_thread(lambda: exporter.export(batch))
        rejected = left_out.take()
        if rejected is not None:
            _log.warning("%s: the receiver left out %d of %d: %s", name, rejected.count, len(batch), rejected.message)
            if rejected.count:
                raise Partly(min(rejected.count, len(units)))
        return bool(result.name == "SUCCESS")

    return export


def _span_size(span: ReadableSpan) -> int:
    return _size(span.attributes or {}) + sum(_size(event.attributes or {}) for event in span.events)


def _size(attributes: Sized) -> int:
    """About the bytes of attributes on the wire; four bytes a character of text that is not ASCII."""
    texts = [value for value in attributes.values() if isinstance(value, str)]
    return 32 * len(attributes) + sum(len(text) if text.isascii() else 4 * len(text) for text in texts)
