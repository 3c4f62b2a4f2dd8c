"""From kept bytes to spans and log records, when their trace is due."""

from __future__ import annotations

from otel_ctxscore.core.codec import json, proto
from otel_ctxscore.core.codec.wire import Wire
from otel_ctxscore.core.spans import KeptLog, KeptSpan, LogRecord, Origin, Span


def open_span(kept: KeptSpan) -> Span:
    """The whole span. What intake took can be opened; an attribute or event that is broken inside, or nested
    deeper than `MAX_DEPTH`, is left out and counted in the span's own dropped counts."""
    return _wire(kept.origin).open_span(kept.raw, kept.origin)


def open_log(kept: KeptLog) -> LogRecord:
    """The whole log record, on the terms of `open_span`."""
    return _wire(kept.origin).open_log(kept.raw, kept.origin)


def fuller(a: KeptSpan, b: KeptSpan) -> KeptSpan:
    """Of two that bear the same ids the one to keep: the ended one, then the one that says more.

    Symmetric and associative, so that the order of arrival does not matter.
    """
    return a if a.raw == b.raw or _fullness(a) > _fullness(b) else b


def _fullness(kept: KeptSpan) -> tuple[bool, int, int, bytes]:
    span = open_span(kept)
    return span.end_ns > 0, len(span.attributes) + len(span.events) + len(span.links), len(kept.raw), kept.raw


def _wire(origin: Origin) -> Wire:
    return json if origin.json else proto
