"""Traces for tests: from the files of `tests/traces`, and from attributes."""

from __future__ import annotations

import gzip
from pathlib import Path

from otel_ctxscore.core import codec
from otel_ctxscore.core.codec.jaeger import requests_of_export
from otel_ctxscore.core.spans import LogRecord, Span, Trace

TRACES = Path(__file__).parents[2] / "traces"


def traces_in(*bodies: bytes) -> list[Trace]:
    """The traces of several OTLP requests, of spans and of logs, that are one stream. A Jaeger export is read too."""
    spans: dict[bytes, list[Span]] = {}
    logs: dict[bytes, list[LogRecord]] = {}
    for body in (request for one in bodies for request in _requests(one)):
        take = codec.take_logs if b'"resourceLogs"' in body else codec.take_traces
        taken = take(body, _encoding(body), lambda _: True, keep_own=True)
        for kept in taken.spans:
            spans.setdefault(kept.trace_id, []).append(codec.open_span(kept))
        for log in taken.logs:
            logs.setdefault(log.trace_id, []).append(codec.open_log(log))
    return [Trace(i, tuple(spans.get(i, ())), tuple(logs.get(i, ()))) for i in dict.fromkeys([*spans, *logs])]


def _requests(body: bytes) -> list[bytes]:
    is_jaeger = body.lstrip()[:1] == b"{" and b'"traceID"' in body and b'"processes"' in body
    return list(requests_of_export(body)) if is_jaeger else [body]


def _encoding(body: bytes) -> codec.Encoding:
    return "json" if body.lstrip()[:1] == b"{" else "proto"


def body_of(name: str) -> bytes:
    """The bytes of a file, inflated where they are packed."""
    raw = (TRACES / name).read_bytes()
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
