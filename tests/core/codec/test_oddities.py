"""What senders really write, and what they must not: each with the reading that loses nothing else."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_ctxscore.core.codec import (
    SCOPE_NAME,
    Malformed,
    Taken,
    is_evaluation,
    is_evaluation_log,
    open_log,
    open_span,
    sniff,
    take_any,
    take_logs,
    take_traces,
    unframed,
)
from otel_ctxscore.core.codec.evaluations import EVENT_NAMES, MARKS
from otel_ctxscore.core.codec.wire import MAX_DEPTH, Encoding
from otel_ctxscore.core.spans import Span, Value
from tests.core.codec import requests
from tests.core.codec.requests import Json

TRACE = "5b8efff798038103d269b633813fc60c"
SPAN = "eee19b7ec3c1b174"
SPAN_VALUES: Json = {
    "trace_id": bytes.fromhex(TRACE),
    "span_id": bytes.fromhex(SPAN),
    "parent": b"",
    "state": "",
    "name": "retrieve",
    "kind": 1,
    "start": 1,
    "end": 2,
    "attributes": {},
    "dropped": 0,
    "events": [],
    "links": [],
    "status": (0, ""),
    "flags": 0,
}


def everything(trace_id: bytes) -> bool:
    return True


def request(*spans: Json, scope: str = "lib") -> list[Json]:
    filled = [{**SPAN_VALUES, **span} for span in spans]
    return [{"resource": {}, "scopes": [{"name": scope, "version": "", "attributes": {}, "spans": filled}]}]


def body_of(values: list[Json], encoding: Encoding) -> bytes:
    return requests.to_proto(values) if encoding == "proto" else requests.to_json(values)


def json_body(*spans: Json, key: str = "resourceSpans", inner: str = "scopeSpans") -> bytes:
    ids = {"traceId": TRACE, "spanId": SPAN}
    return json.dumps({key: [{inner: [{"spans": [{**ids, **span} for span in spans]}]}]}).encode()


def only(body: bytes, encoding: Encoding = "json") -> Span:
    taken = take_traces(body, encoding, everything)
    assert taken.invalid == 0, taken.complaints
    (kept,) = taken.spans
    return open_span(kept)


both = pytest.mark.parametrize("encoding", ["proto", "json"])


@both
@pytest.mark.trouble("C30")
def test_bad_ids_are_rejected_one_by_one(encoding: Encoding) -> None:
    bad = [
        {"trace_id": bytes(16)},
        {"trace_id": b""},
        {"trace_id": bytes.fromhex("5b8efff7")},
        {"span_id": bytes(8)},
        {"span_id": b"abc"},
    ]
    taken = take_traces(body_of(request(*bad, {"parent": bytes.fromhex(SPAN)}), encoding), encoding, everything)
    assert (len(taken.spans), taken.invalid) == (1, 5)
    assert set(taken.complaints) == {
        "trace id is all zero: 1 of the request",
        "trace id is not of 16 bytes: 2 of the request",
        "span id is all zero: 1 of the request",
        "span id is not of 8 bytes: 1 of the request",
    }
    assert taken.spans[0].parent_span_id == open_span(taken.spans[0]).parent_span_id == b""


@both
@pytest.mark.parametrize("parent", [bytes(8), b"ab", SPAN_VALUES["span_id"]])
def test_a_parent_that_is_none_makes_a_root(encoding: Encoding, parent: bytes) -> None:
    (kept,) = take_traces(body_of(request({"parent": parent}), encoding), encoding, everything).spans
    assert kept.parent_span_id == open_span(kept).parent_span_id == b""


def test_any_order_of_fields() -> None:
    """Protobuf allows it; the ids are then not where known encoders put them."""
    name, parent = b"\x2a\x01n", b"\x22\x08parent_1"
    ids = b"\x0a\x10" + bytes.fromhex(TRACE), b"\x12\x08" + bytes.fromhex(SPAN)
    for fields in ([name, *ids, parent], [*ids, name, parent], [parent, name, *reversed(ids)]):
        span = b"".join(fields)
        scope = b"\x12" + bytes([len(span)]) + span
        resource = b"\x12" + bytes([len(scope)]) + scope
        taken = take_traces(b"\x0a" + bytes([len(resource)]) + resource, "proto", everything)
        assert [(k.trace_id.hex(), k.span_id.hex(), k.parent_span_id) for k in taken.spans] == [
            (TRACE, SPAN, b"parent_1")
        ]
        assert open_span(taken.spans[0]).name == "n"


@both
def test_every_kind_of_value(encoding: Encoding) -> None:
    attributes: dict[str, Value] = {
        "map": {"query": "Which port?"},
        "bytes": bytes.fromhex("706f7274206973203734343320c3a9"),
        "int": 7443,
        "empty": None,
        "array": ["a", 1, None, [True]],
        "text": "",
    }
    assert only(body_of(request({"attributes": attributes}), encoding), encoding).attributes == attributes


@both
def test_a_value_nested_too_deep_is_dropped_and_counted(encoding: Encoding) -> None:
    deep: dict[int, Value] = {}
    for depth in (MAX_DEPTH, MAX_DEPTH + 1, 45, 120):
        value: Value = "x"
        for _ in range(depth):
            value = [value]
        deep[depth] = value
    for depth, value in deep.items():
        if encoding == "proto" and depth == 120:
            continue  # the stock encoder does not write it
        values = request(
            {"attributes": {"deep": value, "flat": 1}, "events": [(1, "e", {"deep": value}), (2, "f", {})]}
        )
        span = only(body_of(values, encoding), encoding)
        fits = depth <= MAX_DEPTH
        assert span.attributes == ({"deep": value, "flat": 1} if fits else {"flat": 1})
        assert [e.name for e in span.events] == (["e", "f"] if fits else ["f"])
        assert (span.dropped_attributes_count, span.dropped_events_count) == ((0, 0) if fits else (1, 1))


def test_text_that_is_not_utf8_in_protobuf() -> None:
    body = requests.to_proto(request({"attributes": {"cut": "é", "b": "x"}, "name": "é"}))
    span = only(body.replace("é".encode(), b"\xc3\x28"), "proto")
    assert (span.name, span.attributes) == ("\ufffd(", {"cut": "\ufffd(", "b": "x"})


def test_a_broken_attribute_is_dropped_and_counted() -> None:
    body = requests.to_proto(request({"attributes": {"k": "good", "q": "bad!"}, "status": (2, "no")}))
    span = only(body.replace(b"\x0a\x04bad!", b"\x0a\x7fbad!"), "proto")
    assert (span.attributes, span.dropped_attributes_count, span.status_code) == ({"k": "good"}, 1, 2)
    assert (span.name, span.status_message) == ("retrieve", "no")
    text = requests.to_json(request({"attributes": {"k": "good", "q": 1, "b": b"raw"}, "status": (2, "no")}))
    for broken in (text.replace(b'{"intValue":"1"}', b'{"intValue":"one"}'), text.replace(b'{"intValue":"1"}', b"[]")):
        span = only(broken)
        assert (span.attributes, span.dropped_attributes_count, span.status_code) == ({"k": "good", "b": b"raw"}, 1, 2)


JSON_VALUES: list[tuple[str, Value]] = [
    ('{"intValue": 5}', 5),
    ('{"intValue": "-9223372036854775808"}', -(2**63)),
    ('{"doubleValue": null}', None),
    ('{"doubleValue": "NaN"}', None),
    ('{"doubleValue": NaN}', None),
    ('{"doubleValue": "-Infinity"}', float("-inf")),
    ('{"doubleValue": Infinity}', float("inf")),
    ('{"doubleValue": 1}', 1.0),
    ('{"doubleValue": "0.5"}', 0.5),
    ('{"boolValue": false}', False),
    ('{"stringValue": "cut \\ud83d"}', "cut \ufffd"),
    ('{"stringValue": "\\ud83d\\ude00"}', "😀"),
    ('{"stringValue": "\\\\ud83d"}', "\\ud83d"),
    ('{"stringValue": "tab\there"}', "tab\there"),
    ('{"bytesValue": "_-8"}', b"\xff\xef"),
    ('{"arrayValue": {}}', []),
    ('{"arrayValue": {"values": [null, {}]}}', [None, None]),
    ('{"kvlistValue": {"values": null}}', {}),
    ("{}", None),
    ("null", None),
    ('{"newValue": {"a": 1}}', None),
]


@pytest.mark.parametrize(("written", "value"), JSON_VALUES)
def test_values_as_json_writes_them(written: str, value: Value) -> None:
    body = json_body({"attributes": [{"key": "k", "value": 0}]}).replace(b'"value": 0', b'"value": ' + written.encode())
    found = only(body).attributes["k"]
    assert (found, type(found)) == (value, type(value))


def test_bytes_that_are_not_utf8_in_json() -> None:
    assert only(json_body({"name": "@@"}).replace(b"@@", b"\xc3\x28")).name == "\ufffd("


@pytest.mark.parametrize(
    "span",
    [
        {
            "kind": "SPAN_KIND_SERVER",
            "status": {"code": "STATUS_CODE_ERROR"},
            "startTimeUnixNano": "1760000000000000000",
        },
        {"kind": 2, "status": {"code": 2}, "startTimeUnixNano": 1760000000000000000, "name": None, "events": None},
        {"kind": "2", "status": {"code": "2"}, "startTimeUnixNano": 1760000000000000000, "flags": 257, "x": {"y": []}},
    ],
)
def test_numbers_and_enums_as_json_writes_them(span: Json) -> None:
    found = only(json_body(span))
    assert (found.kind, found.status_code, found.start_ns) == (2, 2, 1760000000000000000)


def test_other_spellings_of_a_json_request() -> None:
    spans = json.loads(json_body({"attributes": [{"key": "snake_key", "value": {"stringValue": "v"}}]}))[
        "resourceSpans"
    ]
    ids = {
        "trace_id": base64.b64encode(bytes.fromhex(TRACE)).decode(),
        "span_id": base64.b64encode(bytes.fromhex(SPAN)).decode(),
    }
    snake = {**ids, "attributes": [{"key": "snake_key", "value": {"string_value": "v"}}]}
    tempo = [
        {"instrumentationLibrarySpans": [{"instrumentationLibrary": {"name": "lib"}, **spans[0]["scopeSpans"][0]}]}
    ]
    inside = json.loads(json.dumps(spans).replace("traceId", "trace_id").replace("spanId", "span_id"))
    prefixed = json.loads(json.dumps(spans).replace(TRACE, f"0x{TRACE}").replace(SPAN, f"0x{SPAN}"))
    bodies: list[Any] = [
        {"resourceSpans": spans},
        {"resourceSpans": inside},
        {"resourceSpans": prefixed},
        spans,
        {"resource_spans": [{"scope_spans": [{"spans": [snake]}]}]},
        [{"scope_spans": [{"spans": [snake]}]}],
        {"batches": tempo},
    ]
    found = [only(json.dumps(body).encode()) for body in bodies]
    assert {(span.trace_id.hex(), span.span_id.hex(), str(span.attributes)) for span in found} == {
        (TRACE, SPAN, "{'snake_key': 'v'}")
    }
    assert found[-1].scope.name == "lib"


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"resourceSpans": null}', b' {"resourceSpans": [{}]} '])
def test_empty_json_requests(body: bytes) -> None:
    assert take_traces(body, "json", everything) == Taken()


MALFORMED_JSON = [
    b"",
    b"hello",
    b"1",
    b'{"resourceSpans": 5}',
    b'{"resourceSpans": [{"scopeSpans": [{"spans": [',
    b'{"metrics": []}',
    b'[{"a": 1}]',
    b"[1]",
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", MALFORMED_JSON)
def test_malformed_json(body: bytes) -> None:
    with pytest.raises(Malformed) as caught:
        take_traces(body, "json", everything)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("span", ["5", "[]", '"x"', "null", '{"traceId": 5}', '{"attributes": 1}'])
def test_a_json_span_that_is_none_is_invalid_alone(span: str) -> None:
    body = json_body({"name": "@@"}, {}).replace(b'{"traceId"', b"%s, {" % span.encode() + b'"traceId"', 1)
    taken = take_traces(body, "json", everything)
    assert (len(taken.spans), taken.invalid) == (2, 1)


def logs(*records: Json, scope: str = "lib") -> bytes:
    message = ExportLogsServiceRequest()
    scope_logs = message.resource_logs.add().scope_logs.add()
    scope_logs.scope.name = scope
    for record in records:
        ids = {"trace_id": bytes.fromhex(TRACE), "span_id": bytes.fromhex(SPAN)}
        attributes = record.pop("attributes", {})
        body = record.pop("body", None)
        written = scope_logs.log_records.add(**{**ids, **record})
        requests.fill_all(written.attributes, attributes)
        if body is not None:
            requests.fill(written.body, body)
    return message.SerializeToString()


def test_logs_that_can_carry_content_are_kept() -> None:
    body = logs(
        {"event_name": "gen_ai.client.inference.operation.details", "observed_time_unix_nano": 7, "body": {"a": [1]}},
        {"attributes": {"event.name": "gen_ai.choice"}, "time_unix_nano": 8},
        {"body": "an ordinary line", "time_unix_nano": 9},
        {"event_name": "x", "trace_id": b""},
        {"event_name": "x", "span_id": bytes(8)},
    )
    taken = take_logs(body, "proto", everything)
    first, second = [open_log(kept) for kept in taken.logs]
    assert (first.event_name, first.time_ns, first.body) == ("gen_ai.client.inference.operation.details", 7, {"a": [1]})
    assert (second.event_name, second.time_ns) == ("gen_ai.choice", 8)
    assert (taken.invalid, taken.spans, taken.sampled_out) == (0, [], 0)
    assert take_any(body, "proto", everything).logs == taken.logs or len(take_any(body, "proto", everything).logs) == 2
    assert take_logs(body, "proto", lambda trace_id: False).sampled_out == 2


def test_a_broken_attribute_of_a_log_is_dropped_and_counted() -> None:
    body = logs({"event_name": "e", "attributes": {"k": "good", "q": "bad!"}, "body": "text"})
    (kept,) = take_logs(body.replace(b"\x0a\x04bad!", b"\x0a\x7fbad!"), "proto", everything).logs
    log = open_log(kept)
    assert (log.attributes, log.dropped_attributes_count, log.body) == ({"k": "good"}, 1, "text")


@pytest.mark.trouble("C30")
def test_a_request_of_the_other_signal_yields_nothing_and_is_counted() -> None:
    """A logs request decodes as a trace request without an error, and the other way round."""
    captured = bytes.fromhex("0a131211120f0901000000000000002a040a026869")
    as_json = b'{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "hi"}}]}]}]}'
    for body, encoding in ((captured, "proto"), (logs({"time_unix_nano": 1}), "proto"), (as_json, "json")):
        taken = take_traces(body, "json" if encoding == "json" else "proto", everything)
        assert (taken.spans, taken.logs, taken.invalid) == ([], [], 1)
        assert taken.complaints == ("a log record in a request of traces: 1 of the request",)
    for encoding in ("proto", "json"):
        wire: Encoding = "proto" if encoding == "proto" else "json"
        taken = take_logs(body_of(request({}), wire), wire, everything)
        assert (taken.spans, taken.logs, taken.invalid) == ([], [], 1)


@both
@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in MARKS.items() for value in sorted(values)])
@pytest.mark.trouble("C10")
def test_evaluations_are_dropped_at_intake(encoding: Encoding, key: str, value: str) -> None:
    body = body_of(request({"attributes": {"a": 1, key: value}}, {"attributes": {"a": f"{key}={value}"}}), encoding)
    taken = take_traces(body, encoding, everything)
    assert (len(taken.spans), taken.own, taken.invalid) == (1, 1, 0)
    every = take_traces(body, encoding, everything, keep_own=True)
    assert [is_evaluation(open_span(kept)) for kept in every.spans] == [True, False]


@both
def test_our_own_scope_is_dropped_at_intake(encoding: Encoding) -> None:
    body = body_of(request({}, {}, scope=SCOPE_NAME), encoding)
    assert take_traces(body, encoding, everything).own == 2
    assert all(is_evaluation(open_span(k)) for k in take_traces(body, encoding, everything, keep_own=True).spans)


def test_results_of_evaluations_are_dropped_from_logs() -> None:
    body = logs(*({"event_name": name} for name in sorted(EVENT_NAMES)), {"event_name": "gen_ai.choice"})
    taken = take_logs(body, "proto", everything)
    assert (len(taken.logs), taken.own) == (1, len(EVENT_NAMES))
    every = take_logs(body, "proto", everything, keep_own=True).logs
    assert [is_evaluation_log(open_log(kept)) for kept in every] == [True] * len(EVENT_NAMES) + [False]
    assert take_logs(logs({"event_name": "x"}, scope=SCOPE_NAME), "proto", everything).own == 1


@pytest.mark.trouble("C80")
def test_the_prefix_of_a_schema_registry() -> None:
    span = "0a37123512330a105b8efff798038103d269b633813fc60c1208eee19b7ec3c1b1742a01724a120a0b696e7075742e76616c756512030a0171"
    plain = bytes.fromhex(span)
    framed = [bytes.fromhex(prefix + span) for prefix in ("000000000700", "00000000070200", "")]
    assert [unframed(value) for value in framed] == [plain] * 3
    assert unframed(b"\0\0\0\0\x07{}") == b"{}"
    assert only(unframed(framed[0]), "proto").attributes == {"input.value": "q"}
    for cut in (b"\0", b"\0\0\0\0\x07", b"\0\0\0\0\x07\xff", b"\0\0\0\0\x07\x06\x00", b"\0\0\0\0\x07" + b"\xff" * 9):
        with pytest.raises(Malformed, match="schema registry"):
            unframed(cut)


def test_the_records_of_a_mixed_topic() -> None:
    cut = bytes.fromhex("0a37123512330a105b8efff798038103d269b633813fc60c1208eee19b7ec3")
    for value in (cut, b"hello"):
        assert sniff(value) == "proto"
        with pytest.raises(Malformed, match="not OTLP protobuf"):
            take_traces(value, sniff(value), everything)
    assert take_traces(b'{"resourceSpans":[]}', sniff(b'{"resourceSpans":[]}'), everything) == Taken()


def test_a_resource_that_is_broken_rejects_its_spans_alone() -> None:
    message = ExportTraceServiceRequest.FromString(requests.to_proto(request({}) + request({})))
    message.resource_spans[0].resource.attributes.add(key="k").value.string_value = "bad!"
    body = message.SerializeToString().replace(b"\x0a\x04bad!", b"\x0a\x7fbad!")
    taken = take_traces(body, "proto", everything)
    assert (len(taken.spans), taken.invalid) == (1, 1)
