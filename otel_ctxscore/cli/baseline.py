"""`otel-ctxscore baseline`."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from otel_ctxscore import config as configuration
from otel_ctxscore.cli.files import CONFIG, named, text
from otel_ctxscore.cli.state import kept
from otel_ctxscore.core.counting import count
from otel_ctxscore.core.stats import Baseline, WeightedScore
from otel_ctxscore.monitoring import baseline, histograms
from otel_ctxscore.monitoring.histograms import DAY, Histogram
from otel_ctxscore.monitoring.series import Series

Traces = dict[tuple[object, Series], list[WeightedScore]]


@click.group("baseline")
def command() -> None:
    """The distribution of scores that drift is measured against: `baseline pin`."""


@command.command("pin")
@click.argument("files", nargs=-1, type=click.Path(allow_dash=True), metavar="[FILE...]")
@click.option("--days", type=click.IntRange(1), default=7, show_default=True, help="Whole and running days to pin.")
@click.option("--service", help="Only this service.")
@click.option("--scorer", help="Only this scorer.")
@CONFIG
def pin(files: tuple[str, ...], days: int, service: str | None, scorer: str | None, path: Path | None) -> None:
    """Pin the distribution of each service, scorer and version as its baseline, in place of the one before.

    Without FILE it is that of the last days, as the service of the configuration has kept it; with FILE that of the
    JSON lines of `score --format jsonl`; - is standard input. A running service shows it within a minute. Series with
    fewer than 100 effective traces are left out: exit code 1 where nothing is left. A line that is none of `score` is
    named, and nothing is pinned.
    """
    config = configuration.load(path)
    pinned = asyncio.run(_pin(config, files, days, service, scorer))
    for series, found in sorted(pinned.items()):
        click.echo(f"{series.service} {series.scorer} {series.version}: {_told(found)}")
    if not any(pinned.values()):
        lacking = f": no scores in {', '.join(map(named, files))}" if files and not pinned else ""
        raise click.ClickException(f"nothing was pinned{lacking}")


async def _pin(
    config: configuration.Config, files: tuple[str, ...], days: int, service: str | None, scorer: str | None
) -> dict[Series, Baseline | None]:
    found = of_lines(line for file in files for line in _lines(file)) if files else None
    async with kept(config, create=bool(files)) as store:
        if found is None:
            found = await histograms.since(store, int(time.time() // DAY) - days + 1)
        chosen = {
            series: histogram
            for series, histogram in found.items()
            if service in (None, series.service) and scorer in (None, series.scorer)
        }
        return baseline.pin(store, chosen)


def _told(found: Baseline | None) -> str:
    if found is None:
        return "left out, fewer than 100 effective traces"
    return f"pinned, {count(found.n_eff, 'effective trace')}, {count(found.group_count, 'group')}"


def _lines(path: str) -> Iterator[tuple[str, str]]:
    """The lines of a file that are not blank, each after where it stands. Raises ClickException."""
    with text(path) as file:
        yield from ((f"{named(path)}: line {number}", line) for number, line in enumerate(file, 1) if line.strip())


def of_lines(lines: Iterable[tuple[str, str]]) -> dict[Series, Histogram]:
    """The histograms of the JSON lines of `score`, each after where it stands. Raises ClickException for another."""
    traces: Traces = {}
    for where, line in lines:
        try:
            _collect(json.loads(line), where, traces)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise click.ClickException(f"{where} is no line of score --format jsonl") from None
    return histograms.of_traces((series, runs) for (_, series), runs in traces.items())


def _collect(line: dict[str, Any], where: str, traces: Traces) -> None:
    for score in line["scores"]:
        if score["value"] is not None:
            series = Series(str(line["service"]), str(score["name"]), str(score["version"]))
            ratio = min(1.0, max(0.0, float(score["value"]) / float(score["scale"])))
            # A run that was given as such has no trace: it is one of its own.
            run = WeightedScore(float(line["weight"]), ratio)
            traces.setdefault((line.get("trace_id") or where, series), []).append(run)
