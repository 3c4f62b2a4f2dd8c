"""What the commands that read files have in common."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from otel_ctxscore.io.file import Report

FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...")
CONFIG = click.option("-c", "--config", "path", type=click.Path(path_type=Path), help="Configuration file (YAML).")
READ = """FILE is OTLP (JSON lines as the Collector's file exporter writes them, one JSON request, or protobuf), an
    export of Jaeger or Tempo, or JSON lines {"query": ..., "contexts": [...], "response": ...}; plain, gzip or zstd;
    - is standard input. All FILEs are one stream."""


def tell(report: Report) -> None:
    """Say on standard error what was not read, and why."""
    for complaint in report.complaints:
        print(complaint, file=sys.stderr)
    skipped: dict[str, Any] = {
        "unreadable pieces": report.unreadable,
        "invalid spans": report.invalid,
        "spans sampled out": report.sampled_out,
    }
    counted = ", ".join(f"{count} {what}" for what, count in skipped.items() if count)
    if counted:
        print(f"not read: {counted}", file=sys.stderr)
