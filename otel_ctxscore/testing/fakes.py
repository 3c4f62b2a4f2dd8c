"""Parts of the line without the world: a judge that answers from a script, a sink that keeps what it gets."""

from __future__ import annotations

from collections.abc import Callable

from otel_ctxscore.core.model import Evaluation, JudgedBy, Judgement, RagRun
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.ports import JudgeError

ALL_FIELDS = frozenset({"useful", "relevance", "used", "missing"})


class ScriptedJudge:
    """Answers `answer(run)`: a judgement, or the reason why there is none. `runs` holds what it was asked."""

    def __init__(
        self,
        answer: Callable[[RagRun], Judgement | Reason],
        *,
        tier: str = "custom",
        model: str = "scripted",
        version: str = "1",
        fills: frozenset[str] = ALL_FIELDS,
    ) -> None:
        self._answer = answer
        self.tier = tier
        self.model = model
        self.version = version
        self.fills = fills
        self.runs: list[RagRun] = []

    async def judge(self, run: RagRun) -> Judgement:
        self.runs.append(run)
        answer = self._answer(run)
        by = JudgedBy(self.tier, self.model, self.version, calls=1)
        if isinstance(answer, Reason):
            raise JudgeError(answer, "as scripted", by)
        return Judgement(answer.verdicts, answer.missing, answer.judged_by or by)


class MemorySink:
    """Keeps every evaluation in `evaluations`."""

    name = "memory"

    def __init__(self) -> None:
        self.evaluations: list[Evaluation] = []
        self.closed = False

    async def emit(self, evaluation: Evaluation) -> None:
        self.evaluations.append(evaluation)

    async def close(self) -> None:
        self.closed = True
