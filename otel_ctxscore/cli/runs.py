"""`otel-ctxscore runs`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from otel_ctxscore.cli.admin import Admin, asks_admin
from otel_ctxscore.cli.explain_text import short
from otel_ctxscore.cli.output import Output
from otel_ctxscore.cli.run_filters import run_filters
from otel_ctxscore.cli.tables import add_row
from otel_ctxscore.core.counting import count
from otel_ctxscore.core.history import MAX_LIMIT

WIDTH = 160
"""Characters of the table, at least."""


@click.command("runs")
@run_filters
@click.option(
    "--sort", type=click.Choice(["worst", "newest"]), default="worst", show_default=True, help="Which come first."
)
@click.option("--limit", type=click.IntRange(1, MAX_LIMIT), default=20, show_default=True, help="Runs, at most.")
@click.option(
    "--format",
    "form",
    help="A table, or the JSON of each run on a line.",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
)
@asks_admin
def command(form: str, admin: Admin, **filters: Any) -> None:
    """List recent runs of a running service, the worst first.

    The page shows the evidence of each at runs/ID, `otel-ctxscore explain --trace-id ID` what was read where.
    """
    found = admin.ask("GET", "runs", query=filters)
    if form == "jsonl":
        for run in found["runs"]:
            click.echo(json.dumps(run))
    else:
        # A terminal that is narrower breaks the lines, and nothing of them is lost.
        width = max(WIDTH, Console().width) if sys.stdout.isatty() else WIDTH
        Output(width=width).print(_table(found["runs"]))
    more = ", and more" if found["next"] else ""
    print(f"{count(len(found['runs']), 'run')} of {found['replica']}{more}", file=sys.stderr)


def _table(runs: list[dict[str, Any]]) -> Table:
    table = Table(box=None)
    for name in ("trace", "run"):  # to be copied, so they are whole even where the other columns suffer for it
        longest = max((len(run[f"{name}_id"] or "-") for run in runs), default=1)
        table.add_column(name, min_width=longest, no_wrap=True)
    for name in ("service", "scores", "outcome", "query", "at"):
        table.add_column(name)
    for run in runs:
        reason = f" ({run['reason']})" if run["reason"] else ""
        cells = (
            run["trace_id"] or "-", run["run_id"], run["service"], _scores(run["scores"]), f"{run['outcome']}{reason}",
            short(run["query"] or "-"), run["at"],
        )  # fmt: skip
        add_row(table, *map(short, cells))
    return table


def _scores(scores: list[dict[str, Any]]) -> str:
    """The lowest value of each scorer."""
    lowest: dict[str, float] = {}
    for score in scores:
        if score["value"] is not None:
            lowest[score["name"]] = min(score["value"], lowest.get(score["name"], score["value"]))
    return " ".join(f"{name} {value:g}" for name, value in lowest.items()) or "-"
