"""The command line in this process: what a command prints, and how it ends."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

from otel_ctxscore.cli import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def run(*arguments: str, stdin: bytes | None = b"") -> Ended:
    """Run `otel-ctxscore ARGUMENTS`. Without `stdin` standard input is closed."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(out), redirect_stderr(err), _standing_in(arguments, stdin):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Ended(code, out.getvalue(), err.getvalue())


@contextmanager
def _standing_in(arguments: tuple[str, ...], stdin: bytes | None) -> Iterator[None]:
    text = None if stdin is None else io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))
    with mock.patch.object(sys, "argv", ["otel-ctxscore", *arguments]), mock.patch.object(sys, "stdin", text):
        yield
