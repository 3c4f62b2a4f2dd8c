"""`otel-ctxscore reference`."""

from __future__ import annotations

import click

from otel_ctxscore.config import reference


@click.command("reference")
def command() -> None:
    """Print every key of the configuration with its default and meaning, as YAML to start from."""
    click.echo(reference(), nl=False)
