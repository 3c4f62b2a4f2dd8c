"""Coverage-guided fuzzing of decoding and extraction: bytes as a sender may send them, through to runs.

Run with atheris, which is no dependency of the tests: `python -m tests.fuzz.corpus FOLDER`, then
`python -m tests.fuzz.fuzz_extract FOLDER -max_total_time=60`. All further arguments are libFuzzer's. The first byte tells how the rest is read: as an OTLP
request in JSON or protobuf, or as the value of attributes on spans of every role.
"""

from __future__ import annotations

import json
import sys

import atheris

with atheris.instrument_imports(include=["otel_ctxscore"]):
    from otel_ctxscore.cli.explain_text import render, to_json
    from otel_ctxscore.core import codec
    from otel_ctxscore.core.conventions import Options, extract
    from otel_ctxscore.core.spans import LogRecord, Span, Trace

OPTIONS = Options(prompt_separator="\n\n", min_document_score=0.1, max_contexts=5)
TRACE = b"\x01" * 16
SLOTS: tuple[dict[str, str], ...] = (
    {"openinference.span.kind": "RETRIEVER", "output.value": ""},
    {"openinference.span.kind": "AGENT", "input.value": "", "output.value": ""},
    {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.result": ""},
    {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "", "gen_ai.output.messages": ""},
    {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": ""},
    {"traceloop.span.kind": "workflow", "traceloop.entity.input": "", "traceloop.entity.output": ""},
    {"langsmith.span.kind": "llm", "gen_ai.prompt": "", "gen_ai.completion": ""},
    {"ai.operationId": "ai.rerank", "ai.documents": "", "ai.ranking": ""},
)
"""Attributes of spans; the fuzzed text stands in place of the empty ones."""


def one(data: bytes) -> None:
    """One input. Whatever it is, nothing may be raised but the decoder's own refusal."""
    if not data:
        return
    kind, body = data[0] % 3, data[1:]
    traces = [_trace_of(body)] if kind == 2 else _decoded(body, "json" if kind else "proto")
    for trace in traces:
        extraction = extract(trace, OPTIONS)
        json.dumps(to_json(trace, extraction), allow_nan=False).encode()
        render(trace, extraction).encode()
        if (extraction.outcome is None) != any(run.refused is None for run in extraction.runs):
            raise AssertionError("the outcome does not agree with the runs")


def _decoded(body: bytes, encoding: codec.Encoding) -> list[Trace]:
    spans: dict[bytes, list[Span]] = {}
    logs: dict[bytes, list[LogRecord]] = {}
    for take in (codec.take_traces, codec.take_logs):
        try:
            taken = take(body, encoding, lambda _: True, keep_own=True)
        except codec.Malformed:
            continue
        for kept in taken.spans:
            spans.setdefault(kept.trace_id, []).append(codec.open_span(kept))
        for log in taken.logs:
            logs.setdefault(log.trace_id, []).append(codec.open_log(log))
    return [Trace(i, tuple(spans.get(i, ())), tuple(logs.get(i, ()))) for i in {*spans, *logs}]


def _trace_of(body: bytes) -> Trace:
    text = body.decode("utf-8", "replace")
    spans = [
        Span(
            TRACE, bytes([number + 1] * 8), b"\x02" * 8, attributes={key: value or text for key, value in slots.items()}
        )
        for number, slots in enumerate(SLOTS)
    ]
    return Trace(TRACE, tuple(spans))


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
