"""Two judges: the local one sees every admitted run, the LLM those that are drawn, whole.

The probability of being drawn is fixed before the draw, from the run and what was seen before it, never from what
the LLM says; so a mean weighted by its inverse is that of all runs (Horvitz-Thompson). The draw itself is a hash of
the trace id with a salt of its own, independent of the one that sampled the trace: all runs of a trace share it.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass

from otel_ctxscore.core.model import Judgement, RagRun
from otel_ctxscore.core.sampling import seed_of, uniform
from otel_ctxscore.ports import Judge


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was decided of a run. `screened` is the local judgement, there for every run.

    `probability` is that of being judged by the LLM, budget included; `wanted` is it without the budget. `judge` is
    the LLM judge to ask, None where the run was not drawn; `over_budget` where it would have been but for the budget.
    """

    screened: Judgement
    probability: float
    judge: Judge | None
    over_budget: bool = False
    wanted: float = 1.0


class TwoJudges(ABC):
    """The local judge and the LLM judge. The rule of drawing is the subclass's."""

    def __init__(self, local: Judge, llm: Judge, *, salt: str = "") -> None:
        self.local = local
        self.llm = llm
        self._seed = seed_of(salt, "judging")

    @abstractmethod
    def probability(self, screened: Judgement) -> float:
        """The probability, above 0, with which a run with this local judgement goes to the LLM."""

    async def draw(self, run: RagRun, *, share: float = 1.0) -> Drawn:
        """Screen a run and decide. `share` is what the budget lets through of those that would be drawn, fixed
        ahead of the time it is for; at 0 nothing is drawn. Raises what the local judge raises."""
        screened = await self.local.judge(run)
        wanted = self.probability(screened)
        allowed = wanted * share
        place = uniform(_identity(run), self._seed)
        return Drawn(screened, allowed, self.llm if place < allowed else None, allowed <= place < wanted, wanted)


def _identity(run: RagRun) -> bytes:
    """The trace id; for a run without a trace, what it asks and what was found."""
    if run.trace_id is not None:
        return bytes.fromhex(run.trace_id)
    texts = [run.query or "", *(context.text for context in run.judged)]
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).digest()
