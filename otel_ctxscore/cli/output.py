"""Standard output whose reader may go away (`| head`)."""

from __future__ import annotations

import os

import click
from rich.console import Console


def echo_if_read(text: str) -> None:
    """Print a line, and go on where nobody reads it: what a command changes must not depend on that."""
    try:
        click.echo(text)
    except BrokenPipeError:
        discard()


class Output(Console):
    """Standard output for tables. That its reader has gone is told as anywhere else, not by an exit of its own."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def discard() -> None:
    """What could not be written, and what would be: the interpreter would try once more at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
