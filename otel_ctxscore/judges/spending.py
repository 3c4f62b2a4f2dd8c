"""What the judging of one run has taken so far."""

from __future__ import annotations

from dataclasses import dataclass

from otel_ctxscore.completion import Answer, Question
from otel_ctxscore.core.model import JudgedBy
from otel_ctxscore.judges.prices import Price
from otel_ctxscore.judges.quoting import tokens


@dataclass(slots=True)
class Spending:
    """Sums over the calls of a run. The cost is None as soon as the price of one call is unknown; tokens that a
    provider does not state are estimated, and cost what so many cost. `answered_as`
    is the model's name in the last reply."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    repaired: bool = False
    cut_contexts: int = 0
    answered_as: str = ""

    def add(self, question: Question, answer: Answer, seconds: float, price: Price | None) -> None:
        asked, said = answer.prompt_tokens, answer.completion_tokens
        asked = sum(tokens(m["content"]) for m in question.messages) if asked is None else asked
        said = tokens(answer.text + answer.reasoning) if said is None else said
        self.prompt_tokens += asked
        self.completion_tokens += said
        cost = None if price is None else price.of(asked, said, answer.cached_tokens)
        self.cost_usd = None if cost is None or self.cost_usd is None else self.cost_usd + cost
        self.calls += 1
        self.answered_as = answer.model
        self.seconds += seconds

    def by(self, tier: str, model: str, version: str, criterion: str | None) -> JudgedBy:
        return JudgedBy(
            tier,
            model,
            version,
            calls=self.calls,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cost_usd=self.cost_usd if self.calls else None,
            seconds=self.seconds,
            repaired=self.repaired,
            cut_contexts=self.cut_contexts,
            criterion=criterion,
        )
