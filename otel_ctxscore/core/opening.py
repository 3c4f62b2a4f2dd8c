"""From an assembled trace of kept bytes to a trace of spans."""

from __future__ import annotations

from otel_ctxscore.core.assembly import Assembled
from otel_ctxscore.core.codec import open_log, open_span
from otel_ctxscore.core.outcomes import Closed
from otel_ctxscore.core.spans import Trace


def open_trace(assembled: Assembled) -> Trace:
    """The trace with its spans and log records as objects, in the order of arrival."""
    return Trace(
        assembled.trace_id,
        tuple(map(open_span, assembled.spans.values())),
        tuple(map(open_log, assembled.logs.values())),
        assembled.closed or Closed.DRAINED,
        tuple(assembled.receipts),
        assembled.redelivered,
    )
