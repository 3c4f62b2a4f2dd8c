"""Requests of both encodings: the same spans, and the spans that a full parse finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from otel_ctxscore.core.codec import Malformed, fuller, open_log, open_span, sniff, take_any, take_logs, take_traces
from otel_ctxscore.core.codec.wire import Encoding, parent_of
from otel_ctxscore.core.spans import Event, KeptSpan, Link, Resource, Scope, Span, Value
from tests.core.codec import requests

TRACES = Path(__file__).parents[2] / "traces"


def everything(trace_id: bytes) -> bool:
    return True


def opened(body: bytes, encoding: Encoding) -> list[Span]:
    taken = take_traces(body, encoding, everything, keep_own=True)
    assert (taken.invalid, taken.sampled_out, taken.own) == (0, 0, 0)
    return [open_span(kept) for kept in taken.spans]


def walked(body: bytes) -> list[Span]:
    """The spans by the stock messages, every field read in turn: the oracle of the lean way."""
    return [
        _walked_span(
            span,
            Resource(_pairs(r.resource.attributes)),
            Scope(s.scope.name, s.scope.version, _pairs(s.scope.attributes)),
        )
        for r in ExportTraceServiceRequest.FromString(body).resource_spans
        for s in r.scope_spans
        for span in s.spans
    ]


def _walked_span(span: Any, resource: Resource, scope: Scope) -> Span:
    return Span(
        span.trace_id,
        span.span_id,
        parent_of(span.parent_span_id, span.span_id),
        span.name,
        span.kind,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        _pairs(span.attributes),
        tuple(Event(e.name, _pairs(e.attributes), e.time_unix_nano) for e in span.events),
        tuple(Link(x.trace_id, x.span_id, _pairs(x.attributes)) for x in span.links),
        span.status.code,
        span.status.message,
        resource,
        scope,
        span.dropped_attributes_count,
        span.dropped_events_count,
        span.trace_state,
        span.flags,
    )


def _pairs(pairs: Any) -> dict[str, Value]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Value:
    which = value.WhichOneof("value")
    if which is None:
        return None
    if which == "array_value":
        return [_value(one) for one in value.array_value.values]
    if which == "kvlist_value":
        return _pairs(value.kvlist_value.values)
    found: Value = getattr(value, which)
    return None if found != found else found


@given(requests.requests)
def test_lean_equals_full_parse(request_: list[requests.Json]) -> None:
    body = requests.to_proto(request_)
    assert opened(body, "proto") == walked(body)


@given(requests.requests, st.booleans(), st.sampled_from([None, 1]))
def test_json_equals_protobuf(request_: list[requests.Json], upper: bool, indent: int | None) -> None:
    spans = opened(requests.to_json(request_, upper=upper, indent=indent), "json")
    assert spans == opened(requests.to_proto(request_), "proto")


@pytest.mark.parametrize("file", sorted(TRACES.glob("*.otlp.pb")), ids=lambda path: path.name)
def test_real_twins_are_equal(file: Path) -> None:
    spans = opened(file.read_bytes(), "proto")
    assert spans == walked(file.read_bytes())
    assert spans == opened(file.with_suffix(".json").read_bytes(), "json")


@given(requests.requests, st.sets(requests.trace_ids), st.sampled_from(["proto", "json"]))
def test_sampling_keeps_exactly_the_traces_it_keeps(
    request_: list[requests.Json], kept: set[bytes], encoding: Encoding
) -> None:
    body = requests.to_proto(request_) if encoding == "proto" else requests.to_json(request_)
    taken = take_traces(body, encoding, kept.__contains__, keep_own=True)
    expected = [span for span in opened(body, encoding) if span.trace_id in kept]
    assert [open_span(one) for one in taken.spans] == expected
    assert taken.sampled_out == len(opened(body, encoding)) - len(expected)
    for one, span in zip(taken.spans, expected, strict=True):
        assert (one.trace_id, one.span_id, one.parent_span_id) == (span.trace_id, span.span_id, span.parent_span_id)


def read_all(body: bytes, encoding: Encoding) -> None:
    for take in (take_traces, take_logs, take_any):
        try:
            taken = take(body, encoding, everything)
        except Malformed:
            continue
        for span in taken.spans:
            open_span(span)
        for log in taken.logs:
            open_log(log)


@given(st.binary(max_size=300), st.sampled_from(["proto", "json"]))
def test_any_bytes_are_read_or_malformed(body: bytes, encoding: Encoding) -> None:
    read_all(body, encoding)
    read_all(body, sniff(body))


@given(requests.requests, st.data(), st.sampled_from(["proto", "json"]))
def test_a_damaged_request_is_read_or_malformed(
    request_: list[requests.Json], data: st.DataObject, encoding: Encoding
) -> None:
    """What intake took can be opened, whatever is wrong inside."""
    body = bytearray(requests.to_proto(request_) if encoding == "proto" else requests.to_json(request_))
    if body:
        for _ in range(data.draw(st.integers(1, 3))):
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    read_all(bytes(body), encoding)


@given(st.lists(requests.spans, min_size=3, max_size=3))
def test_the_fuller_of_duplicates_does_not_depend_on_their_order(spans: list[requests.Json]) -> None:
    ids = {"trace_id": b"t" * 16, "span_id": b"s" * 8}
    scope = {"name": "", "version": "", "attributes": {}, "spans": [{**span, **ids} for span in spans]}
    a, b, c = take_traces(
        requests.to_proto([{"resource": {}, "scopes": [scope]}]), "proto", everything, keep_own=True
    ).spans
    assert fuller(a, b).raw == fuller(b, a).raw
    assert fuller(fuller(a, b), c).raw == fuller(a, fuller(b, c)).raw
    assert fuller(a, a) is a
    _ended_first(a, b)


def _ended_first(a: KeptSpan, b: KeptSpan) -> None:
    ended = {one.raw: open_span(one).end_ns > 0 for one in (a, b)}
    assert ended[fuller(a, b).raw] == any(ended.values())


def test_sniffing_real_requests() -> None:
    for file in TRACES.glob("*.otlp.*"):
        assert sniff(file.read_bytes()) == ("json" if file.suffix == ".json" else "proto")
    assert sniff(b"\xef\xbb\xbf \n[]") == "json"
    assert sniff(json.dumps({"resourceSpans": []}, indent=1).encode()) == "json"
