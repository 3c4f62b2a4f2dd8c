"""The options that say which runs are meant: those of `GET /api/v1/runs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from otel_ctxscore.cli.finite import Finite
from otel_ctxscore.core.outcomes import Reason, TraceOutcome

_OPTIONS = (
    click.option("--service", help="Of this service."),
    click.option("--segment", help="Of a segment: its name, with --value."),
    click.option("--value", help="The segment's value."),
    click.option("--scorer", help="By the scores of this scorer; by all that count, where not given."),
    click.option("--below", type=Finite(0, 1), help="With a score below this one, before any scale."),
    click.option("--outcome", type=click.Choice([str(one) for one in TraceOutcome]), help="What became of it."),
    click.option("--reason", type=click.Choice([str(one) for one in Reason]), help="Why there is no score."),
    click.option("--since", help="1h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z."),
    click.option("--until", help="The same, exclusive."),
)


def run_filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which takes them as keyword arguments."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
