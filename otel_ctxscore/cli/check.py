"""`otel-ctxscore check`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click
import yaml

from otel_ctxscore import config as configuration
from otel_ctxscore import parts
from otel_ctxscore.cli.check_notes import notes
from otel_ctxscore.cli.finite import Finite
from otel_ctxscore.config import Config
from otel_ctxscore.core.errors import ConfigError, under
from otel_ctxscore.ports import AnyScorer, Sink
from otel_ctxscore.security import BearerToken, server_context
from otel_ctxscore.service import sinks, sources
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web import access


@click.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--rate", type=Finite(min=0), metavar="RUNS_PER_MINUTE", help="Say what so many runs would cost.")
@click.option("--effective", is_flag=True, help="Print the configuration as it holds, secrets masked, as YAML.")
def command(file: Path, rate: float | None, effective: bool) -> None:
    """Validate a configuration file without starting anything.

    Makes judge, scorers, extractor, sources and sinks as `serve` does, your own code among them, and asks no network.
    Prints one line for each fault, with the path of the key, and exits with 2; notes say what is allowed and may
    surprise, such as a rubric that the local judge cannot answer. With --rate it says calls, tokens and price a day
    before anything is spent, and how wide the interval of the mean would be; with --effective which value each key has,
    where the file does not give it too.
    """
    config = configuration.load(file)
    off = asyncio.run(_tried(config))
    for note in notes(config, off):
        click.echo(f"note: {note}", err=effective)
    if rate is not None:
        from otel_ctxscore.preview import preview, told

        for line in told(preview(config, rate)):
            click.echo(line)
    if effective:
        click.echo(yaml.safe_dump(configuration.masked(config), sort_keys=False, allow_unicode=True), nl=False)
    click.echo(f"{file}: ok", err=effective)


async def _tried(config: Config) -> Sequence[AnyScorer]:
    """Make the parts as `serve` does, on an event loop: a judge of the user's own may look for one. The scorers that
    are off under that judge. Raises ConfigError with a line for each fault."""
    faults: list[str] = []
    off: list[AnyScorer] = []
    made = (_admin, parts.sampler, parts.limits, parts.reader, parts.wanted, parts.budget, _sources, _files)
    for make in made:
        try:
            make(config)
        except ConfigError as error:
            faults += error.lines
    try:
        _, off = parts.scorers(config, parts.published(parts.judge(config)))
    except ConfigError as error:
        faults += error.lines
    try:
        for sink in sinks(config):
            await _closed(sink)
    except ConfigError as error:
        faults += error.lines
    if faults:
        raise ConfigError(*dict.fromkeys(faults))
    return off


def _admin(config: Config) -> None:
    access.check(config.admin)


async def _closed(sink: Sink) -> None:
    try:
        await sink.close()
    except Exception as error:  # the user's own code
        raise ConfigError(f"sinks: {sink.name} cannot be closed: {type(error).__name__}: {error}") from error


def _sources(config: Config) -> None:
    sources(config, Metrics([]))


def _files(config: Config) -> None:
    """Files that are opened only when the service starts, or later."""
    otlp, kafka = config.sources.otlp, config.sources.kafka
    if otlp is not None and otlp.tls is not None:
        server_context(otlp.tls, "sources.otlp.tls")
    if otlp is not None and otlp.auth is not None:
        with under("sources.otlp", "."):
            BearerToken(otlp.auth.token_file)
    if config.admin.tls is not None:
        server_context(config.admin.tls, "admin.tls")
    letters = kafka.dead_letter.file if kafka is not None and kafka.dead_letter is not None else None
    if letters is not None and (letters.is_dir() or not letters.parent.is_dir()):
        raise ConfigError(f"sources.kafka.dead_letter.file: {letters} can be no file: is its folder there?")
