"""Evaluations as JSON lines in a file: one line a run, as `score --format jsonl` writes them."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from otel_ctxscore.core.errors import ConfigError, with_its_file
from otel_ctxscore.core.lines import to_jsonl
from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.io.batcher import Batcher
from otel_ctxscore.io.daemon_thread import in_daemon_thread
from otel_ctxscore.ports import SinkError

_log = logging.getLogger(__name__)


def encoded(evaluation: Evaluation, *, content: bool, **further: object) -> bytes:
    """The line of an evaluation without its line break, in UTF-8. Lone surrogates become `?`.

    Raises SinkError for what is no JSON.
    """
    try:
        line = {**to_jsonl(evaluation, content=content), **further}
        return json.dumps(line, ensure_ascii=False, allow_nan=False).encode(errors="replace")
    except (TypeError, ValueError) as error:
        raise SinkError(f"the evaluation is no JSON: {error}") from error


class JsonlSink:
    """Appends lines to a file, or to standard output where `path` is `-`.

    Lines are collected for a moment, written in one piece and synced to disk before any of them counts as delivered.
    The file is opened anew for each batch, so that a rotated one is left alone; a write that fails half-way is taken
    back and tried again, and a line that a crash cut off is closed before the next one.
    """

    name = "jsonl"

    def __init__(self, path: Path, *, content: bool = False, **batching: Any) -> None:
        """`content` lets text of queries, contexts and answers leave; `batching` are options of `Batcher`.

        Raises ConfigError where no file can be at `path`: nobody would mend that while the service waits.
        """
        if path.is_dir():
            raise ConfigError(f"sinks.jsonl.path: {path} is a folder; name a file in it")
        if not path.parent.is_dir():
            raise ConfigError(f"sinks.jsonl.path: {path.parent} is no folder that is there; make it first")
        self._path = path
        self._content = content
        self._lines = Batcher[bytes]("jsonl", self._export, **batching)

    async def emit(self, evaluation: Evaluation) -> None:
        """Return when the line is on disk."""
        line = encoded(evaluation, content=self._content) + b"\n"
        await self._lines.send(line, len(line))

    async def close(self) -> None:
        """Write what waits."""
        await self._lines.close()

    async def _export(self, lines: Sequence[bytes]) -> bool:
        text = b"".join(lines)
        write = _write_out if str(self._path) == "-" else lambda text: append(self._path, text)
        try:
            await in_daemon_thread(lambda: write(text))
        except OSError as error:
            _log.warning("jsonl: %s", with_its_file(error))
            return False
        return True


def append(path: Path, text: bytes) -> None:
    """Append text and sync it, or leave the file as it was and raise OSError. A pipe or device is only written."""
    with path.open("ab+", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.write(text)
            return
        end = file.seek(0, os.SEEK_END)
        try:
            _write_all(file.fileno(), _gap(file.fileno(), end) + text)
            os.fsync(file.fileno())
        except OSError:
            with contextlib.suppress(OSError):
                file.truncate(end)
            raise


def _gap(descriptor: int, end: int) -> bytes:
    """A line break where the last line has none."""
    return b"\n" if end and os.pread(descriptor, 1, end - 1) != b"\n" else b""


def _write_all(descriptor: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _write_out(text: bytes) -> None:
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
