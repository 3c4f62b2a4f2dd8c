"""The messages of OTLP as this project reads them, built with protobuf's descriptor API.

An embedded message, a string and a `bytes` field share one wire form. So a mirror that declares the spans of a request
as bytes finds their limits without decoding them, and one that declares strings as bytes leaves it to us what to do
with text that is not UTF-8: senders cut long values in the middle of a character, and the stock messages refuse the
whole request for it. Field numbers: opentelemetry-proto v1.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bytes": _Field.TYPE_BYTES,
    "bool": _Field.TYPE_BOOL,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "uint32": _Field.TYPE_UINT32,
    "double": _Field.TYPE_DOUBLE,
    "fixed32": _Field.TYPE_FIXED32,
    "fixed64": _Field.TYPE_FIXED64,
}

# A name that ends in * is repeated.
_SPAN = {
    "trace_id": (1, "bytes"),
    "span_id": (2, "bytes"),
    "trace_state": (3, "bytes"),
    "parent_span_id": (4, "bytes"),
    "name": (5, "bytes"),
    "kind": (6, "int32"),
    "start": (7, "fixed64"),
    "end": (8, "fixed64"),
    "dropped_attributes_count": (10, "uint32"),
    "dropped_events_count": (12, "uint32"),
    "status": (15, "Status"),
    "flags": (16, "fixed32"),
}
_LOG = {
    "time": (1, "fixed64"),
    "dropped_attributes_count": (7, "uint32"),
    "trace_id": (9, "bytes"),
    "span_id": (10, "bytes"),
    "observed": (11, "fixed64"),
    "event_name": (12, "bytes"),
}
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Request": {"resources*": (1, "Resources")},
    "Resources": {"resource": (1, "bytes"), "scopes*": (2, "Scopes")},
    "Scopes": {"scope": (1, "bytes"), "records*": (2, "bytes")},
    "Resource": {"attributes*": (1, "KeyValue")},
    "Scope": {"name": (1, "bytes"), "version": (2, "bytes"), "attributes*": (3, "KeyValue")},
    "SpanOutline": {
        **_SPAN,
        "status": (15, "bytes"),
        **{f"{n}*": (f, "bytes") for n, f in (("attributes", 9), ("events", 11), ("links", 13))},
    },
    "Span": {**_SPAN, "attributes*": (9, "KeyValue"), "events*": (11, "Event"), "links*": (13, "Link")},
    "Status": {"message": (2, "bytes"), "code": (3, "int32")},
    "Event": {"time": (1, "fixed64"), "name": (2, "bytes"), "attributes*": (3, "KeyValue")},
    "Link": {"trace_id": (1, "bytes"), "span_id": (2, "bytes"), "attributes*": (4, "KeyValue")},
    "LogOutline": {**_LOG, "body": (5, "bytes"), "attributes*": (6, "bytes")},
    "Log": {**_LOG, "body": (5, "Value"), "attributes*": (6, "KeyValue")},
    "KeyValue": {"key": (1, "bytes"), "value": (2, "Value")},
    "Array": {"values*": (1, "Value")},
    "Map": {"values*": (1, "KeyValue")},
    "Value": {
        "string": (1, "bytes"),
        "boolean": (2, "bool"),
        "integer": (3, "int64"),
        "double": (4, "double"),
        "array": (5, "Array"),
        "map": (6, "Map"),
        "binary": (7, "bytes"),
    },
}
_PACKAGE = "otel_ctxscore.otlp"


def _declare(file: descriptor_pb2.FileDescriptorProto, name: str, fields: dict[str, tuple[int, str]]) -> None:
    message = file.message_type.add(name=name)
    if name == "Value":
        message.oneof_decl.add(name="which")
    for field_name, (number, kind) in fields.items():
        repeated = field_name.endswith("*")
        label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
        field = message.field.add(name=field_name.rstrip("*"), number=number, label=label)
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        else:
            field.type, field.type_name = _Field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
        if name == "Value":
            field.oneof_index = 0


def _build() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="otel_ctxscore/otlp.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        _declare(file, name, fields)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{n}")) for n in _MESSAGES}


MESSAGES = _build()
"""Message classes by name. `SpanOutline` and `LogOutline` leave attributes, events and links as bytes."""
