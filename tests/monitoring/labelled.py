"""Label lines as the runs that they label."""

from __future__ import annotations

from collections.abc import Iterable

from otel_ctxscore.monitoring.labels import LabelledRun, checked, raw


def read(lines: Iterable[str]) -> list[LabelledRun]:
    return [checked(number, line) for number, line in raw(lines)]
