"""`otel-ctxscore alarms`."""

from __future__ import annotations

import getpass
import sys
from typing import Any
from urllib.parse import quote

import click
from rich.table import Table

from otel_ctxscore.cli.admin import Admin, asks_admin
from otel_ctxscore.cli.alarm_text import lines
from otel_ctxscore.cli.output import Output
from otel_ctxscore.cli.tables import add_row, plain
from otel_ctxscore.core.counting import count


@click.group("alarms", invoke_without_command=True)
@asks_admin
@click.pass_context
def command(context: click.Context, admin: Admin) -> None:
    """List the alarms of a running service, look into one, `alarms show ID`, or acknowledge it, `alarms ack ID`.

    For each series it says how much evidence there is that its mean fell below the reference: 1 is an alarm.
    """
    given = {name: value for name, value in context.params.items() if value is not None}
    context.default_map = dict.fromkeys(command.commands, given)  # options may stand before `show` and `ack`, or after
    if context.invoked_subcommand is None:
        found = admin.ask("GET", "alarms")
        console = Output(width=None if sys.stdout.isatty() else 160)
        console.print(_series(found["series"]))
        if found["alarms"]:
            console.print()
            console.print(_alarms(found["alarms"]))


@command.command("show")
@click.argument("known", metavar="ID")
@asks_admin
def show(known: str, admin: Admin) -> None:
    """Say what is known about an alarm: since when, how much, where, what else changed, and the worst runs."""
    console = Output(width=None if sys.stdout.isatty() else 160, markup=False, highlight=False)
    for line in lines(admin.ask("GET", f"alarms/{quote(known, safe='')}"), admin.url):
        console.print(plain(line) if isinstance(line, str) else line)


@command.command("ack")
@click.argument("known", metavar="ID")
@click.option("--by", default=getpass.getuser, help="Who takes note of it; you, where not given.")
@asks_admin
def ack(known: str, by: str, admin: Admin) -> None:
    """Take note of an alarm: its evidence goes back to nothing, and it may rise again."""
    # From the list: what is known about one alarm is an inquiry, which takes the service seconds.
    before = next((alarm for alarm in admin.ask("GET", "alarms")["alarms"] if alarm["id"] == known), None)
    if before is not None and before["acknowledged"]:
        click.echo(
            f"{known}: was acknowledged by {before['acknowledged_by'] or 'somebody'} at {before['acknowledged']}"
        )
        return
    record = admin.ask("POST", f"alarms/{quote(known, safe='')}/ack", {"by": by})
    click.echo(f"{record['id']}: acknowledged by {record['acknowledged_by'] or 'nobody'} at {record['acknowledged']}")


def _series(rows: list[dict[str, Any]]) -> Table:
    table = Table("service", "scorer", "version", "state", "evidence", "reference", "learned from", box=None)
    for row in sorted(rows, key=lambda row: (row["service"], row["scorer"], row["version"])):
        learned = f"{count(row['traces'], 'trace')} of {count(row['days'], 'day')}"
        add_row(
            table, *(row[name] for name in ("service", "scorer", "version", "state")),
            _number(row["ratio"]), _number(row["reference"]), learned,
        )  # fmt: skip
    return table


def _alarms(rows: list[dict[str, Any]]) -> Table:
    table = Table(
        "alarm", "service", "scorer", "rose", "began", "reference", "when it rose", "who moved", "ended", box=None
    )
    for row in rows:
        moved = row["blame"]["culprit"] if row["blame"] else "-"
        ended = f"{row['ended']} ({row['ended_by']})" if row["ended"] else "-"
        add_row(
            table, *(row[name] for name in ("id", "service", "scorer", "rose", "began")),
            _number(row["reference"]), _rose(row), moved, ended,
        )  # fmt: skip
    return table


def _rose(row: dict[str, Any]) -> str:
    interval = "" if row["lower"] is None else f" ({_number(row['lower'])} to {_number(row['upper'])})"
    return f"{_number(row['mean'])}{interval}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
