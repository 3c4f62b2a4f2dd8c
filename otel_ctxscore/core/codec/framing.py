"""What stands around a request in a Kafka record or a file: which encoding it is in, and a schema registry's prefix."""

from __future__ import annotations

from otel_ctxscore.core.codec.wire import Encoding, Malformed

_SCHEMA_ID_SIZE = 4
_MAX_INDEXES = 16
_HEAD = 256


def sniff(body: bytes) -> Encoding:
    """The encoding of a request, by its content: JSON if it starts as an object or array.

    A protobuf request starts with 0x0A, which is also a newline, and its next byte may be a brace or a bracket: the
    length of what follows. But then byte 0x12, the tag of its scopes, is near, and JSON holds no such byte.
    """
    head = body[:_HEAD]
    return (
        "json" if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") and b"\x12" not in head else "proto"
    )


def unframed(value: bytes) -> bytes:
    """The value without the prefix that a schema registry's serializer writes: a zero byte, a schema id of 4 bytes and,
    for protobuf, the list of message indexes. A value without the prefix is returned as it is. Raises Malformed where
    the prefix is cut."""
    if value[:1] != b"\0":
        return value
    rest = value[1 + _SCHEMA_ID_SIZE :]
    if sniff(rest) == "json":
        return rest
    count, at = _zigzag(rest, 0)
    if not 0 <= count <= _MAX_INDEXES:
        raise Malformed("the schema registry's prefix is not readable")
    for _ in range(count):
        _, at = _zigzag(rest, at)
    return rest[at:]


def _zigzag(written: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint and the place after it."""
    value = shift = 0
    while True:
        if at >= len(written) or shift > 28:
            raise Malformed("the schema registry's prefix is not readable")
        byte = written[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at
