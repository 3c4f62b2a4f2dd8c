"""The messages of OTLP as this project reads them, built with protobuf's descriptor API.

An embedded message, a string and a `bytes` field share one wire form. So these messages declare the spans of a request,
and the attributes, events and links of a span, as bytes: their limits are found without decoding them, and one that is
broken inside spoils no other. A mirror of each message declares strings as bytes and reads what is not UTF-8, for
senders cut long values in the middle of a character and the messages with strings refuse all for it: what it read is
mended and read again. Field numbers: opentelemetry-proto v1.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bytes": _Field.TYPE_BYTES,
    "text": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "uint32": _Field.TYPE_UINT32,
    "double": _Field.TYPE_DOUBLE,
    "fixed32": _Field.TYPE_FIXED32,
    "fixed64": _Field.TYPE_FIXED64,
}

# A name that ends in * is repeated.
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Request": {"resources*": (1, "Resources")},
    "Resources": {"resource": (1, "bytes"), "scopes*": (2, "Scopes")},
    "Scopes": {"scope": (1, "bytes"), "records*": (2, "bytes")},
    "Resource": {"attributes*": (1, "bytes")},
    "Scope": {"name": (1, "text"), "version": (2, "text"), "attributes*": (3, "bytes")},
    "Span": {
        "trace_id": (1, "bytes"),
        "span_id": (2, "bytes"),
        "trace_state": (3, "text"),
        "parent_span_id": (4, "bytes"),
        "name": (5, "text"),
        "kind": (6, "int32"),
        "start": (7, "fixed64"),
        "end": (8, "fixed64"),
        "attributes*": (9, "bytes"),
        "dropped_attributes_count": (10, "uint32"),
        "events*": (11, "bytes"),
        "dropped_events_count": (12, "uint32"),
        "links*": (13, "bytes"),
        "status": (15, "bytes"),
        "flags": (16, "fixed32"),
    },
    "Status": {"message": (2, "text"), "code": (3, "int32")},
    "Event": {"time": (1, "fixed64"), "name": (2, "text"), "attributes*": (3, "bytes")},
    "Link": {"trace_id": (1, "bytes"), "span_id": (2, "bytes"), "attributes*": (4, "bytes")},
    "Log": {
        "time": (1, "fixed64"),
        "body": (5, "bytes"),
        "attributes*": (6, "bytes"),
        "dropped_attributes_count": (7, "uint32"),
        "trace_id": (9, "bytes"),
        "span_id": (10, "bytes"),
        "observed": (11, "fixed64"),
        "event_name": (12, "text"),
    },
    "KeyValue": {"key": (1, "text"), "value": (2, "Value")},
    "Array": {"values*": (1, "Value")},
    "Map": {"values*": (1, "KeyValue")},
    "Value": {
        "string": (1, "text"),
        "boolean": (2, "bool"),
        "integer": (3, "int64"),
        "double": (4, "double"),
        "array": (5, "Array"),
        "map": (6, "Map"),
        "binary": (7, "bytes"),
    },
}


def _declare(
    file: descriptor_pb2.FileDescriptorProto, name: str, fields: dict[str, tuple[int, str]], scalars: dict[str, Any]
) -> None:
    message = file.message_type.add(name=name)
    if name == "Value":
        message.oneof_decl.add(name="which")
    for field_name, (number, kind) in fields.items():
        repeated = field_name.endswith("*")
        label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
        field = message.field.add(name=field_name.rstrip("*"), number=number, label=label)
        if kind in scalars:
            field.type = scalars[kind]
        else:
            field.type, field.type_name = _Field.TYPE_MESSAGE, f".{file.package}.{kind}"
        if name == "Value":
            field.oneof_index = 0


def _build(package: str, scalars: dict[str, Any]) -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in _MESSAGES.items():
        _declare(file, name, fields, scalars)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{n}")) for n in _MESSAGES}


MESSAGES = _build("otel_ctxscore.otlp", _SCALARS)
"""Message classes by name."""
LENIENT = _build("otel_ctxscore.lenient", _SCALARS | {"text": _Field.TYPE_BYTES})
"""The same with their text as bytes."""


def mended(lenient: Any) -> bytes:
    """The bytes of a lenient message with U+FFFD for whatever in its text is not UTF-8. Changes the message."""
    _mend(lenient, lenient.DESCRIPTOR.name)
    return bytes(lenient.SerializeToString())


def _mend(message: Any, name: str) -> None:
    for field, value in message.ListFields():
        kind, repeated = _KINDS[name, field.name]
        if kind == "text":
            setattr(message, field.name, value.decode("utf-8", "replace").encode())
        elif kind in _MESSAGES:
            for inner in value if repeated else (value,):
                _mend(inner, kind)


_KINDS = {
    (name, key.rstrip("*")): (kind, key.endswith("*"))
    for name, fields in _MESSAGES.items()
    for key, (_, kind) in fields.items()
}
