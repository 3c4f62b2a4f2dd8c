"""`otel-ctxscore score`."""

from __future__ import annotations

import asyncio
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from otel_ctxscore import batch, parts
from otel_ctxscore import config as configuration
from otel_ctxscore.cli.files import CONFIG, FILES, READ, told
from otel_ctxscore.cli.judge_faults import JudgeFaults, heard
from otel_ctxscore.cli.output import Output
from otel_ctxscore.cli.tables import add_row, as_json, plain
from otel_ctxscore.config.judges import CascadeJudge, LlmJudge, SampledJudge
from otel_ctxscore.core.lines import Line
from otel_ctxscore.core.model import Evaluation, RagRun, Score
from otel_ctxscore.core.spans import Trace
from otel_ctxscore.evaluation import with_relatives
from otel_ctxscore.io.file import Report
from otel_ctxscore.judging import Judging
from otel_ctxscore.ports import AnyScorer

SHORT = 60
LONGEST_OUTAGE = 60.0
"""Seconds that a run waits here for a judge that is out."""


@click.command("score", help=f"""Judge and score the traces in files, and print the scores.

    {READ}

    Without -c the local judge judges every run. With it, its judge, sampling and budget apply. Ends, on standard error,
    with mean, number and unscored runs of each scorer. What goes wrong at the judge is said there when it happens;
    unscored runs are results like others, and no fault.""")  # fmt: skip
@FILES
@click.option(
    "--format",
    "form",
    help="A table, or a line a run with all that was judged.",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
)
@CONFIG
def command(files: tuple[str, ...], form: str, path: Path | None) -> None:
    config = configuration.load(path)
    with told() as report, heard() as faults:
        asyncio.run(_score(files, form, config, report, faults))
        faults.tell()


async def _score(
    files: tuple[str, ...], form: str, config: configuration.Config, report: Report, faults: JudgeFaults
) -> None:
    judges = parts.judge(impatient(config))
    judge = parts.published(judges)
    scorers, off = parts.scorers(config, judge)
    for scorer in off:
        print(f"{scorer.name} is off: the {judge.tier} judge does not fill what it needs", file=sys.stderr)
    found = _with_progress(batch.traces(files, parts.sampler(config).keeps, report, config))
    judging = Judging(judges, scorers, parts.budget(config), salt=config.sampling.salt)
    totals = Totals.of(scorers)
    rows: list[tuple[Line, Evaluation | None]] = []
    read = False
    async for line, evaluation in batch.score(found, config, judging):
        read = True
        totals.add(evaluation)
        faults.add(evaluation)
        if form == "jsonl":
            click.echo(as_json(line))
        else:
            rows.append((line, evaluation))
    if report.refused and not read:
        return  # there is nothing that a table or a mean could be of
    if form == "table":
        Output(width=None if sys.stdout.isatty() else 140).print(_table(rows, scorers))
    for text in totals.lines():
        print(text, file=sys.stderr)


def _with_progress(found: Iterable[Trace | RagRun]) -> Iterator[Trace | RagRun]:
    """The same, with a bar on standard error where that is a terminal."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        yield from bar.track(found, description="scoring", total=None)


def _table(rows: list[tuple[Line, Evaluation | None]], scorers: list[AnyScorer]) -> Table:
    table = Table(box=None, pad_edge=False)
    names = [scorer.name for scorer in scorers]
    for heading in ("trace", "query", *names, "outcome"):
        table.add_column(heading, justify="right" if heading in names else "left", overflow="fold")
    for line, evaluation in rows:
        query = plain(str(line.get("query") or ""))
        values = [_cell(evaluation, name) for name in names]
        outcome = " ".join(str(line[key]) for key in ("outcome", "reason") if line[key])
        shown = query if len(query) <= SHORT else f"{query[: SHORT - 1]}…"
        add_row(table, str(line["trace_id"] or "-"), shown, *values, outcome)
    return table


def _cell(evaluation: Evaluation | None, name: str) -> str:
    scores = [score for score in evaluation.scores if score.name == name] if evaluation else []
    return ", ".join("-" if score.value is None else f"{score.value:g}" for score in scores) or "-"


@dataclass(slots=True)
class Totals:
    """Sums of each scorer over the runs: mean, n, and unscored by reason. Means are weighted by the inverse of the
    inclusion probability, as all that are published."""

    values: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    unscored: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, scorers: list[AnyScorer]) -> Totals:
        names = [scorer.name for scorer in with_relatives(scorers)]
        return cls({name: [] for name in names}, {name: Counter() for name in names})

    def add(self, evaluation: Evaluation | None) -> None:
        """Take a run; None stands for a trace without one."""
        for score in evaluation.scores if evaluation else ():
            self._add(score, evaluation.weight if evaluation else 1.0)

    def _add(self, score: Score, weight: float) -> None:
        if score.value is not None:
            unrounded = score.value if score.ratio is None else score.ratio * score.scale
            self.values.setdefault(score.name, []).append((weight, unrounded))
        else:
            self.unscored.setdefault(score.name, Counter())[str(score.unscored)] += 1

    def lines(self) -> Iterator[str]:
        for name in self.values:
            values, reasons = self.values[name], self.unscored.get(name, Counter[str]())
            total = math.fsum(weight for weight, _ in values)
            mean = f"{math.fsum(weight * value for weight, value in values) / total:.4f}" if values else "-"
            why = "".join(f", {reason} {count}" for reason, count in reasons.most_common())
            yield f"{name}: mean {mean}, n {len(values)}, unscored {reasons.total()}{why}"


def impatient(config: configuration.Config) -> configuration.Config:
    """The configuration of somebody who waits: a judge that is out is waited for a minute, not for half an hour."""
    judge = config.judge
    if isinstance(judge, LlmJudge):
        changed: object = _at_most(judge)
    elif isinstance(judge, SampledJudge | CascadeJudge):
        changed = judge.model_copy(update={"llm": _at_most(judge.llm)})
    else:
        return config
    return config.model_copy(update={"judge": changed})


def _at_most(llm: LlmJudge) -> LlmJudge:
    return llm.model_copy(update={"outage_limit": min(llm.outage_limit, LONGEST_OUTAGE)})
