"""`otel-ctxscore calibrate`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from otel_ctxscore import config as configuration
from otel_ctxscore import parts
from otel_ctxscore.calibrating import Recalibration, Report, compare, recalibrate
from otel_ctxscore.cli.calibrate_text import as_json, as_text
from otel_ctxscore.cli.files import CONFIG
from otel_ctxscore.cli.judge_faults import heard
from otel_ctxscore.cli.label_files import votes
from otel_ctxscore.config import judges as cfg
from otel_ctxscore.core.errors import ConfigError, in_words
from otel_ctxscore.judges.calibration import Calibration
from otel_ctxscore.judges.drawing import TwoJudges
from otel_ctxscore.monitoring.labels import LabelledRun
from otel_ctxscore.ports import Judge


@click.command("calibrate")
@click.option(
    "--labels",
    required=True,
    type=click.Path(allow_dash=True),
    help='JSON lines {"query": ..., "contexts": [{"text": ..., "useful": true}], "response": ...}, or the CSV of '
    "`export`; - is standard input.",
)
@CONFIG
@click.option(
    "--format",
    "form",
    help="A report for people, or one JSON object.",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
)
@click.option("--write", type=click.Path(path_type=Path), help="Write the calibration here, for `calibration`.")
def command(labels: str, path: Path | None, form: str, write: Path | None) -> None:
    """Compare the judge with labels by people, and fit its probabilities to them.

    Says kappa, sensitivity and specificity with their intervals, how far probabilities can be taken at their word, and
    the band in which the judge is unsure (`cascade`). Where two judges work together, both are compared. An LLM judge
    is asked once a run.

    A run counts once, however many people labelled it: of each person their latest label, and of several people what
    most of them say of a context; a tie leaves it open. How far people agree with each other (kappa) is said too: no
    judge can be asked to agree with them more.

    A line that is no label is named, and nothing is compared; exit 1 then, and where nothing could be judged.

    For the local judge and a cross-encoder it fits a calibration (Platt scaling) that --write keeps; name the file as
    `calibration` of that judge. Some dozens of labelled queries of one's own traces are a start: label runs on the
    page or by `otel-ctxscore label`, then `otel-ctxscore export --labels | otel-ctxscore calibrate --labels -`.
    """
    config = configuration.load(path)
    judges = _judges(config)
    correctable = next((judge for judge in judges if judge.tier in ("local", "cross_encoder")), None)
    if write is not None and correctable is None:
        raise ConfigError(f"--write: only local and cross_encoder judges take a calibration, not {config.judge.type}")
    said = votes(labels)
    with heard():
        reports = asyncio.run(_compare(said.runs, judges))
    found = next((recalibrate(r, _in_use(config)) for r in reports if r.judge is correctable and r.queries), None)
    click.echo(as_json(reports, found, said) if form == "json" else as_text(reports, found, said))
    _tell(reports, found)
    if write is not None:
        _write(write, found)
    if not any(report.queries for report in reports):
        sys.exit(1)


def _judges(config: configuration.Config) -> list[Judge]:
    made = parts.judge(config)
    return [made.local, made.llm] if isinstance(made, TwoJudges) else [made]


def _in_use(config: configuration.Config) -> Calibration:
    """What the judge that can be calibrated uses already."""
    section = config.judge
    if isinstance(section, cfg.SampledJudge | cfg.CascadeJudge):
        section = section.local
    file = section.calibration if isinstance(section, cfg.LocalJudge | cfg.CrossEncoderJudge) else None
    return Calibration() if file is None else Calibration.read(file)


async def _compare(labelled: Sequence[LabelledRun], judges: list[Judge]) -> list[Report]:
    return [await compare(labelled, judge) for judge in judges]


def _tell(reports: list[Report], found: Recalibration | None) -> None:
    for report in reports:
        for reason, count in report.unjudged.items():
            print(f"not judged by the {report.judge.tier} judge: {count} {reason}", file=sys.stderr)
    for warning in found.warnings if found is not None else ():
        print(f"calibration: {warning}", file=sys.stderr)


def _write(path: Path, found: Recalibration | None) -> None:
    if found is None:
        raise click.ClickException(f"{path}: not written: the labels are all alike, or the judge's order is not theirs")
    try:
        path.write_text(json.dumps({"a": found.whole.a, "b": found.whole.b}) + "\n", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{path}: {in_words(error)}") from None
    print(f"written: {path}", file=sys.stderr)
