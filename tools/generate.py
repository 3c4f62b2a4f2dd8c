"""Writes the files that are made from the code: `python -m tools.generate`.

With `--check` it writes nothing and exits 1 where a file is not what generation yields.
"""

from __future__ import annotations

import difflib
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click

from dashboards.build import BOARDS
from dashboards.build import text as board
from otel_ctxscore.cli import COMMANDS, group
from otel_ctxscore.config import reference, schema
from otel_ctxscore.core.conventions import page as conventions_page
from otel_ctxscore.telemetry.page import page as metrics_page
from tools.docs.configuration import page as configuration_page
from tools.prometheus_rules import RULES
from tools.prometheus_rules.page import page as records_page
from tools.prometheus_rules.scenarios import scenario_files

ROOT = Path(__file__).resolve().parent.parent


EXIT_CODES = r"""
| exit code | |
|---|---|
| 0 | done, unscored runs included; and where the reader of the output goes away (`\| head`) |
| 1 | input could not be read, or a stated condition is not met: the help of the command says which |
| 2 | usage or configuration: nothing was begun |
| 130 | interrupted by Ctrl-C |

Of input that can be read in part:

* `score`, `explain` and `backfill` go on. Each line, record or span that cannot be read is said with its place and
  counted, and so is each FILE of which nothing could be read; only such a FILE makes it 1, once all others are done.
* `label` keeps each line that it can, says why the others are not kept, and ends with 1 where there was one.
* `calibrate`, `anchors add` and `baseline pin` name the first line that is none, do nothing and end with 1: without it
  their figures would be of something else. Lines that nobody has filled in, whose text is gone or that bear a judge's
  name are no such lines: they are left out and counted.
* `replay-dead-letters` leaves a letter that still cannot be read, and counts it by reason; a file with a line that is
  no letter ends it with 1.

Where a judge fails, that is said on standard error when it happens, each thing once. `score` and `backfill` end with 0
all the same, for unscored runs are results too; `anchors` ends with 1 where a judge was asked and no run has a score,
`calibrate` where no run could be judged.
"""


def _schema() -> str:
    return json.dumps(schema(), indent=2) + "\n"


def _commands() -> str:
    return "\n".join(_command_lines())


def _command_lines() -> Iterator[str]:
    yield "# Commands\n"
    yield "Made from the program by `make generate`. Data goes to standard output, all else to standard error."
    yield EXIT_CODES
    for name in COMMANDS:
        command = importlib.import_module(f"otel_ctxscore.cli.{name.replace('-', '_')}").command
        yield from _command(name, command)


def _command(name: str, command: click.Command) -> Iterator[str]:
    """Its help, and that of its own commands."""
    context = click.Context(command, info_name=f"otel-ctxscore {name}", **group.context_settings)
    yield f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from _command(f"{name} {inner}", command.commands[inner])


FILES: dict[str, Callable[[], str]] = {
    "docs/configuration.md": configuration_page,
    "docs/configuration.yaml": reference,
    "docs/configuration.schema.json": _schema,
    "docs/commands.md": _commands,
    "docs/conventions.md": conventions_page,
    "docs/metrics.md": metrics_page,
    "docs/records.md": records_page,
    **{f"deploy/prometheus/{name}": make for name, make in RULES.items()},
    **{f"dashboards/{name}": partial(board, name) for name in BOARDS},
    **{f"deploy/prometheus/tests/{name}": make for name, make in scenario_files().items()},
}
"""What is made, and by what."""


def main(arguments: list[str]) -> int:
    """Write, or with `--check` compare; the exit code."""
    stale = [name for name, make in FILES.items() if not _settled(ROOT / name, make(), check="--check" in arguments)]
    for name in stale:
        print(f"{name} is not what `make generate` yields", file=sys.stderr)
    return 1 if stale else 0


def _settled(path: Path, text: str, *, check: bool) -> bool:
    """Whether the file holds the text; without `check` it does afterwards."""
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    if found == text:
        return True
    if check:
        sys.stderr.writelines(difflib.unified_diff(found.splitlines(True), text.splitlines(True), str(path), n=0))
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
