"""`otel-ctxscore export`."""

from __future__ import annotations

import sys
from typing import Any

import click

from otel_ctxscore.cli.admin import Admin, asks_admin
from otel_ctxscore.cli.run_filters import run_filters
from otel_ctxscore.core import unseen


@click.command("export")
@run_filters
@click.option(
    "--format",
    "form",
    help="A line a run, in the form of labels; or a row a context.",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    show_default=True,
)
@click.option("--labels", is_flag=True, help="Only what people say: a line for each run and person.")
@click.option("--blank", is_flag=True, help="Without verdicts: lines that people fill in, and `label` keeps.")
@asks_admin
def command(form: str, labels: bool, blank: bool, admin: Admin, **filters: Any) -> None:
    """Write the recent runs of a running service to standard output, the newest first.

    A line holds the query, the contexts with the judge's verdicts, and the response, in the form that labels have. To
    label runs, take --blank: who fills it in has not seen what the judge says, and `label` keeps it. With --labels the
    verdicts are those of people, and `calibrate --labels` reads them, as JSON lines or CSV.
    """
    if labels and blank:
        raise click.UsageError("give either --labels or --blank")
    kind = "labels" if labels else "runs"
    only = {"verdicts": "none"} if blank else {}
    for piece in admin.stream("export", {"kind": kind, "format": form, **only, **filters}):
        # A file gets every character as it is, so not by `click.echo`, which leaves out what only a terminal obeys.
        sys.stdout.write(unseen.plain(piece) if sys.stdout.isatty() else piece)
