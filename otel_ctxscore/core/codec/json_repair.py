"""JSON that msgspec does not take, turned into JSON that it takes.

Half a surrogate pair and bytes that are not UTF-8 (senders cut long text in the middle of a character), NaN (written
as such by several languages), a byte order mark, and the snake_case keys of protobuf's own JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any, Generic, TypeVar

import msgspec

from otel_ctxscore.core.codec.wire import Malformed

T = TypeVar("T")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SNAKE = re.compile(r"_([a-z])")
_SNAKE_KEYS = (b'"resource_spans"', b'"resource_logs"', b'"scope_spans"', b'"scope_logs"', b'"trace_id":')
_HEAD = 4096  # enough to hold the first keys of a request


class Decoder(Generic[T]):
    """Decodes one type. Raises Malformed, and nothing else; `called` is what its text says was expected."""

    def __init__(self, kind: Any, called: str = "OTLP/JSON") -> None:
        self._called = called
        self._decode = msgspec.json.Decoder(kind).decode

    def __call__(self, text: bytes | msgspec.Raw) -> T:
        try:
            found: T = self._decode(text)
            return found
        except msgspec.ValidationError as error:
            raise Malformed(f"not {self._called}: {error}") from None
        except (msgspec.DecodeError, RecursionError):
            return self._repaired(bytes(text))

    def _repaired(self, text: bytes) -> T:
        try:
            found: T = self._decode(repaired(text))
            return found
        except (msgspec.MsgspecError, RecursionError) as error:
            raise Malformed(f"not {self._called}: {error}") from None


def repaired(text: bytes) -> bytes:
    """The same value in JSON without the faults named above. Raises Malformed where it is no JSON at all."""
    try:
        value = json.loads(text.decode("utf-8-sig", "replace"), strict=False, parse_constant=str)
        return msgspec.json.encode(_clean(value, in_snake_case(text)))
    except (ValueError, RecursionError, OverflowError, msgspec.MsgspecError):
        raise Malformed("not JSON") from None


def in_snake_case(text: bytes) -> bool:
    """Whether a request spells its keys as protobuf's own JSON may. Names of attributes are values, not keys."""
    head = text[:_HEAD]
    return any(key in head for key in _SNAKE_KEYS)


def keys_of(text: bytes) -> frozenset[str]:
    """The keys of the outermost object."""
    return frozenset(Decoder[dict[str, msgspec.Raw]](dict[str, msgspec.Raw])(text))


def _clean(value: Any, snake: bool) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(one, snake) for one in value]
    if isinstance(value, dict):
        return {_camel(key) if snake else _clean(key, snake): _clean(one, snake) for key, one in value.items()}
    return value


def _camel(key: str) -> str:
    return _SNAKE.sub(lambda match: match[1].upper(), key)
