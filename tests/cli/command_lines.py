"""Every command, with a command line that works: what the tests of the command line as a whole go through.

A command, or a parameter that names a file, which is not here makes these tests fail: add it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import click

from otel_ctxscore.cli import COMMANDS

# What stands in a command line below, and what the tests put in its place.
URL, CONFIG, TRACES, LABELS, SCORED, LETTERS, OUT = "{url}", "{config}", "{traces}", "{labels}", "{scored}", "{letters}", "{out}"  # fmt: skip
Arguments = dict[str, list[str]]
"""The arguments of a command line by the name of their parameter."""

_ADMIN: Arguments = {"url": ["--url", URL]}
LINES: dict[str, Arguments] = {
    "serve": {"path": ["-c", CONFIG]},
    "demo": {},
    "score": {"files": [TRACES], "path": ["-c", CONFIG]},
    "explain": {"files": [TRACES], "path": ["-c", CONFIG]},
    "calibrate": {"labels": ["--labels", LABELS], "path": ["-c", CONFIG]},
    "backfill": {"files": [TRACES], "output": ["--output", OUT], "path": ["-c", CONFIG]},
    "replay-dead-letters": {"path": ["-c", CONFIG], "file": ["--file", LETTERS], "dry_run": ["--dry-run"]},
    "check": {"file": [CONFIG]},
    "runs": _ADMIN,
    "export": _ADMIN,
    "label": {"files": [LABELS], **_ADMIN},
    "alarms": _ADMIN,
    "alarms show": {"known": ["a1"], **_ADMIN},
    "alarms ack": {"known": ["a1"], **_ADMIN},
    "anchors add": {"files": [LABELS], "path": ["-c", CONFIG]},
    "anchors list": {"path": ["-c", CONFIG]},
    "anchors run": {"path": ["-c", CONFIG]},
    "baseline pin": {"files": [SCORED], "path": ["-c", CONFIG]},
    "schema": {},
    "reference": {},
    "version": {},
}
SERVERS = frozenset({"serve", "demo"})
"""Commands that stay up."""
GROUPS = frozenset({"anchors", "baseline"})
"""Commands that only hold others."""
FILES: dict[str, frozenset[str]] = {
    "input": frozenset({"files", "labels", "file"}),
    "option": frozenset({"path", "token_file", "ca", "cert", "key"}),
    "output": frozenset({"output", "openmetrics", "write"}),
}
"""Parameters that name a file: one with what the command is about, one of its circumstances, or one that is written."""


def every_command() -> dict[str, click.Command]:
    """Every command, also those that only hold others, by its full name."""
    return dict(
        pair
        for one in COMMANDS
        for pair in _with_its_own(one, importlib.import_module(f"otel_ctxscore.cli.{one.replace('-', '_')}").command)
    )


def _with_its_own(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for inner in command.commands:
            yield from _with_its_own(f"{name} {inner}", command.commands[inner])


def commands() -> dict[str, click.Command]:
    """Every command that does something, by its full name."""
    return {name: command for name, command in every_command().items() if name not in GROUPS}


def file_parameters(command: click.Command) -> list[str]:
    """The names of the parameters of a command that take a file."""
    kinds = (click.Path, click.File)
    named = [one.name or "" for one in command.params if isinstance(one.type, kinds)]
    plain = [one.name or "" for one in command.params if one.name == "files" and one.name not in named]
    return named + plain


def command_line(name: str, values: dict[str, Any], **changed: list[str]) -> list[str]:
    """The arguments of a working command line, with other ones for some parameters."""
    given = {**LINES[name], **changed}
    return [*name.split(), *(text.format(**values) for texts in given.values() for text in texts)]


def option(command: click.Command, parameter: str, value: str) -> list[str]:
    """The arguments that give a parameter a value."""
    [found] = [one for one in command.params if one.name == parameter]
    return [value] if isinstance(found, click.Argument) else [max(found.opts, key=len), value]
