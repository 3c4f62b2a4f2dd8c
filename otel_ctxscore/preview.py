"""What a configuration would spend and what that buys, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from otel_ctxscore.config import Config
from otel_ctxscore.config import model as cfg
from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.judges import prompt
from otel_ctxscore.judges.prices import Price, price
from otel_ctxscore.judges.quoting import tokens

CONTEXTS, WORDS = 5, 150
"""The run that the preview counts with: so many contexts of so many words."""
VERDICT_TOKENS, REPLY_TOKENS = 45, 20
"""What a reply usually takes: a verdict with its note, and what stands around them."""
SPREAD = 0.36
"""Standard deviation of average precision over runs at a mean of .68, a wide one: the interval is rather too wide."""
MINUTES_A_DAY = 1440


@dataclass(frozen=True, slots=True)
class Preview:
    """Runs, calls, tokens and US dollars a day, and the half-width of the 95 % interval of the mean of an hour and
    of a day. `usd` is None where the price of the model is unknown."""

    runs: float
    calls: float
    prompt_tokens: float
    completion_tokens: float
    usd: float | None
    half_width_hour: float
    half_width_day: float


def preview(config: Config, runs_per_minute: float) -> Preview:
    """The day of a service with so many runs a minute. Sampling rules are left out: what they match is not known."""
    judged = runs_per_minute * config.sampling.rate
    llm = config.judge if isinstance(config.judge, cfg.LlmJudge) else None
    calls = judged * MINUTES_A_DAY if llm is not None else 0.0
    asked, answered = _tokens_of_a_call(llm)
    rates = price(llm.model, {name: Price(**dict(own)) for name, own in llm.prices.items()}) if llm else Price(0, 0)
    usd = calls * (asked * rates.input + answered * rates.output) / 1e6 if rates else None
    return Preview(
        judged * MINUTES_A_DAY,
        calls,
        calls * asked,
        calls * answered,
        usd,
        _half_width(judged * 60),
        _half_width(judged * MINUTES_A_DAY),
    )


def _tokens_of_a_call(llm: cfg.LlmJudge | None) -> tuple[float, float]:
    """Tokens of the prompt and of the reply for a typical run."""
    if llm is None:
        return 0.0, 0.0
    passage = " ".join(["passage"] * WORDS)
    contexts = [Context(f"{place} {passage}") for place in range(CONTEXTS)]
    run = RagRun("a question of about ten words or so", [Retrieval(contexts)], passage)
    shown = prompt.exhibit(run, str, llm.history, prompt.PROMPT_TOKENS)
    asked = prompt.question(prompt.instructions(llm.criterion), shown, range(CONTEXTS), None, None)
    return float(
        sum(tokens(message["content"]) for message in asked.messages)
    ), CONTEXTS * VERDICT_TOKENS + REPLY_TOKENS


def _half_width(runs: float) -> float:
    return 1.96 * SPREAD / math.sqrt(runs) if runs > 0 else math.inf


def told(seen: Preview) -> Iterator[str]:
    """The preview in words, a line each."""
    yield f"judged runs a day   {seen.runs:,.0f}"
    yield f"LLM calls a day     {seen.calls:,.0f}"
    if seen.calls:
        yield f"tokens a day        {seen.prompt_tokens:,.0f} prompt, {seen.completion_tokens:,.0f} completion"
        yield f"price a day         {'unknown: set judge.prices' if seen.usd is None else f'{seen.usd:,.2f} USD'}"
    yield f"95 % interval       ± {seen.half_width_hour:.3f} for an hour, ± {seen.half_width_day:.3f} for a day"
    yield f"counted with {CONTEXTS} contexts of {WORDS} words a run, one call a run, no cached verdicts"
