"""What people do with a kept run, as the admin address asks it of the service."""

from __future__ import annotations

from typing import Any, Protocol

from otel_ctxscore.core.history import Label
from otel_ctxscore.monitoring.anchors import Anchor

Record = dict[str, Any]
"""A run as `History.run` gives it."""


class Review(Protocol):
    """Judging again, labels and anchors. All raise Refused where what was asked cannot be done, with nothing changed,
    and StateError where the state takes nothing."""

    async def judge_again(self, run: Record) -> Record:
        """What the configured judge says when it is asked anew, as `core.kept_run.opinion` has it, with `at`. It is
        kept beside the first judgement, in place of one before it, and enters no sum, mean or alarm."""

    async def label(self, run: Record, label: Label) -> None:
        """Keep what a person says of a run, in place of what they said before."""

    async def anchor(self, run: Record, who: str | None) -> Anchor:
        """Make an anchor of a run whose contexts somebody has labelled all: `who`, or the last who has. It is judged as
        `anchors add` does."""
