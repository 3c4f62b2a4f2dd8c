"""The real traces again, disturbed: the answer of the index stays what it is, or changes as its texts do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from otel_ctxscore.cli.explain_text import to_json
from otel_ctxscore.core.conventions import extract
from otel_ctxscore.core.spans import Scope, Span, Trace
from tests.core.conventions.index_answers import Answer, agrees, entries
from tests.core.conventions.trace_files import body_of, traces_in

FILES = {name: answer for name, answer in entries() if name.endswith(".otlp.json") and not name.startswith("eval_")}
TEXTS = (
    "The Aurora kettle comes with a 24 month limited warranty that covers the heating element.",
    "Returns are accepted within 30 days of purchase if the item is unused.",
    "The Solis toaster has six browning levels and a crumb tray.",
    "How long is the warranty on the Aurora kettle?",
    "The Aurora kettle has a 24 month limited warranty.",
)

WORDS: dict[str, tuple[str, str, str, str, str]] = {
    "other scripts": ("日本語のドキュメント 🙂", "Ünïcödé ﷽ text", "עברית טקסט", "¿Qué es esto 🙂?", "Así es ✓"),
    "like JSON": ("{not json", "[1, 2", "null and void", "true", "[see above"),
    "like objects": (
        "Document(id=7) is code",
        "foo(bar=1)",
        "<b>bold</b> at 0x12",
        "Is Foo(bar=1) valid?",
        "Use Foo(bar=1)",
    ),
    "like numbers": ("1.5", "2026-01-01", "100%", "42", "7"),
    "like placeholders": ("the word redacted here", "hidden costs", "masked ball", "What is redacted?", "It is hidden"),
    "all the same": ("The same text.", "The same text.", "The same text.", "The same text?", "The same text."),
}


def told(bodies: list[bytes], change: Callable[[Trace], Trace] = lambda trace: trace) -> list[Answer]:
    traces = map(change, traces_in(*bodies))
    return json.loads(json.dumps([to_json(trace, extract(trace)) for trace in traces]))  # type: ignore[no-any-return]


def bodies_of(name: str) -> list[bytes]:
    return [body_of(one) for one in (name, *FILES[name].get("with", []))]


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("name", FILES)
def test_other_words(name: str, words: str) -> None:
    def said(value: Any) -> Any:
        if isinstance(value, str):
            for text, other in zip(TEXTS, WORDS[words], strict=True):
                value = value.replace(text, other)
            return value
        if isinstance(value, list):
            return [said(one) for one in value]
        return {key: said(one) for key, one in value.items()} if isinstance(value, dict) else value

    bodies = [json.dumps(said(json.loads(body)), ensure_ascii=False).encode() for body in bodies_of(name)]
    assert agrees(said(FILES[name]), told(bodies))


def roots(trace: Trace) -> set[bytes]:
    known = {span.span_id for span in trace.spans}
    return {span.span_id for span in trace.spans if span.parent_span_id not in known}


def another_scope(span: Span) -> Span:
    return replace(span, scope=Scope("my.app"))


def another_name(span: Span) -> Span:
    return replace(span, name="operation")


def no_clock(span: Span) -> Span:
    return replace(span, start_ns=0, end_ns=0)


def clocks_backwards(span: Span) -> Span:
    return replace(span, start_ns=10**18 - span.start_ns % 10**17, end_ns=5)


def each(change: Callable[[Span], Span]) -> Callable[[Trace], Trace]:
    return lambda trace: replace(trace, spans=tuple(map(change, trace.spans)))


def below_a_server(trace: Trace) -> Trace:
    server = Span(trace.trace_id, b"\xaa" * 8, name="POST /chat", kind=2, attributes={"http.request.method": "POST"})
    top = roots(trace)
    moved = (replace(s, parent_span_id=server.span_id) if s.span_id in top else s for s in trace.spans)
    return replace(trace, spans=(server, *moved))


def among_others(trace: Trace) -> Trace:
    parent = min(roots(trace))
    kinds: list[dict[str, Any]] = [
        {"db.system": "postgresql", "db.operation": "SELECT"},
        {"http.url": "x"},
        {"db.system": "redis"},
    ]
    others = (Span(trace.trace_id, bytes([0xB0 + i] * 8), parent, attributes=a) for i, a in enumerate(kinds))
    return replace(trace, spans=(*others, *trace.spans))


def with_spans_between(trace: Trace) -> Trace:
    between = [Span(trace.trace_id, bytes([i + 1]) + b"\xcc" * 7, s.parent_span_id) for i, s in enumerate(trace.spans)]
    moved = (replace(s, parent_span_id=b.span_id) for s, b in zip(trace.spans, between, strict=True))
    return replace(trace, spans=(*between, *moved))


def without_its_root(trace: Trace) -> Trace:
    top = roots(trace)
    return replace(trace, spans=tuple(s for s in trace.spans if s.span_id not in top or len(trace.spans) == len(top)))


CHANGES: dict[str, Callable[[Trace], Trace]] = {
    "another scope": each(another_scope),
    "another name": each(another_name),
    "no clock": each(no_clock),
    "clocks backwards": each(clocks_backwards),
    "below a server": below_a_server,
    "among others": among_others,
    "with spans between": with_spans_between,
    "without its root": without_its_root,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", FILES)
def test_other_surroundings(name: str, change: str) -> None:
    assert agrees(FILES[name], told(bodies_of(name), CHANGES[change]))
