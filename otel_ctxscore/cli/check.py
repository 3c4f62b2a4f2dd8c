"""`otel-ctxscore check`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import yaml

from otel_ctxscore import config as configuration
from otel_ctxscore import parts
from otel_ctxscore.cli.finite import Finite
from otel_ctxscore.config import Config
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.ports import Sink
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
    Prints one line for each fault, with the path of the key, and exits with 2. With --rate it says calls, tokens and
    price a day before anything is spent, and how wide the interval of the mean would be; with --effective which value
    each key has, where the file does not give it too.
    """
    config = configuration.load(file)
    asyncio.run(_tried(config))
    for note in _notes(config):
        click.echo(f"note: {note}", err=effective)
    if rate is not None:
        from otel_ctxscore.preview import preview, told

        for line in told(preview(config, rate)):
            click.echo(line)
    if effective:
        click.echo(yaml.safe_dump(configuration.masked(config), sort_keys=False, allow_unicode=True), nl=False)
    click.echo(f"{file}: ok", err=effective)


async def _tried(config: Config) -> None:
    """Make the parts as `serve` does, on an event loop: a judge of the user's own may look for one. Raises ConfigError
    with a line for each fault."""
    faults: list[str] = []
    made = (_admin, parts.sampler, parts.limits, parts.reader, parts.wanted, _scorers, parts.budget, _sources)
    for make in made:
        try:
            make(config)
        except ConfigError as error:
            faults += error.lines
    try:
        for sink in sinks(config):
            await _closed(sink)
    except ConfigError as error:
        faults += error.lines
    if faults:
        raise ConfigError(*dict.fromkeys(faults))


def _admin(config: Config) -> None:
    access.check(config.admin)


def _scorers(config: Config) -> None:
    parts.scorers(config, parts.published(parts.judge(config)))


async def _closed(sink: Sink) -> None:
    try:
        await sink.close()
    except Exception as error:  # the user's own code
        raise ConfigError(f"sinks: {sink.name} cannot be closed: {type(error).__name__}: {error}") from error


def _sources(config: Config) -> None:
    sources(config, Metrics([]))


def _notes(config: Config) -> list[str]:
    """What is allowed but may surprise."""
    sampling, notes = config.sampling, []
    greater = [rule.name for rule in sampling.rules if rule.rate > sampling.rate]
    if greater:
        notes.append(
            f"sampling.rules {', '.join(greater)} match after assembly: all traces up to the rate"
            f" {max(rule.rate for rule in sampling.rules)} are kept in memory until then"
        )
    if config.sources.otlp is None and config.sources.kafka is None:
        notes.append("no source is configured: the service would read nothing")
    return notes
