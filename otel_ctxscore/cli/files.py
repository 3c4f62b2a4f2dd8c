"""What the commands that read files have in common."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, cast

import click

from otel_ctxscore.core.counting import count
from otel_ctxscore.core.errors import in_words
from otel_ctxscore.io.file import Report

FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...")
CONFIG = click.option("-c", "--config", "path", type=click.Path(path_type=Path), help="Configuration file (YAML).")
READ = """FILE is OTLP (JSON lines as the Collector's file exporter writes them, one JSON request, or protobuf), an
    export of Jaeger or Tempo, or JSON lines {"query": ..., "contexts": [...], "response": ...}; plain, gzip or zstd;
    - is standard input. All FILEs are one stream. What cannot be read is said with its place, and the rest is done;
    exit 1 where of a FILE nothing could be read."""


@contextmanager
def told(passed_over: str = "sampled out") -> Iterator[Report]:
    """A report to read with. Says on standard error what was not read and why, also where reading was broken off, and
    ends with 1 where there was a file of which nothing could be read. `passed_over` is why spans were left out."""
    report = Report()
    try:
        yield report
    finally:
        for complaint in (*report.complaints, *report.refused):
            print(complaint, file=sys.stderr)
        skipped = [
            (report.unreadable, count(report.unreadable, "unreadable piece")),
            (report.invalid, count(report.invalid, "invalid span")),
            (report.sampled_out, f"{count(report.sampled_out, 'span')} {passed_over}"),
        ]
        counted = ", ".join(text for n, text in skipped if n)
        if counted:
            print(f"not read: {counted}", file=sys.stderr)
    if report.refused:
        sys.exit(1)


@contextmanager
def text(path: str) -> Iterator[TextIO]:
    """A file of text; - is standard input. What is no UTF-8 comes as lone surrogates. Raises ClickException where it
    cannot be read."""
    try:
        if path == "-" and sys.stdin is None:
            raise OSError("it is closed")
        with click.open_file(path, encoding="utf-8", errors="surrogateescape") as file:
            yield cast("TextIO", file)
    except OSError as error:
        raise click.ClickException(f"{named(path)}: {in_words(error)}") from None


def named(path: str) -> str:
    """A file as messages name it."""
    return "standard input" if path == "-" else path
