"""A file's bytes, inflated where they are compressed, cut into the pieces that hold one JSON value each."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, cast

import msgspec
import zstandard
from isal import isal_zlib

from otel_ctxscore.core.codec.json_repair import repaired
from otel_ctxscore.core.codec.wire import Malformed
from otel_ctxscore.io.inflate import ISAL_ERROR

LARGEST = 256 << 20
"""Bytes of the largest line or document that is read."""
HEAD = 4096
"""Bytes a file's kind is told by."""
_BUFFER = 64 << 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MAGIC_SIZE = 2
_CHUNK = 8 << 10  # of compressed bytes: what one of them can inflate to is held in memory
_LARGEST_ZSTD_WINDOW = 128 << 20  # `zstd --long`
BROKEN_STREAM: tuple[type[Exception], ...] = (EOFError, zstandard.ZstdError, ISAL_ERROR)
"""What reading a file whose compression is broken or cut raises."""

Piece = tuple[int, bytes]
"""The line a piece starts at, counted from 1, and its text."""


@contextmanager
def opened(path: str) -> Iterator[io.BufferedReader]:
    """The file as it is when inflated (gzip, zstd); `-` is standard input. Raises OSError."""
    if path == "-" and sys.stdin is None:
        raise OSError("it is closed")
    with ExitStack() as stack:
        file = cast("io.BufferedReader", sys.stdin.buffer) if path == "-" else stack.enter_context(open(path, "rb"))
        begin = _INFLATERS.get(file.peek(_MAGIC_SIZE)[:_MAGIC_SIZE])
        yield file if begin is None else stack.enter_context(io.BufferedReader(_Inflated(file, begin), _BUFFER))


class _Inflated(io.RawIOBase):
    """The bytes of a file of any number of compressed members. Raises EOFError where the last one is cut."""

    def __init__(self, file: BinaryIO, begin: Callable[[], Any]) -> None:
        self._file = file
        self._begin = begin
        self._member = begin()
        self._rest = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and (chunk := self._rest or self._file.read(_CHUNK)):
            self._ready = memoryview(self._inflate(chunk))
        if not self._ready and not self._member.eof:
            raise EOFError("it ends too early")
        given, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)

    def _inflate(self, chunk: bytes) -> bytes:
        if self._member.eof:
            self._member = self._begin()
        inflated = self._member.decompress(chunk)
        self._rest = self._member.unused_data if self._member.eof else b""
        return bytes(inflated)


def _gzip_member() -> Any:
    return isal_zlib.decompressobj(wbits=31)


def _zstd_frame() -> Any:
    return zstandard.ZstdDecompressor(max_window_size=_LARGEST_ZSTD_WINDOW).decompressobj()


_decoder = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"\s*")
_VALUE = re.compile(r"\n(?=[\[{])")
_INFLATERS: dict[bytes, Callable[[], Any]] = {b"\x1f\x8b": _gzip_member, b"\x28\xb5": _zstd_frame}


def whole(stream: BinaryIO, start: bytes = b"") -> bytes:
    """What is left of the stream, after `start`. Raises Malformed above LARGEST."""
    text = start + stream.read(LARGEST + 1 - len(start))
    if len(text) > LARGEST:
        raise Malformed(f"larger than the {LARGEST >> 20} MiB that one document may have")
    return text


def pieces(stream: BinaryIO) -> Iterator[Piece]:
    """The JSON values of a file: its lines, or the one document that all its lines make up."""
    lines = _lines(stream)
    start = next(lines, None)
    if start is None:
        return
    if _looks_whole(start[1]):
        yield start
        yield from lines
        return
    second = next(lines, None)
    if second is None or (_looks_whole(second[1]) and start[1].strip() != b"["):
        yield from [start] if second is None else [start, second]
        yield from lines
        return
    yield from _document(start, whole(stream, start[1] + second[1]))


def _document(start: Piece, text: bytes) -> Iterator[Piece]:
    """One document of many lines, or several; where it is none, its lines."""
    if _is_json(text):
        yield start[0], text
        return
    if documents := in_a_row(text):
        for before, document in documents:
            yield start[0] + before, document
        return
    for number, line in enumerate(text.splitlines(keepends=True), start[0]):
        if line.strip():
            yield number, line


def in_a_row(text: bytes) -> list[Piece]:
    """The JSON values that stand one after the other in a text, each with the lines before it; one that is broken goes
    on to the next line that begins like a value. None where the text does not begin with one that is whole, or is no
    more than that."""
    written = text.decode("utf-8", "replace")
    found: list[Piece] = []
    at = _after_space(written, 0)
    lines = counted = 0
    while at < len(written):
        try:
            _, end = _decoder.raw_decode(written, at)
        except (ValueError, RecursionError):
            next_one = _VALUE.search(written, at)
            end = next_one.end() if next_one else len(written)
            if not found:
                return []
        lines, counted = lines + written.count("\n", counted, at), at
        found.append((lines, written[at:end].encode()))
        at = _after_space(written, end)
    return found if len(found) > 1 else []


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        try:
            repaired(text)
        except Malformed:
            return False
    return True


def _looks_whole(line: bytes) -> bool:
    """Whether a line can be a JSON value of its own; the first lines of an indented document never look so."""
    text = line.strip()
    return text[:1] + text[-1:] in (b"{}", b"[]")


def _lines(stream: BinaryIO) -> Iterator[Piece]:
    """The lines that are not blank. One above LARGEST is cut there, and its rest passed over."""
    number = 0
    while line := stream.readline(LARGEST):
        number += 1
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line.strip():
            yield number, line
        while len(line) == LARGEST and not line.endswith(b"\n"):
            line = stream.readline(LARGEST)
