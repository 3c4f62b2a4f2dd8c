"""`otel-ctxscore baseline`."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import click

from otel_ctxscore import config as configuration
from otel_ctxscore.cli.files import CONFIG
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
@click.argument("files", nargs=-1, type=click.File("r", encoding="utf-8"), metavar="[FILE...]")
@click.option("--days", type=click.IntRange(1), default=7, show_default=True, help="Whole and running days to pin.")
@click.option("--service", help="Only this service.")
@click.option("--scorer", help="Only this scorer.")
@CONFIG
def pin(files: tuple[TextIO, ...], days: int, service: str | None, scorer: str | None, path: Path | None) -> None:
    """Pin the distribution of each service, scorer and version as its baseline, in place of the one before.

    Without FILE it is that of the last days, as the service of the configuration has kept it; with FILE that of the
    JSON lines of `score --format jsonl`. A running service shows it within a minute. Series with fewer than 100
    effective traces are left out: exit code 1 where nothing is left.
    """
    config = configuration.load(path)
    try:
        pinned = asyncio.run(_pin(config, files, days, service, scorer))
    except UnicodeDecodeError as error:
        raise click.ClickException(f"no text in UTF-8, so no JSON lines of scores: {error.reason}") from None
    for series, found in sorted(pinned.items()):
        click.echo(f"{series.service} {series.scorer} {series.version}: {_told(found)}")
    if not any(pinned.values()):
        print("nothing was pinned", file=sys.stderr)
        sys.exit(1)


async def _pin(
    config: configuration.Config, files: tuple[TextIO, ...], days: int, service: str | None, scorer: str | None
) -> dict[Series, Baseline | None]:
    found = of_lines(line for file in files for line in file) if files else None
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


def of_lines(lines: Iterable[str]) -> dict[Series, Histogram]:
    """The histograms of the JSON lines of `score`. Raises ClickException for another line."""
    traces: Traces = {}
    for number, text in enumerate(lines, 1):
        try:
            _collect(json.loads(text), number, traces)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise click.ClickException(f"line {number} is no line of score --format jsonl") from None
    return histograms.of_traces((series, runs) for (_, series), runs in traces.items())


def _collect(line: dict[str, Any], number: int, traces: Traces) -> None:
    for score in line["scores"]:
        if score["value"] is not None:
            series = Series(str(line["service"]), str(score["name"]), str(score["version"]))
            ratio = min(1.0, max(0.0, float(score["value"]) / float(score["scale"])))
            # A run that was given as such has no trace: it is one of its own.
            run = WeightedScore(float(line["weight"]), ratio)
            traces.setdefault((line.get("trace_id") or number, series), []).append(run)
