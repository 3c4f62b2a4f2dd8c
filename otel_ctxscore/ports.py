"""What the line asks of the parts around it: source, convention, judge, scorer, sink. Plug-ins implement these.

Entry-point groups: `otel_ctxscore.judges`, `.scorers`, `.conventions`, `.sinks`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Protocol, runtime_checkable

from otel_ctxscore.core.errors import ConfigError as ConfigError
from otel_ctxscore.core.model import Evaluation, JudgedBy, Judgement, RagRun, Score
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.spans import Delivery

Field = Literal["useful", "relevance", "used", "missing"]
"""What a judge can fill and a scorer can need."""


class JudgeError(Exception):
    """No judgement, and the reason of the closed table. `judged_by` tells what was spent on the way."""

    def __init__(self, reason: Reason | str, detail: str = "", judged_by: JudgedBy | None = None) -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = Reason(reason)
        self.detail = detail
        self.judged_by = judged_by


class SinkError(Exception):
    """A sink could not deliver an evaluation and will not: the source must hear that it failed."""


class DroppedError(SinkError):
    """The receiver is there, and will never take this evaluation, or must not be sent it again: it is done with."""


class Full(Exception):  # noqa: N818 -- a state of the line, not a fault
    """The line takes nothing now. `retry_after` is a stated pause in seconds."""

    def __init__(self, retry_after: float = 1.0) -> None:
        super().__init__(f"the queue is full, try again in {retry_after:g} s")
        self.retry_after = retry_after


class Line(Protocol):
    """What a source sees of the pipeline."""

    def keeps(self, trace_id: bytes) -> bool:
        """Whether sampling keeps this trace: the first decision, made on the id alone."""

    def accept(self, delivery: Delivery) -> None:
        """Take a delivery whole or, with `Full`, not at all. The source settles its own hold afterwards."""

    async def room(self) -> None:
        """Return once a delivery would be taken."""

    def relieve(self) -> None:
        """Close the oldest open traces, by name: their source may wait for them no longer."""

    def give_up(self, owner: object) -> None:
        """Drop the open traces that hold a receipt of this owner: what it delivered is read again elsewhere."""


class IntakeCounts(Protocol):
    """Where a receiver counts what it hears, under its own source's name."""

    def counted(self, result: str, n: int) -> None:
        """`n` spans: `sampled_out`, `invalid` or `own`. What the line took, it counts itself."""

    def request(self, result: str) -> None:
        """A request: `ok`, `partial`, `full`, `too_large`, `too_slow`, `malformed`, `unsupported`,
        `unauthenticated`."""


@runtime_checkable
class Source(Protocol):
    """Where spans come from."""

    @property
    def name(self) -> str:
        """The label of its metrics: `otlp_grpc`, `otlp_http`, `kafka`, `file`."""

    async def start(self, line: Line) -> None:
        """Begin to read. Raises ConfigError where that cannot work (a taken port)."""

    async def stop(self) -> None:
        """Read no more; what was accepted may still settle."""

    async def close(self) -> None:
        """Give up connections, after everything that will settle has settled."""

    def unhealthy(self) -> str | None:
        """Why this source does not read, in one line; None where it does."""


@runtime_checkable
class Judge(Protocol):
    """Gives one judgement a run. `fills` names the fields its verdicts hold; `version` changes with whatever could
    change a verdict (prompt, criterion, model data)."""

    @property
    def tier(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def fills(self) -> Collection[str]: ...

    async def judge(self, run: RagRun) -> Judgement:
        """A verdict for each context of `run.judged`. Raises JudgeError with a reason; anything else it raises is
        counted as `internal_error`."""


@runtime_checkable
class Scorer(Protocol):
    """Turns a judgement into numbers. `needs` names the fields it reads; where no configured judge fills them it is
    off. `per` tells whether it gives one score a retrieval or one a run."""

    @property
    def name(self) -> str: ...
    @property
    def definition(self) -> str: ...
    @property
    def needs(self) -> frozenset[str]: ...
    @property
    def per(self) -> Literal["retrieval", "run"]: ...

    def refusal(self, run: RagRun) -> Reason | None:
        """Why no judgement whatever gives this run a score, None where one can. A run that all refuse reaches no
        judge."""

    def score_run(self, run: RagRun, judgement: Judgement) -> list[Score]:
        """Scores of a judged run; unscored ones where the run or the judgement lacks what this scorer needs."""

    def refuse(self, run: RagRun, reason: Reason, judged_by: JudgedBy | None = None) -> list[Score]:
        """The same list, all unscored: no judge was asked, or it failed. `judged_by` dates the version."""


@runtime_checkable
class CountsInFlight(Protocol):
    """A judge that has calls under way."""

    @property
    def in_flight(self) -> int: ...


@runtime_checkable
class HasRelatives(Protocol):
    """A scorer with others that come with it, from the same judgement. They take no part in outcome or alarms."""

    @property
    def relatives(self) -> Sequence[Scorer]: ...


@runtime_checkable
class HasCheapScores(Protocol):
    """A scorer whose scores a cheaper judge lets expect: the covariate f of the prediction-powered mean."""

    def cheap_scores(self, run: RagRun, screened: Judgement) -> list[float | None]:
        """f of each score of `score_run`, in its order and in 0..1, from the local judge's judgement alone. None
        where that says nothing."""


@runtime_checkable
class Asks(Protocol):
    """A judge that also answers questions of other scorers, one call each."""

    async def ask(self, *, instructions: str, run: RagRun, schema: dict[str, object]) -> tuple[str, JudgedBy]:
        """The raw reply to `instructions` about what `run` holds (its parts are quoted as untrusted material), and
        who gave it. `schema` is the JSON schema of the reply. Raises JudgeError."""


@runtime_checkable
class AskingScorer(Protocol):
    """A scorer with a call of its own, such as a rubric; one score a run. It is off where no judge `Asks`."""

    @property
    def name(self) -> str: ...
    @property
    def definition(self) -> str: ...
    @property
    def instructions(self) -> str: ...
    @property
    def schema(self) -> dict[str, object]: ...

    def refusal(self, run: RagRun) -> Reason | None:
        """Why no reply gives this run a score, None where one can."""

    def shown(self, run: RagRun) -> RagRun:
        """The run with only the parts that the question is about."""

    def read(self, run: RagRun, reply: str, judged_by: JudgedBy) -> Score:
        """The score of a reply. Raises JudgeError(judge_unreadable), whose detail says what was wrong."""

    def refuse(self, run: RagRun, reason: Reason, judged_by: JudgedBy | None = None) -> list[Score]:
        """The score, unscored."""


AnyScorer = Scorer | AskingScorer


@runtime_checkable
class Sink(Protocol):
    """Where evaluations go."""

    @property
    def name(self) -> str: ...

    async def emit(self, evaluation: Evaluation) -> None:
        """Return when the evaluation is delivered. Raises SinkError when it is not and will not be, whatever else it
        raises is taken for one."""

    async def close(self) -> None:
        """Send what waits, within the time the service gives, and close."""
