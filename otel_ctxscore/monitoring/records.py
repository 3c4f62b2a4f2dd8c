"""What is kept of an alarm."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from otel_ctxscore.core.stats import Blame
from otel_ctxscore.monitoring.series import Series

Ended = Literal["recovered", "acknowledged", "reset"]
"""Why an alarm is over: its evidence fell below a tenth of the threshold, a person took note, or what it tested has
changed (a reload of the rules, another upstream sampling, a series that fell silent for long)."""


@dataclass(frozen=True, slots=True)
class AlarmRecord:
    """An alarm of one series. Times are Unix seconds.

    `rose`: when the evidence reached the threshold. `began`: the start of the tick in which the change most likely
    began, or of the second where these were kept. `reference`: what the mean was compared with, over that time.
    `mean`, `lower`, `upper`: of the scores from `began` to `rose`, with a 95 % interval where there are enough.
    `blame`: who moved, once the anchors were judged.
    """

    id: str
    service: str
    scorer: str
    version: str
    rose: float
    began: float
    reference: float
    mean: float | None = None
    lower: float | None = None
    upper: float | None = None
    ended: float | None = None
    ended_by: Ended | None = None
    acknowledged: float | None = None
    acknowledged_by: str | None = None
    blame: Mapping[str, Any] | None = None

    @property
    def series(self) -> Series:
        return Series(self.service, self.scorer, self.version)

    @property
    def is_up(self) -> bool:
        return self.ended is None

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON has it."""
        return asdict(self)

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> AlarmRecord:
        """What `as_dict` wrote. Raises TypeError for anything else."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in state.items() if name in known})


def alarm_id(series: Series, tick: int) -> str:
    """A short name for the alarm of a series that rose in a tick."""
    return hashlib.sha256(f"{series.name()} {tick}".encode()).hexdigest()[:10]


def told(found: Blame, anchors: int) -> dict[str, Any]:
    """A blame as the record keeps it."""
    known = anchors > 1
    return {
        "culprit": found.culprit,
        "anchors": anchors,
        "judge": found.judge if known else None,
        "judge_error": found.judge_error if known else None,
        "system": found.system if known else None,
        "system_error": found.system_error if known else None,
    }
