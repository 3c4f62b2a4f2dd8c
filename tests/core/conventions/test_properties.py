"""What never changes the result of extraction, and that no trace makes it raise."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_ctxscore.cli.explain_text import render, to_json
from otel_ctxscore.core.conventions import Extraction, Options, extract
from otel_ctxscore.core.spans import Event, LogRecord, Scope, Span, Trace, Value
from tests.core.conventions.index_answers import entries
from tests.core.conventions.trace_files import body_of, traces_in

FILES = [name for name, _ in entries() if name.endswith(".otlp.json") and "logs" not in name]
SEEDS = st.integers(0, 2**32 - 1)


@cache
def trace_of(name: str) -> Trace:
    (trace,) = traces_in(body_of(name))
    return trace


@cache
def result_of(name: str) -> str:
    return said(trace_of(name), extract(trace_of(name)))


def said(trace: Trace, extraction: Extraction) -> str:
    """Everything an extraction says, as one text."""
    runs = [(replace(run, attributes={}), sorted(run.attributes.items())) for run in extraction.runs]
    return json.dumps(to_json(trace, extraction)) + repr((extraction.hint, runs))


def with_mixed_attributes(span: Span, order: random.Random) -> Span:
    entries = list(span.attributes.items())
    order.shuffle(entries)
    return replace(span, attributes=dict(entries))


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=3, deadline=None)
@given(seed=SEEDS)
def test_order_of_spans_and_attributes_changes_nothing(name: str, seed: int) -> None:
    order = random.Random(seed)
    spans = [with_mixed_attributes(span, order) for span in trace_of(name).spans]
    order.shuffle(spans)
    mixed = replace(trace_of(name), spans=tuple(spans))
    assert said(mixed, extract(mixed)) == result_of(name)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=2, deadline=None)
@given(seed=SEEDS)
def test_repeated_spans_change_nothing(name: str, seed: int) -> None:
    order = random.Random(seed)
    spans = [*trace_of(name).spans, *order.choices(trace_of(name).spans, k=5)]
    order.shuffle(spans)
    doubled = replace(trace_of(name), spans=tuple(spans), logs=trace_of(name).logs * 2)
    assert said(doubled, extract(doubled)) == result_of(name)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, names=st.lists(st.sampled_from(FILES), min_size=2, max_size=4, unique=True))
def test_batches_and_interleaved_traces_change_nothing(seed: int, names: list[str]) -> None:
    order = random.Random(seed)
    groups = [
        {"resourceSpans": [{**resource, "scopeSpans": [{**scope, "spans": [span]}]}]}
        for name in names
        for resource in json.loads(body_of(name))["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    order.shuffle(groups)
    told = {said(trace, extract(trace)) for trace in traces_in(*(json.dumps(group).encode() for group in groups))}
    assert told == {result_of(name) for name in names}


KEYS = sorted({key for name in FILES for span in trace_of(name).spans for key in span.attributes})
EVENTS = sorted({event.name for name in FILES for span in trace_of(name).spans for event in span.events})
EVENT_KEYS = sorted({key for name in FILES for s in trace_of(name).spans for e in s.events for key in e.attributes})
SCOPES = sorted({span.scope.name for name in FILES for span in trace_of(name).spans})
REAL = sorted({v for name in FILES for s in trace_of(name).spans for v in s.attributes.values() if isinstance(v, str)})

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=20)
WORDS = st.sampled_from(
    [
        "content",
        "text",
        "page_content",
        "documents",
        "results",
        "messages",
        "role",
        "user",
        "assistant",
        "tool",
        "parts",
        "type",
        "data",
        "kwargs",
        "lc",
        "id",
        "score",
        "node",
        "metadata",
        "output",
        "input",
        "query",
        "question",
        "answer",
        "args",
        "relevantContext",
        "tool_calls",
        "toolResult",
        "index",
    ]
)


def nested(leaves: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    return st.lists(leaves, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), leaves, max_size=4)


STRUCTURES = st.recursive(SCALARS, nested, max_leaves=12)
JSON_TEXTS = STRUCTURES.map(lambda value: json.dumps(value, default=str))
CUT_TEXTS = st.tuples(st.sampled_from(REAL), st.integers(0, 400)).map(lambda pair: pair[0][: pair[1]])
REPRS = STRUCTURES.map(repr)
VALUES: st.SearchStrategy[Value] = STRUCTURES | JSON_TEXTS | CUT_TEXTS | REPRS | st.sampled_from(REAL)

IDS = st.integers(1, 6).map(lambda number: number.to_bytes(8, "big"))
SPANS = st.builds(
    Span,
    trace_id=st.just(b"\x01" * 16),
    span_id=IDS,
    parent_span_id=IDS | st.just(b""),
    name=st.text(max_size=10) | st.sampled_from(["retrieve", "VectorIndexRetriever.task", "haystack.pipeline.run"]),
    kind=st.integers(-1, 9),
    start_ns=st.integers(0, 2**64 - 1),
    end_ns=st.integers(0, 2**64 - 1),
    attributes=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8),
    events=st.lists(
        st.builds(Event, st.sampled_from(EVENTS), st.dictionaries(st.sampled_from(EVENT_KEYS), VALUES, max_size=4)),
        max_size=3,
    ).map(tuple),
    status_code=st.integers(0, 3),
    scope=st.sampled_from(SCOPES).map(Scope),
    dropped_attributes_count=st.integers(0, 2),
)
LOGS = st.builds(
    LogRecord,
    trace_id=st.just(b"\x01" * 16),
    span_id=IDS,
    event_name=st.sampled_from([*EVENTS, "gen_ai.client.inference.operation.details", "gen_ai.evaluation.result"]),
    body=VALUES,
    attributes=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
)
OPTIONS = st.builds(
    Options,
    min_document_score=st.none() | st.floats(-1, 1),
    max_contexts=st.none() | st.integers(0, 3),
    prompt_separator=st.none() | st.sampled_from(["\n\n", "\n", "---"]),
)


@settings(max_examples=200, deadline=None)
@given(spans=st.lists(SPANS, max_size=6), logs=st.lists(LOGS, max_size=2), options=OPTIONS)
def test_no_trace_raises_and_what_is_said_is_sound(spans: list[Span], logs: list[LogRecord], options: Options) -> None:
    trace = Trace(b"\x01" * 16, tuple(spans), tuple(logs))
    extraction = extract(trace, options)
    assert (extraction.outcome is None) == any(run.refused is None for run in extraction.runs)
    json.dumps(to_json(trace, extraction), allow_nan=False).encode()
    render(trace, extraction).encode()
    for run in extraction.runs:
        assert run.complete is (run.incomplete_reason is None)
        for retrieval in run.retrievals:
            assert bool(retrieval.contexts) is (retrieval.refused is None)
            assert all(context.text.strip() and context.read_from for context in retrieval.contexts)
            scores = [context.document_score for context in retrieval.contexts]
            assert all(score is None or math.isfinite(score) for score in scores)


@settings(max_examples=100, deadline=None)
@given(spans=st.lists(SPANS, max_size=6), seed=SEEDS)
def test_order_of_any_spans_changes_nothing(spans: list[Span], seed: int) -> None:
    distinct = list({span.span_id: span for span in spans}.values())
    trace = Trace(b"\x01" * 16, tuple(distinct))
    random.Random(seed).shuffle(distinct)
    mixed = Trace(b"\x01" * 16, tuple(distinct))
    assert said(mixed, extract(mixed)) == said(trace, extract(trace))
