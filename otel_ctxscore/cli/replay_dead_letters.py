"""`otel-ctxscore replay-dead-letters`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from otel_ctxscore import config as configuration
from otel_ctxscore.cli.files import CONFIG
from otel_ctxscore.core.counting import count
from otel_ctxscore.core.errors import with_its_file
from otel_ctxscore.ports import ConfigError

if TYPE_CHECKING:
    from otel_ctxscore.io.kafka.replay import Replay


@click.command("replay-dead-letters")
@CONFIG
@click.option("--topic", help="Take the letters of this topic.  [default: dead_letter of the configuration]")
@click.option("--file", type=click.Path(path_type=Path), help="Take the letters of this file.")
@click.option("--dry-run", is_flag=True, help="Only say how many can be read now; send, move and remember nothing.")
def command(path: Path | None, topic: str | None, file: Path | None, dry_run: bool) -> None:
    """Try dead letters again: what can be read now is sent to the topic and partition it came from, as it was.

    The running service scores it from there. Letters come from `sources.kafka.dead_letter` of the configuration, or
    from --topic or --file. What still cannot be read stays, with the reason of today. Of a topic, each letter is tried
    once a run: the group `<group_id>.dead-letters` remembers how far. Interrupted, it can be run again; a letter may
    then be sent twice, and the service merges the spans.

    Prints how many letters can be read and why others cannot. Exit 1 where letters or brokers cannot be reached.
    """
    if topic and file:
        raise click.UsageError("give either --topic or --file")
    if path is None:
        raise click.UsageError("give the service's configuration by -c")
    section = configuration.load(path).sources.kafka
    if section is None:
        raise ConfigError("sources.kafka: is needed, for its brokers and encoding")
    if not topic and not file:
        if section.dead_letter is None:
            raise ConfigError("sources.kafka.dead_letter: is not set; give --topic or --file")
        topic, file = section.dead_letter.topic, section.dead_letter.file
    from otel_ctxscore.io.kafka.replay import Replay

    replay = Replay(section, dry_run=dry_run)
    try:
        asyncio.run(replay.file(file) if file else replay.topic(topic or ""))
    except _troubles() as error:
        raise click.ClickException(with_its_file(error)) from None
    finally:
        _tell(replay, dry_run)


def _troubles() -> tuple[type[Exception], ...]:
    from aiokafka.errors import KafkaError

    return OSError, ValueError, KafkaError


def _tell(replay: Replay, dry_run: bool) -> None:
    result = replay.result
    click.echo(f"readable now{'' if dry_run else ', and sent back'}: {count(result.readable, 'letter')}")
    click.echo(f"still not readable: {count(result.unreadable.total(), 'letter')}")
    for reason, n in result.unreadable.most_common():
        click.echo(f"  {n} {reason}")
    if result.foreign:
        click.echo(f"no dead letter: {count(result.foreign, 'record')}")
