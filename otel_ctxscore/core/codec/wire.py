"""What the two encodings of OTLP have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, Protocol, TypeVar

from otel_ctxscore.core.spans import LogRecord, Origin, Resource, Scope, Span

In = TypeVar("In")
Out = TypeVar("Out")

Encoding = Literal["proto", "json"]

MAX_DEPTH = 32
"""Levels of nesting an attribute value may have; one that is deeper is dropped and counted as dropped."""

TRACE_ID_SIZE = 16
SPAN_ID_SIZE = 8
NO_TRACE_ID = bytes(TRACE_ID_SIZE)
NO_SPAN_ID = bytes(SPAN_ID_SIZE)
_USUAL = 8 << 10
"""Bytes that resource and scope together may have to be remembered decoded."""


class Malformed(ValueError):  # noqa: N818 -- the text is what an operator reads
    """The bytes are not what they are said to be. The text says why, without quoting them."""


def readable(parts: Iterable[In], read: Callable[[In], Out]) -> Iterator[Out]:
    """What can be read of the parts; `read` raises ValueError for what cannot."""
    for part in parts:
        try:
            found = read(part)
        except ValueError:
            continue
        yield found


def parent_of(written: bytes, span_id: bytes) -> bytes:
    """The parent's id; empty for a root, which is also a span that names itself or no valid id as its parent."""
    return b"" if len(written) != SPAN_ID_SIZE or written in (span_id, NO_SPAN_ID) else written


def number_of(value: float) -> float | None:
    """A double; None for NaN, which JavaScript's exporter writes as null in JSON: both encodings read the same."""
    return value if value == value else None


def deeper(depth: int) -> int:
    """One level down. Raises Malformed below the last level that is read."""
    if depth >= MAX_DEPTH:
        raise Malformed("a value is nested too deep")
    return depth + 1


Described = Callable[[bytes, bytes], tuple[Resource, Scope]]
"""Reads a resource and a scope. Raises Malformed."""


@lru_cache(maxsize=256)
def _known(decode: Described, resource: bytes, scope: bytes) -> tuple[Resource, Scope]:
    """The same of what every request repeats."""
    return decode(resource, scope)


def origin_of(decode: Described, resource: bytes, scope: bytes, *, json: bool) -> Origin:
    """The origin that these bytes describe; requests that say the same share it."""
    size = len(resource) + len(scope)
    if size <= _USUAL:
        return Origin(partial(_known, decode, resource, scope), json=json)
    return Origin(partial(decode, resource, scope), json=json, size=size)


@dataclass(frozen=True, slots=True)
class Group:
    """The spans, or the log records, of one resource and scope: each as the bytes it came in."""

    kind: Literal["spans", "logs"]
    records: Sequence[bytes]
    origin: Origin


class Wire(Protocol):
    """One encoding. Each function raises `Malformed`, and nothing else, for bytes it cannot read; `open_span` and
    `open_log` read whatever an outline was read from: an attribute that is broken inside is left out and counted as
    dropped.

    Of most spans the trace id stands in the first bytes, `HEAD`, so that nothing else is read of those that sampling
    leaves out.
    """

    HEAD: slice

    def trace_id(self, head: bytes) -> bytes:
        """The trace id in the first bytes of a span; b"" where they do not hold one."""

    def groups(self, body: bytes) -> Iterator[Group]:
        """The groups of a request of either signal, nothing of their records decoded."""

    def span_outline(self, raw: bytes) -> tuple[bytes, bytes, bytes, bool]:
        """Trace id, span id, parent span id as written, and whether it is marked as an evaluation."""

    def log_outline(self, raw: bytes) -> tuple[bytes, bytes, str, bool]:
        """Trace id, span id, event name, and whether it speaks of generative AI."""

    def open_span(self, raw: bytes, origin: Origin) -> Span: ...

    def open_log(self, raw: bytes, origin: Origin) -> LogRecord: ...
