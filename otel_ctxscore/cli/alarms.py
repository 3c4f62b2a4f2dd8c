"""`otel-ctxscore alarms`."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import Any

import click
import requests
from rich.console import Console
from rich.table import Table

from otel_ctxscore.web.access import CSRF_HEADER

SECONDS = 10
URL = click.option(
    "--url", default="http://127.0.0.1:9464", show_default=True, help="Admin address of the running service."
)
TOKEN = click.option(
    "--token-file", type=click.Path(path_type=Path), help="File with the token of admin.auth, where it asks for one."
)


class Admin:
    """The admin address of a running service."""

    def __init__(self, url: str, token_file: Path | None) -> None:
        self._url = url.rstrip("/")
        self._session = requests.Session()
        if token_file is not None:
            try:
                token = token_file.read_text("utf-8").split()[0]
            except (OSError, IndexError) as error:
                raise click.ClickException(f"{token_file}: {getattr(error, 'strerror', None) or 'is empty'}") from None
            self._session.headers["Authorization"] = f"Bearer {token}"

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The answer. Raises ClickException for an error, with what to do about it."""
        try:
            answer = self._session.request(method, f"{self._url}/api/v1/{path}", json=body, timeout=SECONDS)
        except requests.RequestException as error:
            raise click.ClickException(f"{self._url} does not answer: {type(error).__name__}; is it --url?") from None
        if CSRF_HEADER in answer.headers:
            self._session.headers[CSRF_HEADER] = answer.headers[CSRF_HEADER]
        try:
            said = answer.json()
        except ValueError:
            raise click.ClickException(f"{self._url} is no admin address of otel-ctxscore") from None
        if not answer.ok:
            raise click.ClickException(f"{said.get('error', answer.reason)} ({said.get('hint', '')})")
        return said


@click.group("alarms", invoke_without_command=True)
@URL
@TOKEN
@click.pass_context
def command(context: click.Context, url: str, token_file: Path | None) -> None:
    """List the alarms of a running service, or acknowledge one: `alarms ack ID`.

    For each series it says how much evidence there is that its mean fell below the reference: 1 is an alarm.
    """
    context.obj = Admin(url, token_file)
    if context.invoked_subcommand is None:
        found = context.obj.ask("GET", "alarms")
        console = Console(width=None if sys.stdout.isatty() else 160)
        console.print(_series(found["series"]))
        if found["alarms"]:
            console.print()
            console.print(_alarms(found["alarms"]))


@command.command("ack")
@click.argument("known", metavar="ID")
@click.option("--by", default=getpass.getuser, help="Who takes note of it; you, where not given.")
@click.pass_obj
def ack(admin: Admin, known: str, by: str) -> None:
    """Take note of an alarm: its evidence goes back to nothing, and it may rise again."""
    admin.ask("GET", f"alarms/{known}")
    record = admin.ask("POST", f"alarms/{known}/ack", {"by": by})
    click.echo(f"{record['id']}: acknowledged by {record['acknowledged_by'] or 'nobody'} at {record['acknowledged']}")


def _series(rows: list[dict[str, Any]]) -> Table:
    table = Table("service", "scorer", "version", "state", "evidence", "reference", "learned from", box=None)
    for row in sorted(rows, key=lambda row: (row["service"], row["scorer"], row["version"])):
        learned = f"{row['traces']} traces of {row['days']} days"
        table.add_row(
            *(row[name] for name in ("service", "scorer", "version", "state")),
            _number(row["ratio"]), _number(row["reference"]), learned,
        )  # fmt: skip
    return table


def _alarms(rows: list[dict[str, Any]]) -> Table:
    table = Table("alarm", "service", "scorer", "rose", "began", "from", "to", "who moved", "ended", box=None)
    for row in rows:
        moved = row["blame"]["culprit"] if row["blame"] else "-"
        ended = f"{row['ended']} ({row['ended_by']})" if row["ended"] else "-"
        table.add_row(
            *(row[name] for name in ("id", "service", "scorer", "rose", "began")),
            _number(row["reference"]), _number(row["mean"]), moved, ended,
        )  # fmt: skip
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
