"""What the admin address asks of the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from otel_ctxscore.core.assembly import Waiting
from otel_ctxscore.core.history import DocumentUse, RunPage, RunQuery
from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus, Circumstances, Pace, Past, Series


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A source: `unhealthy` says in one line why it does not read. `spans` counts by result."""

    name: str
    unhealthy: str | None = None
    spans: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """The recent scores of one series, 0 to 1. `mean` is weighted, with its 95 % interval where there is one; both
    are of the last runs. `alarm` is None for a scorer without an alarm."""

    service: str
    scorer: str
    tier: str
    version: str
    runs: int
    mean: float | None
    lower: float | None
    upper: float | None
    alarm: AlarmStatus | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that the page shows, at one moment. `cause` says why the service is not ready. Times are Unix seconds.

    `evaluations` counts by result at the sinks. `off` names scorers that are off for want of a judge that fills what
    they need. `alarms` are those that are up.
    """

    state: str
    version: str
    judge: str
    started: float
    now: float
    cause: str | None = None
    sources: Sequence[SourceStatus] = ()
    open_traces: int = 0
    evaluations: Mapping[str, float] = field(default_factory=dict)
    standings: Sequence[Standing] = ()
    alarms: Sequence[AlarmRecord] = ()
    off: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What reading the configuration again did: sections that now hold, and those that changed but need a restart."""

    applied: Sequence[str] = ()
    needs_restart: Sequence[str] = ()


Whereabouts = Literal["open", "sampled_out", "unknown"]
"""Where a trace is that the ledger does not know: on its way, left out by its id, or nobody knows."""


class History(Protocol):
    """The past of this replica. Records are those of `core.records`, with `run_id`, `at` (Unix seconds) and `content`:
    `text`, `hash`, `none`, `deleted` or `expired`. `hours` are sums and counts by the hour."""

    @property
    def hours(self) -> Past: ...

    async def runs(self, query: RunQuery) -> RunPage:
        """The runs that a question asks for. Raises ValueError for a cursor that is none."""

    async def run(self, known: str) -> dict[str, Any] | None:
        """The run of an id."""

    async def trace(self, trace_id: bytes) -> dict[str, Any] | None:
        """What became of a trace, with its runs; None for one that is not known."""

    async def documents(
        self, kind: Literal["id", "source"], *, service: str | None, since: float, limit: int, offset: int = 0
    ) -> Sequence[DocumentUse]:
        """Documents by id or by source, those that crowd out others first."""

    async def forget_text(self, trace_id: bytes) -> int:
        """Delete the text of a trace from the disk; of how many runs there was any."""


class Status(Protocol):
    """The service, as far as the admin address sees it. `replica` names this process among others, until it ends;
    `pace` says how long an hour is; `segments` are the names that are configured."""

    @property
    def replica(self) -> str: ...

    @property
    def pace(self) -> Pace: ...

    @property
    def segments(self) -> Sequence[str]: ...

    @property
    def history(self) -> History: ...

    def whereabouts(self, trace_id: bytes) -> Whereabouts:
        """Where a trace is that is not finished."""

    def waits_for(self, trace_id: bytes) -> Waiting | None:
        """What an open trace waits for, in Unix seconds; None where all that will come of it is here."""

    def not_alive(self) -> str | None:
        """Why an orchestrator should restart this process; None where it should not."""

    def not_ready(self) -> str | None:
        """Why no traffic should be sent here now; None where it can."""

    def snapshot(self) -> Snapshot:
        """What the page shows now."""

    def alarms(self) -> Sequence[AlarmRecord]:
        """The alarms that are kept, the latest first."""

    def alarm_statuses(self) -> Sequence[tuple[Series, AlarmStatus]]:
        """The alarm of each series as it stands."""

    def circumstances(self, record: AlarmRecord) -> Circumstances:
        """What an inquiry into an alarm needs to know beside the sums."""

    async def acknowledge(self, known: str, by: str) -> AlarmRecord | None:
        """A person took note of an alarm, and it is kept on disk; None where there is no such alarm."""

    def reload(self) -> Reloaded:
        """Read the configuration again. Raises ConfigError, and has changed nothing then."""
