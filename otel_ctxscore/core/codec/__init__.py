"""OTLP bytes to values, in two steps: what sampling keeps stays bytes until its trace is due.

`take_traces`, `take_logs` and `take_any` read a request; `open_span` and `open_log` read what they kept.
"""

from otel_ctxscore.core.codec.evaluations import SCOPE_NAME, is_evaluation, is_evaluation_log
from otel_ctxscore.core.codec.framing import sniff, unframed
from otel_ctxscore.core.codec.intake import Taken, take_any, take_logs, take_traces
from otel_ctxscore.core.codec.opening import fuller, open_log, open_span
from otel_ctxscore.core.codec.wire import Encoding, Malformed

__all__ = [
    "SCOPE_NAME",
    "Encoding",
    "Malformed",
    "Taken",
    "fuller",
    "is_evaluation",
    "is_evaluation_log",
    "open_log",
    "open_span",
    "sniff",
    "take_any",
    "take_logs",
    "take_traces",
    "unframed",
]
