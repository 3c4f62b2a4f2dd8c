"""`otel-ctxscore anchors`."""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import click

from otel_ctxscore import batch, parts
from otel_ctxscore import config as configuration
from otel_ctxscore.cli.files import CONFIG
from otel_ctxscore.cli.judge_faults import JudgeFaults, heard
from otel_ctxscore.cli.label_files import votes
from otel_ctxscore.cli.output import echo_if_read
from otel_ctxscore.cli.state import kept
from otel_ctxscore.cli.tables import as_json
from otel_ctxscore.core.counting import count
from otel_ctxscore.core.model import Evaluation, Judgement, RagRun
from otel_ctxscore.core.stats import Share
from otel_ctxscore.core.stats.anchors import LEAST_SPREAD, PASSES
from otel_ctxscore.core.stats.quantiles import Z95
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.monitoring import anchors, histograms, labels
from otel_ctxscore.monitoring.anchors import Anchor, Evaluator, Judging
from otel_ctxscore.monitoring.histograms import DAY
from otel_ctxscore.monitoring.labels import LabelledRun
from otel_ctxscore.monitoring.store import Store

AT_ONCE = 8
"""Anchors that are judged at the same time."""
DAYS = 7
"""Days of traffic whose share of useful contexts is corrected."""


@click.group("anchors")
def command() -> None:
    """Labelled runs with kept scores. Judged again, only the judge can have moved: the running service judges two an
    hour, and all of them when an alarm rises, and then says whether system or judge moved."""


@command.command("add")
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="FILE...")
@CONFIG
def add(files: tuple[str, ...], path: Path | None) -> None:
    """Keep labelled runs as anchors: each is judged three times, and the mean of its scores is kept.

    FILE has JSON lines {"query": ..., "contexts": [{"text": ..., "useful": true}], "response": ...}, or what `export
    --labels` writes; - is standard input. A "service" makes an anchor speak of that service only. About 100 that look
    like the traffic serve best. Lines that nobody has filled in, and the judge's own, are left out and said; a run that
    several people labelled is one anchor, with one voice a context as `calibrate` counts them. A line that is no label
    is named, and nothing is kept; exit 1 then, and where the judge failed for all.
    """
    config = configuration.load(path)
    new = [Anchor.of(run) for run in votes(*files).runs]
    with heard() as faults:
        asyncio.run(_add(config, new, faults))
        faults.check()


@command.command("list")
@CONFIG
def show(path: Path | None) -> None:
    """Print the anchors as JSON lines, with their kept scores."""
    for anchor in asyncio.run(_known(configuration.load(path))):
        click.echo(as_json(anchor.as_dict()))


@command.command("run")
@CONFIG
def run(path: Path | None) -> None:
    """Judge all anchors once, now, and print how far each score is from the kept one.

    Those without a kept score under the present judge are judged three times and kept. Ends with how well the judge
    agrees with the labels and, where the state has scores of the last days, with the share of useful contexts as
    people would see it.
    """
    with heard() as faults:
        for line in asyncio.run(_run(configuration.load(path), faults)):
            click.echo(line)
        faults.check()


async def _known(config: configuration.Config) -> list[Anchor]:
    async with kept(config) as store:
        return await anchors.known(store)


def _judging(config: configuration.Config, faults: JudgeFaults) -> Judging:
    """Judges anew: no verdict is taken from the state."""
    judge = parts.published(parts.judge(config))
    scorers, _ = parts.scorers(config, judge)

    async def judged(one: RagRun) -> Evaluation:
        evaluation = await evaluate(one, judge, scorers)
        faults.add(evaluation)
        return evaluation

    return judged


async def _add(config: configuration.Config, new: Sequence[Anchor], faults: JudgeFaults) -> None:
    judge = _judging(config, faults)
    async with kept(config, create=True) as store:
        known = {anchor.id: anchor for anchor in await anchors.known(store)}
        added = [known.get(anchor.id, anchor) for anchor in new]
        async for anchor in _pinned(added, judge, store):
            scores = ", ".join(f"{scorer} {score:.2f}" for (scorer, _), score in anchor.kept.items())
            echo_if_read(f"{anchor.id}: {scores or 'no score, the judge failed'}")


async def _pinned(found: Sequence[Anchor], judge: Judging, store: Store) -> AsyncIterator[Anchor]:
    """Each anchor after three passes, kept as soon as it is pinned."""

    async def pin(anchor: Anchor) -> Anchor:
        return anchors.pinned(anchor, [await judge(anchor.labelled.run) for _ in range(PASSES)])

    async for anchor in batch.in_order(pin, found, AT_ONCE):
        anchors.keep(store, anchor)
        yield anchor


async def _run(config: configuration.Config, faults: JudgeFaults) -> list[str]:
    judge = _judging(config, faults)
    async with kept(config) as store:
        known = await anchors.known(store)
        if not known:
            raise click.ClickException("there is no anchor: `otel-ctxscore anchors add FILE` keeps some")

        async def judged(anchor: Anchor) -> tuple[Anchor, Evaluation]:
            return anchor, await judge(anchor.labelled.run)

        found = [one async for one in batch.in_order(judged, known, AT_ONCE)]
        lines = list(_moved(found))
        new = [anchor for anchor, evaluation in found if set(anchors.scores(evaluation)) - set(anchor.kept)]
        pinned = [anchor async for anchor in _pinned(new, judge, store)]
        if pinned:
            lines.append(f"newly pinned, for want of a score under this judge: {count(len(pinned), 'anchor')}")
        return [*lines, *await _agreement(found, store)]


def _moved(found: Sequence[tuple[Anchor, Evaluation]]) -> Iterator[str]:
    """For each evaluator the mean difference from the kept scores, with its 95 % interval."""
    by_evaluator: dict[Evaluator, list[float]] = {}
    for anchor, evaluation in found:
        for evaluator, difference in anchors.differences(anchor, evaluation).items():
            by_evaluator.setdefault(evaluator, []).append(difference)
    for (scorer, version), moved in sorted(by_evaluator.items()):
        if len(moved) < 2:
            continue
        mean = statistics.fmean(moved)
        half = Z95 * max(statistics.stdev(moved), LEAST_SPREAD) / math.sqrt(len(moved))
        verdict = "the judge moved" if abs(mean) > half else "no sign that the judge moved"
        yield f"{scorer} {version}: {mean:+.3f} ± {half:.3f} over {count(len(moved), 'anchor')}: {verdict}"


async def _agreement(found: Sequence[tuple[Anchor, Evaluation]], store: Store) -> list[str]:
    """The judge's rates by the labels, and the share of useful contexts that they correct."""
    judged: list[tuple[LabelledRun, Judgement]] = [
        (anchor.labelled, evaluation.judgement) for anchor, evaluation in found if evaluation.judgement is not None
    ]
    rates = labels.rates(judged)
    if rates is None:
        return []
    lines = [
        f"the judge finds {rates.sensitivity:.0%} of the contexts that people call useful, and calls"
        f" {1 - rates.specificity:.0%} of the others useful ({count(len(judged), 'labelled run')})"
    ]
    versions = {key for _, evaluation in found for key in anchors.scores(evaluation) if key[0] == "share_useful"}
    recent = await histograms.since(store, int(time.time() // DAY) - DAYS + 1)
    for series, histogram in sorted(recent.items(), key=lambda pair: pair[0]):
        if (series.scorer, series.version) in versions:
            lines.append(f"{series.service}: {_corrected(labels.corrected(histogram.sums, rates))}")
    return lines


def _corrected(found: tuple[float, Share] | None) -> str:
    if found is None:
        return "the share of useful contexts cannot be corrected: the judge agrees with people too little"
    apparent, share = found
    return (
        f"share of useful contexts {apparent:.3f} by the judge, {share.value:.3f} ({share.lower:.3f} to"
        f" {share.upper:.3f}) as people would see it, last {count(DAYS, 'day')}"
    )
