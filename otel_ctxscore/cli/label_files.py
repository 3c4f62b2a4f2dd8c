"""Files of labels, as `calibrate` and `anchors add` read them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from otel_ctxscore.cli.files import named, text
from otel_ctxscore.core.counting import count
from otel_ctxscore.monitoring.label_votes import Votes, count_votes
from otel_ctxscore.monitoring.labels import (
    LabelError,
    LabelledRun,
    checked,
    is_judge,
    raw,
    without_text,
    without_verdict,
)

_JUDGE = "with a judge as `who`: its own word is no label"


def votes(*paths: str) -> Votes:
    """The labels of people in files, one voice a context. What bears no text any more, what nobody has filled in, and
    what is the judge's own word, is left out and said. Raises ClickException for a line that is no label, and where
    nothing is left."""
    found: list[LabelledRun] = []
    left_out: Counter[str] = Counter()
    for path in paths:
        found += _labelled(path, left_out)
    for why, n in left_out.items():
        print(f"left out: {count(n, 'line')} {why}", file=sys.stderr)
    if not found:
        by_people = ", only what a judge said: `label --who NAME` keeps what people say" if left_out[_JUDGE] else ""
        raise click.ClickException(f"{', '.join(map(named, paths))}: no labels by people{by_people}")
    counted = count_votes(found)
    if counted.replaced:
        print(f"left out: {count(counted.replaced, 'line')} that the same person replaced later", file=sys.stderr)
    if counted.tied:
        print(f"left open: {count(counted.tied, 'verdict')} on which people are evenly divided", file=sys.stderr)
    return counted


def lines(path: str) -> Iterator[tuple[int, Any]]:
    """The label lines of a file as they stand, each with its number; - is standard input. Raises ClickException."""
    try:
        with text(path) as file:
            yield from raw(file)
    except LabelError as error:
        raise click.ClickException(f"{named(path)}: {error}") from None


def _labelled(path: str, left_out: Counter[str]) -> Iterator[LabelledRun]:
    for number, line in lines(path):
        why = _no_label(line)
        if why is not None:
            left_out[why] += 1
            continue
        try:
            yield checked(number, line)
        except LabelError as error:
            raise click.ClickException(f"{named(path)}: {error}") from None


def _no_label(line: object) -> str | None:
    """Why a line that the service wrote is no label; None where it may be one."""
    if without_verdict(line):
        return "without any verdict"
    if without_text(line):
        return "whose text is not kept any more"
    return _JUDGE if isinstance(line, dict) and is_judge(line.get("who")) else None
