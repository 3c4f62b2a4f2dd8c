"""What goes wrong at the judge, for somebody who waits at a terminal: said when it happens, and each thing once."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from otel_ctxscore.cli.tables import plain
from otel_ctxscore.core.model import Evaluation

_JUDGES = "otel_ctxscore.judges"


class JudgeFaults(logging.Handler):
    """Takes the evaluations of a command, and the log of the judges."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._told: set[object] = set()
        self._scored = self._failed = False

    def emit(self, record: logging.LogRecord) -> None:
        self._tell((record.msg, record.args and record.args[0]), record.getMessage())  # type: ignore[index]

    def add(self, evaluation: Evaluation | None) -> None:
        """Take a run; None stands for a trace without one."""
        if evaluation is None:
            return
        self._scored |= any(score.value is not None for score in evaluation.scores)
        if evaluation.judged_by is not None and evaluation.reason is not None:
            self._failed = True
            # A fault of the judge begins with its reason.
            self._tell(evaluation.reason, f"not scored: {evaluation.detail or evaluation.reason}")

    @property
    def in_vain(self) -> str | None:
        """What to say where a judge was asked and no run has a score; None otherwise."""
        if self._scored or not self._failed:
            return None
        return "nothing was scored: the judge failed for every run that it was asked about"

    def check(self) -> None:
        """Raises ClickException with that, for a command that is for nothing without scores."""
        if self.in_vain:
            raise click.ClickException(self.in_vain)

    def tell(self) -> None:
        """Says that, for a command whose results unscored runs are too."""
        if self.in_vain:
            print(self.in_vain, file=sys.stderr)

    def _tell(self, what: object, text: str) -> None:
        if what not in self._told:
            self._told.add(what)
            print(plain(text), file=sys.stderr)


@contextmanager
def heard() -> Iterator[JudgeFaults]:
    """While judges are asked."""
    faults, log = JudgeFaults(), logging.getLogger(_JUDGES)
    level = log.level
    log.addHandler(faults)
    log.setLevel(logging.INFO)
    try:
        yield faults
    finally:
        log.removeHandler(faults)
        log.setLevel(level)
