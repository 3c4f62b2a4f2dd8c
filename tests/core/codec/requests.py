"""One request as values, and both of its encodings; made by hypothesis."""

from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

Json = dict[str, Any]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
    st.binary(max_size=6),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
attributes = st.dictionaries(texts, values, max_size=4)
times = st.integers(0, 2**64 - 1)
trace_ids = st.sampled_from([bytes([n]) * 16 for n in range(1, 5)])
span_ids = st.binary(min_size=8, max_size=8).filter(any)
spans = st.fixed_dictionaries(
    {
        "trace_id": trace_ids,
        "span_id": span_ids,
        "parent": st.just(b"") | span_ids,
        "state": texts,
        "name": texts,
        "kind": st.integers(0, 5),
        "start": times,
        "end": times,
        "attributes": attributes,
        "dropped": st.integers(0, 9),
        "events": st.lists(st.tuples(times, texts, attributes), max_size=2),
        "links": st.lists(st.tuples(trace_ids, span_ids, attributes), max_size=2),
        "status": st.tuples(st.integers(0, 2), texts),
        "flags": st.integers(0, 2**32 - 1),
    }
)
scopes = st.fixed_dictionaries(
    {"name": texts, "version": texts, "attributes": attributes, "spans": st.lists(spans, max_size=3)}
)
requests = st.lists(st.fixed_dictionaries({"resource": attributes, "scopes": st.lists(scopes, max_size=2)}), max_size=2)


def fill(value: AnyValue, given: object) -> None:
    """Write a Python value into protobuf's AnyValue."""
    match given:
        case None:
            pass
        case bool():
            value.bool_value = given
        case int():
            value.int_value = given
        case float():
            value.double_value = given
        case str():
            value.string_value = given
        case bytes():
            value.bytes_value = given
        case list():
            value.array_value.SetInParent()
            for one in given:
                fill(value.array_value.values.add(), one)
        case dict():
            value.kvlist_value.SetInParent()
            fill_all(value.kvlist_value.values, given)


def fill_all(pairs: Any, given: Json) -> None:
    for key, one in given.items():
        fill(pairs.add(key=key).value, one)


def to_proto(request: list[Json]) -> bytes:
    message = ExportTraceServiceRequest()
    for resources in request:
        resource_spans = message.resource_spans.add()
        fill_all(resource_spans.resource.attributes, resources["resource"])
        for scope in resources["scopes"]:
            scope_spans = resource_spans.scope_spans.add()
            scope_spans.scope.name, scope_spans.scope.version = scope["name"], scope["version"]
            fill_all(scope_spans.scope.attributes, scope["attributes"])
            for span in scope["spans"]:
                _fill_span(scope_spans.spans.add(), span)
    return message.SerializeToString()


def _fill_span(message: Any, span: Json) -> None:
    message.trace_id, message.span_id, message.parent_span_id = span["trace_id"], span["span_id"], span["parent"]
    message.trace_state, message.name, message.kind, message.flags = (
        span["state"],
        span["name"],
        span["kind"],
        span["flags"],
    )
    message.start_time_unix_nano, message.end_time_unix_nano = span["start"], span["end"]
    message.dropped_attributes_count = span["dropped"]
    message.status.code, message.status.message = span["status"]
    fill_all(message.attributes, span["attributes"])
    for time, name, given in span["events"]:
        event = message.events.add(time_unix_nano=time, name=name)
        fill_all(event.attributes, given)
    for trace_id, span_id, given in span["links"]:
        link = message.links.add(trace_id=trace_id, span_id=span_id)
        fill_all(link.attributes, given)


def json_value(given: object) -> Json:
    match given:
        case None:
            return {}
        case bool():
            return {"boolValue": given}
        case int():
            return {"intValue": str(given) if given % 2 else given}
        case float():
            return {"doubleValue": given}
        case str():
            return {"stringValue": given}
        case bytes():
            return {"bytesValue": base64.b64encode(given).decode()}
        case list():
            return {"arrayValue": {"values": [json_value(one) for one in given]}}
        case dict():
            return {"kvlistValue": {"values": json_attributes(given)}}
    raise TypeError(given)


def json_attributes(given: Json) -> list[Json]:
    return [{"key": key, "value": json_value(one)} for key, one in given.items()]


def to_json(request: list[Json], *, upper: bool = False, indent: int | None = None) -> bytes:
    document = {
        "resourceSpans": [
            {
                "resource": {"attributes": json_attributes(resources["resource"])},
                "scopeSpans": [
                    {
                        "scope": {
                            "name": s["name"],
                            "version": s["version"],
                            "attributes": json_attributes(s["attributes"]),
                        },
                        "spans": [_json_span(span, upper) for span in s["spans"]],
                        "unknownField": {"a": [1]},
                    }
                    for s in resources["scopes"]
                ],
            }
            for resources in request
        ]
    }
    separators = None if indent else (",", ":")
    return json.dumps(document, indent=indent, separators=separators, allow_nan=False).encode()


def _json_span(span: Json, upper: bool) -> Json:
    def written(given: bytes) -> str:
        return given.hex().upper() if upper else given.hex()

    return {
        "traceId": written(span["trace_id"]),
        "spanId": written(span["span_id"]),
        "parentSpanId": written(span["parent"]),
        "traceState": span["state"],
        "name": span["name"],
        "kind": span["kind"],
        "startTimeUnixNano": str(span["start"]),
        "endTimeUnixNano": span["end"],
        "attributes": json_attributes(span["attributes"]),
        "droppedAttributesCount": span["dropped"],
        "events": [{"timeUnixNano": str(t), "name": n, "attributes": json_attributes(a)} for t, n, a in span["events"]],
        "links": [
            {"traceId": written(t), "spanId": written(s), "attributes": json_attributes(a)} for t, s, a in span["links"]
        ],
        "status": {"code": span["status"][0], "message": span["status"][1]},
        "flags": span["flags"],
    }
