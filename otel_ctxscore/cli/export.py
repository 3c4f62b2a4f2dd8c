"""`otel-ctxscore export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from otel_ctxscore.cli.admin import TOKEN, URL, Admin
from otel_ctxscore.cli.run_filters import run_filters


@click.command("export")
@run_filters
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@URL
@TOKEN
def command(form: str, url: str, token_file: Path | None, **filters: Any) -> None:
    """Write the recent runs of a running service to standard output, the newest first.

    A line holds the query, the contexts with the judge's verdicts, and the response, in the form that labels have: put
    a person's word in place of the judge's, and `calibrate --labels` reads it.
    """
    for piece in Admin(url, token_file).stream("export", {"format": form, **filters}):
        click.echo(piece, nl=False)
