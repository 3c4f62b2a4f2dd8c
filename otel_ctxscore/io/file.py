"""Files of traces and of runs, told by their content: OTLP in JSON lines, JSON and protobuf, Jaeger and Tempo exports,
and JSON lines `{query, contexts, response?, history?}`; each plain, gzip or zstd."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from otel_ctxscore.core.codec import Encoding, Malformed, sniff, take_any, unframed
from otel_ctxscore.core.codec.jaeger import request_of_trace, requests_of_export
from otel_ctxscore.core.codec.json_repair import Decoder, keys_of
from otel_ctxscore.core.errors import in_words
from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.core.receipts import Receipt
from otel_ctxscore.core.spans import Delivery
from otel_ctxscore.io.file_stream import BROKEN_STREAM, HEAD, Piece, in_a_row, opened, pieces, whole

_OTLP_KEYS = frozenset({"resourceSpans", "resourceLogs", "resource_spans", "resource_logs", "batches"})
_RESOURCE_KEYS = frozenset({"scopeSpans", "scopeLogs", "scope_spans", "scope_logs", "instrumentationLibrarySpans"})
_JAEGER_TRACE_KEYS = frozenset({"spans", "processes"})
_RUN_KEYS = frozenset({"query", "contexts"})
_JAEGER_SPAN_KEYS = frozenset({"traceID", "spanID"})
_ANSWERS = {"trace": frozenset({"trace", "status", "message", "metrics"}), "result": frozenset({"result"})}
"""Keys of answers that hold a request under one of them: of Tempo, and of the third version of Jaeger's API."""
_PROTOBUF_STARTS = (b"\n", b"\0")
_SEEN: dict[str, frozenset[str]] = {
    "a Langfuse API export": frozenset({"trace", "observations"}),
    "a TruLens event row": frozenset({"record", "record_attributes"}),
    "OTLP metrics": frozenset({"resourceMetrics"}),
    "one bare OTLP span without the request around it": frozenset({"traceId", "spanId"}),
    "a span of the SDK's console exporter, which is for people": frozenset({"context", "parent_id", "start_time"}),
    "a span of Zipkin": frozenset({"traceId", "id", "name"}),
    "one bare OTLP span in protobuf's JSON without the request around it": frozenset({"trace_id", "span_id"}),
}
_READ = (
    "read are OTLP (resourceSpans, resourceLogs) as JSON or protobuf, exports of Jaeger (data) and Tempo (batches), "
    "and JSON lines {query, contexts}"
)
_MOST_COMPLAINTS = 100
_MOST_KEYS = 5


class InputError(ValueError):
    """A file of which nothing can be read. The text is one line: what was seen, and what is read."""


@dataclass
class Report:
    """What was not handed on, and why. `unreadable` counts lines and documents; of the complaints, each with file and
    line, the first hundred are kept. `refused` are the files of which nothing could be read, with the reason."""

    sampled_out: int = 0
    own: int = 0
    invalid: int = 0
    unreadable: int = 0
    complaints: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def complain(self, text: str) -> None:
        if len(self.complaints) < _MOST_COMPLAINTS:
            self.complaints.append(text)

    def add(self, other: Report) -> None:
        self.sampled_out += other.sampled_out
        self.own += other.own
        self.invalid += other.invalid
        self.unreadable += other.unreadable
        for text in other.complaints:
            self.complain(text)


def read(
    paths: Iterable[str], keeps: Callable[[bytes], bool], report: Report, *, keep_own: bool = False
) -> Iterator[Delivery | RagRun]:
    """All files as one stream: a delivery for each request, a run for each line that is one. `-` is standard input.

    Nothing but the piece in hand is in memory. A line that cannot be read is a complaint, and reading goes on; a file's
    part of the report is there when the file is read. The source's hold on a delivery is settled when the next one is
    asked for. Raises InputError at a file of which nothing can be read.
    """
    for path in paths:
        yield from _File(path, keeps, report, keep_own).read()


class _File:
    def __init__(self, path: str, keeps: Callable[[bytes], bool], report: Report, keep_own: bool) -> None:
        self._path = path
        self._name = "standard input" if path == "-" else path
        self._keeps = keeps
        self._keep_own = keep_own
        self._reported = report
        self._report = Report()
        self._readable = False
        self._first_fault = "the file is empty"

    def read(self) -> Iterator[Delivery | RagRun]:
        try:
            for number, text in self._pieces():
                yield from self._of_piece(number, text)
        except Malformed as error:
            self._fault(self._name, str(error))
        except OSError as error:
            if not self._readable:
                raise InputError(f"{self._name}: {in_words(error)}") from None
            self._fault(self._name, in_words(error))
        except BROKEN_STREAM as error:
            self._fault(self._name, f"the file is broken or cut ({error})")
        if not self._readable:
            raise InputError(f"{self._name}: {self._first_fault}; {_READ}")
        self._reported.add(self._report)

    def _pieces(self) -> Iterator[Piece]:
        with opened(self._path) as stream:
            head = stream.peek(HEAD)[:HEAD]
            if head[:1] in _PROTOBUF_STARTS and head.strip() and sniff(head) == "proto":
                yield 0, whole(stream)
            else:
                yield from pieces(stream)

    def _of_piece(self, number: int, text: bytes) -> Iterator[Delivery | RagRun]:
        where = f"{self._name}:{number}" if number else self._name
        try:
            for found in self._values(text, where) if number else self._otlp(unframed(text), "proto", where):
                yield found
                if isinstance(found, Delivery):
                    found.receipt.settle()
        except Malformed as error:
            several = in_a_row(text) if number else []
            for line, one in several:
                yield from self._of_piece(number + line, one)
            if not several:
                self._fault(where, str(error))
        else:
            self._readable = True

    def _fault(self, where: str, why: str) -> None:
        if not self._report.unreadable:
            self._first_fault = why
        self._report.unreadable += 1
        self._report.complain(f"{where}: {why}")

    def _values(self, text: bytes, where: str) -> Iterator[Delivery | RagRun]:
        if text.lstrip()[:1] != b"[":
            yield from self._of_object(text, where)
            return
        elements = _array(text)
        if elements and not keys_of(elements[0]).isdisjoint(_RESOURCE_KEYS):
            yield from self._otlp(text, "json", where)
            return
        for element in elements:
            yield from self._of_object(bytes(element), where)

    def _of_object(self, text: bytes, where: str) -> Iterator[Delivery | RagRun]:
        keys = keys_of(text)
        if keys & _OTLP_KEYS:
            yield from self._otlp(text, "json", where)
        elif "data" in keys:
            for request in requests_of_export(text):
                yield from self._otlp(request, "json", where)
        elif keys >= _JAEGER_TRACE_KEYS:
            yield from self._otlp(request_of_trace(text), "json", where)
        elif keys >= _JAEGER_SPAN_KEYS:
            yield from self._otlp(request_of_trace(b'{"spans":[%b]}' % text), "json", where)
        elif key := next((key for key, known in _ANSWERS.items() if key in keys <= known), None):
            yield from self._otlp(bytes(_members(text)[key]), "json", where)
        elif keys & _RUN_KEYS:
            yield _run(text)
        else:
            raise Malformed(_seen(keys))

    def _otlp(self, body: bytes, encoding: Encoding, where: str) -> Iterator[Delivery]:
        taken = take_any(body, encoding, self._keeps, keep_own=self._keep_own)
        self._report.sampled_out += taken.sampled_out
        self._report.own += taken.own
        self._report.invalid += taken.invalid
        for complaint in taken.complaints:
            self._report.complain(f"{where}: {complaint}")
        if taken.spans or taken.logs:
            yield Delivery(taken.spans, Receipt(), taken.logs, source="file")


def _seen(keys: frozenset[str]) -> str:
    """What an object that is none of those that are read seems to be."""
    named = ", ".join(sorted(keys)[:_MOST_KEYS])
    for what, marks in _SEEN.items():
        if keys >= marks:
            return f"{what} (keys {named})"
    if any("." in key for key in keys):
        return f"a flat map of attributes without a span around it (keys {named})"
    return f"an object with the keys {named}" if keys else "an object without keys"


class _Turn(msgspec.Struct, frozen=True):
    """`content` is what chat APIs call the text."""

    role: str
    text: str | None = None
    content: str | None = None

    def __post_init__(self) -> None:
        if self.text is None and self.content is None:
            raise ValueError("Object missing required field `text`")

    @property
    def said(self) -> str:
        return self.text or self.content or ""


class _Passage(msgspec.Struct, frozen=True):
    text: str
    id: str | int | None = None
    score: float | Literal["NaN", "Infinity", "-Infinity"] | None = None


class _Run(msgspec.Struct, frozen=True):
    query: str
    contexts: list[str | _Passage]
    response: str | None = None
    history: list[tuple[str, str] | _Turn] | None = None


_array: Decoder[list[msgspec.Raw]] = Decoder(list[msgspec.Raw])
_members: Decoder[dict[str, msgspec.Raw]] = Decoder(dict[str, msgspec.Raw])
_run_line: Decoder[_Run] = Decoder(_Run, "a line {query, contexts, response?, history?}")


def _run(text: bytes) -> RagRun:
    line = _run_line(text)
    contexts = [_context(one) for one in line.contexts]
    history = [one if isinstance(one, tuple) else (one.role, one.said) for one in line.history or ()]
    return RagRun(line.query, [Retrieval(contexts)], line.response, history)


def _context(one: str | _Passage) -> Context:
    if isinstance(one, str):
        return Context(one)
    score = one.score if isinstance(one.score, float) and math.isfinite(one.score) else None
    return Context(one.text, None if one.id is None else str(one.id), score)
