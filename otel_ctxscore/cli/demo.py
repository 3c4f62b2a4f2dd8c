"""`otel-ctxscore demo`."""

from __future__ import annotations

import asyncio
import signal

import click

from otel_ctxscore.cli.finite import Finite
from otel_ctxscore.cli.leaving import leave
from otel_ctxscore.telemetry import configure_logging


@click.command("demo")
@click.option("--seconds", type=Finite(min=5), default=40.0, show_default=True, help="Longest that it runs.")
@click.option("--keep", is_flag=True, help="Stay up afterwards, with the page to look at, until Ctrl-C.")
def command(seconds: float, keep: bool) -> None:
    """Show the main job: traces in, scores out, a retrieval regression that is seen and alarmed.

    Starts two instances of the service on free ports of this machine, one with the local judge and one with an LLM
    judge (a scripted model, so that no key is needed), sends them the traces of a generated assistant by OTLP, and
    breaks its retrieval half-way. Needs no root and no network.

    Exit code 0 only if the alarm came after the fault and not before.
    """
    from otel_ctxscore.demo.story import play

    signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's own takes over, and both services are closed
    configure_logging("error", "text")  # an alarm is a warning, and the demo tells it itself
    outcome = asyncio.run(play(seconds, click.echo, keep=keep))
    leave(0 if outcome.seen else 1)
