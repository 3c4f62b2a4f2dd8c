"""What is known of the past: what became of traces, which runs were judged and how, which documents were retrieved.

The values that the state keeps, and the questions that the page and the API ask of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from otel_ctxscore.core.conventions import Considered
from otel_ctxscore.core.lines import Line
from otel_ctxscore.core.model import Evaluation, Verdict
from otel_ctxscore.core.outcomes import Closed, Reason, TraceOutcome
from otel_ctxscore.core.spans import UNKNOWN_SERVICE

Sort = Literal["worst", "newest"]
MAX_LIMIT = 200
"""Rows of a page, at most."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A trace at the end of the line. `delivered` is false where a sink did not take what was judged. `spans` counts
    those that were assembled. `considered` and `hint` say why there is no run, where there is none."""

    trace_id: bytes
    outcome: TraceOutcome
    reason: Reason | None = None
    service: str = UNKNOWN_SERVICE
    closed: Closed = Closed.DRAINED
    spans: int = 0
    evaluations: Sequence[Evaluation] = ()
    convention: str | None = None
    hint: str | None = None
    considered: Sequence[Considered] = ()
    delivered: bool = True


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs, in which order. `below` is a score in 0..1, before scale; with `scorer` of that scorer, else of any
    whose scores count in the outcome. `segment` and `value` go together. Times are Unix seconds, `until` exclusive.
    `cursor` is what the page before gave as `next`. Worst first: by the lowest score of the run, those without one
    last. `labelled` asks for runs that people have labelled, each with `labels`."""

    service: str | None = None
    segment: str | None = None
    value: str | None = None
    scorer: str | None = None
    below: float | None = None
    outcome: TraceOutcome | None = None
    reason: Reason | None = None
    since: float | None = None
    until: float | None = None
    sort: Sort = "worst"
    limit: int = 50
    cursor: str | None = None
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class RunPage:
    """Runs as `core.records` writes them, and the cursor of the next page, None on the last one."""

    runs: Sequence[Line]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """What a person says of a run: a verdict for each context that they looked at, by its place in `RagRun.judged`.
    `at` is when they said it, in Unix seconds."""

    who: str
    at: float
    verdicts: Mapping[int, Verdict]


@dataclass(frozen=True, slots=True)
class DocumentUse:
    """How often a document was retrieved, judged, useful, used by the response, and ranked above a useful one without
    being useful itself (`above`)."""

    document: str
    service: str
    retrieved: int
    judged: int
    useful: int
    used: int
    above: int
