"""`otel-ctxscore backfill`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from otel_ctxscore import backfill, parts
from otel_ctxscore import config as configuration
from otel_ctxscore.cli.files import CONFIG, told
from otel_ctxscore.cli.judge_faults import heard
from otel_ctxscore.core.counting import count
from otel_ctxscore.core.errors import in_words, with_its_file
from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.evaluation import with_relatives
from otel_ctxscore.io.file import Report
from otel_ctxscore.io.openmetrics import history
from otel_ctxscore.judging import Judging
from otel_ctxscore.ports import ConfigError, Sink
from otel_ctxscore.preview import MINUTES_A_DAY, preview
from otel_ctxscore.telemetry import Metrics


def _moment(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """A time as ISO 8601; without a zone it is UTC. Unix milliseconds."""
    if value is None:
        return None
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no time such as 2026-11-29T08:00 or 2026-11-29T08:00+01:00") from None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def _offsets(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[int, int, int], ...]:
    """Each `PARTITION:FIRST-LAST`."""
    try:
        return tuple(tuple(map(int, value.replace("-", ":").split(":", 2))) for value in values)  # type: ignore[misc]
    except ValueError:
        raise click.BadParameter("give PARTITION:FIRST-LAST, such as 0:1200-5000") from None


@dataclass(frozen=True, slots=True)
class Asked:
    files: tuple[str, ...]
    topics: tuple[str, ...]
    since: int | None
    until: int | None
    offsets: tuple[tuple[int, int, int], ...]

    def check(self, config: configuration.Config) -> None:
        """Raises UsageError for what does not go together, ConfigError for brokers that are not configured."""
        if self.files and (self.topics or self.since or self.until or self.offsets):
            raise click.UsageError("give FILEs, or a range of topics, not both")
        if self.offsets and len(self.topics) != 1:
            raise click.UsageError("--offsets needs exactly one --topic")
        if not self.files and config.sources.kafka is None:
            raise ConfigError("sources.kafka: is needed, for its brokers, or give FILEs")


@click.command("backfill")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@CONFIG
@click.option("--topic", "topics", multiple=True, help="Topic to read.  [default: those of sources.kafka]")
@click.option(
    "--since", metavar="TIME", callback=_moment, help="From this time on, by the records' own time: ISO 8601."
)
@click.option("--until", metavar="TIME", callback=_moment, help="Up to this time.  [default: the end as it is now]")
@click.option(
    "--offsets",
    metavar="PARTITION:FIRST-LAST",
    callback=_offsets,
    multiple=True,
    help="Offsets of a partition, both included.",
)
@click.option("--output", type=click.Path(path_type=Path), help="File for the JSON lines; run again, it is continued.")
@click.option("--openmetrics", type=click.Path(path_type=Path), help="Write the metrics with the times of the traces.")
@click.option("--emit", is_flag=True, help="Also send the evaluations to the sinks of the configuration.")
@click.option("--dry-run", is_flag=True, help="Judge nothing: say runs, calls, tokens and price.")
def command(
    files: tuple[str, ...],
    path: Path | None,
    topics: tuple[str, ...],
    since: int | None,
    until: int | None,
    offsets: tuple[tuple[int, int, int], ...],
    output: Path | None,
    openmetrics: Path | None,
    emit: bool,
    dry_run: bool,
) -> None:
    """Judge the past with the judge and scorers of -c, apart from the live service.

    Reads FILEs as `score` does, or topics of `sources.kafka` without a group, so that the live service's offsets are
    not touched. Writes the lines of `score --format jsonl` with `backfill` and `time`; what is emitted carries
    `ctxscore.backfill`. Scores under another judge, prompt or option have a version of their own. A trace that lies
    across the edge of the range is read in part: begin a little earlier.

    OUTPUT.progress keeps how far it came; the same command goes on from there and judges nothing twice. --openmetrics
    gives `promtool tsdb create-blocks-from openmetrics FILE DATA_FOLDER` the past of the live metrics.

    Records and lines that cannot be read are counted, and the rest is judged. Exit 1 where of a FILE nothing could be
    read, brokers cannot be reached, or a sink did not take an evaluation.
    """
    config = configuration.load(path)
    asked = Asked(files, topics, since, until, offsets)
    asked.check(config)
    if output is None and not dry_run:
        raise click.UsageError("give --output FILE, or --dry-run")
    try:
        if dry_run or output is None:
            asyncio.run(_dry(asked, config))
        else:
            asyncio.run(_run(asked, config, output, openmetrics, emit))
    except _troubles(asked) as error:
        raise click.ClickException(with_its_file(error)) from None


async def _dry(asked: Asked, config: configuration.Config) -> None:
    sampler, extract = parts.sampler(config), parts.reader(config)
    traces = runs = 0
    with told() as report:
        async for one in _found(asked, config, backfill.Progress(""), report):
            traces += 1
            if isinstance(one, RagRun):
                runs += 1
            else:
                found = (await extract(one)).runs
                runs += sum(sampler.admitted(run, one.trace_id) is not None for run in found)
    seen = preview(config, runs / MINUTES_A_DAY / config.sampling.rate) if config.sampling.rate else None
    click.echo(f"traces            {traces:,}\nruns to judge     {runs:,}")
    click.echo(f"LLM calls         {seen.calls if seen else 0:,.0f}")
    if seen and seen.calls:
        click.echo(f"tokens            {seen.prompt_tokens:,.0f} prompt, {seen.completion_tokens:,.0f} completion")
        click.echo(f"price             {'unknown: set judge.prices' if seen.usd is None else f'{seen.usd:,.2f} USD'}")


async def _run(asked: Asked, config: configuration.Config, output: Path, openmetrics: Path | None, emit: bool) -> None:
    kept = output.with_name(output.name + ".progress")
    progress = backfill.Progress.load(kept, output, backfill.identity(config, asked))
    judges = parts.judge(config)
    scorers, _ = parts.scorers(config, parts.published(judges))
    judging = Judging(judges, scorers, parts.budget(config), salt=config.sampling.salt)
    before = len(progress.done) + progress.runs
    written = 0
    with told(_passed_over(config, progress)) as report, heard() as faults:
        found = _found(asked, config, progress, report)
        async with _sinks(config, emit) as send:
            async for evaluations in backfill.run(found, config, judging, progress, output, kept):
                written += 1
                for evaluation in evaluations:
                    faults.add(evaluation)
                    await send(evaluation)
        there = f", {count(before, 'trace')} of before" if before else ""
        print(f"written to {output}: {count(written, 'trace')}{there}", file=sys.stderr)
        _write_openmetrics(output, openmetrics, [one.name for one in with_relatives(scorers)], config)
        if send.refused:
            refused = count(send.refused, "evaluation")
            raise click.ClickException(f"not delivered: {refused}, in {output} all the same")
        faults.tell()


def _passed_over(config: configuration.Config, progress: backfill.Progress) -> str:
    """Why spans were not read: sampling, and that their traces are in the output."""
    sampled = parts.sampler(config).head < 1
    known = "of traces that are there already"
    if not progress.done:
        return "sampled out"
    return f"sampled out or {known}" if sampled else known


def _write_openmetrics(
    output: Path, openmetrics: Path | None, scorers: list[str], config: configuration.Config
) -> None:
    if openmetrics is not None:
        metrics = Metrics(scorers, targets=config.targets)
        with output.open(encoding="utf-8") as lines, openmetrics.open("w", encoding="utf-8") as out:
            history(map(json.loads, lines), metrics).write(out)


class _Sending:
    """Evaluations to the sinks of the configuration; `refused` counts those that one of them did not take."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = sinks
        self.refused = 0

    async def __call__(self, evaluation: Evaluation) -> None:
        if evaluation.judged_by is None:
            return
        results = await asyncio.gather(*(sink.emit(evaluation) for sink in self._sinks), return_exceptions=True)
        failed = [result for result in results if isinstance(result, Exception)]
        for failure in failed:
            print(
                f"trace {evaluation.run.trace_id}: not delivered: {in_words(failure)}",
                file=sys.stderr,
            )
        self.refused += bool(failed)


@contextlib.asynccontextmanager
async def _sinks(config: configuration.Config, emit: bool) -> AsyncIterator[_Sending]:
    from otel_ctxscore.service import sinks  # only where it is asked for: the receivers come with it

    chosen = sinks(config) if emit else []
    try:
        yield _Sending(chosen)
    finally:
        for sink in chosen:
            await sink.close()


def _found(
    asked: Asked, config: configuration.Config, progress: backfill.Progress, report: Report
) -> AsyncIterator[backfill.Found]:
    if asked.files:
        return backfill.of_files(list(asked.files), config, progress, report)
    from otel_ctxscore.io.kafka.client import connection
    from otel_ctxscore.io.kafka.past import Past, Range
    from otel_ctxscore.io.kafka.records import reader_of

    section = config.sources.kafka
    assert section is not None
    topics = asked.topics or (*section.topics, *section.logs_topics)
    chosen = Range(topics, asked.since, asked.until, {number: (first, last) for number, first, last in asked.offsets})
    past = Past(chosen, connection(section.brokers, section.security), progress.positions)
    return backfill.of_kafka(past, reader_of(section), config, progress, report)


def _troubles(asked: Asked) -> tuple[type[Exception], ...]:
    if asked.files:
        return ValueError, OSError
    from aiokafka.errors import KafkaError

    return ValueError, OSError, KafkaError
