"""What the two encodings of OTLP have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from otel_ctxscore.core.model import LogRecord, Origin, Span

In = TypeVar("In")
Out = TypeVar("Out")

Encoding = Literal["proto", "json"]

MAX_DEPTH = 32
"""Levels of nesting an attribute value may have; one that is deeper is dropped and counted as dropped."""

TRACE_ID_SIZE = 16
SPAN_ID_SIZE = 8


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
    valid = len(written) == SPAN_ID_SIZE and written != span_id and any(written)
    return written if valid else b""


def number_of(value: float) -> float | None:
    """A double; None for NaN, which JavaScript's exporter writes as null in JSON: both encodings read the same."""
    return value if value == value else None


def deeper(depth: int) -> int:
    """One level down. Raises Malformed below the last level that is read."""
    if depth >= MAX_DEPTH:
        raise Malformed("a value is nested too deep")
    return depth + 1


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

    A record that starts with `ID_PREFIX` bears its trace id at `ID_PLACE`, in the form `trace_id` reads.
    """

    ID_PREFIX: bytes
    ID_PLACE: slice

    def trace_id(self, written: bytes) -> bytes:
        """The trace id, or b"" for what is none."""

    def groups(self, body: bytes) -> Iterator[Group]:
        """The groups of a request of either signal, nothing of their records decoded."""

    def span_outline(self, raw: bytes) -> tuple[bytes, bytes, bytes, bool]:
        """Trace id, span id, parent span id, and whether it is marked as an evaluation."""

    def log_outline(self, raw: bytes) -> tuple[bytes, bytes, str, bool]:
        """Trace id, span id, event name, and whether it speaks of generative AI."""

    def open_span(self, raw: bytes, origin: Origin) -> Span: ...

    def open_log(self, raw: bytes, origin: Origin) -> LogRecord: ...
