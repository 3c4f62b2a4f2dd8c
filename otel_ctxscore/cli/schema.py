"""`otel-ctxscore schema`."""

from __future__ import annotations

import json

import click

from otel_ctxscore.config import schema


@click.command("schema")
def command() -> None:
    """Print the JSON schema of the configuration, for editors and other validators."""
    click.echo(json.dumps(schema(), indent=2))
