"""What a call costs: a shipped table of list prices, and prices of one's own over it.

An unknown price is None all the way to the output. It is never 0, which would read as free.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens. Cached prompt tokens cost as `input` where they have no price of their own."""

    input: float
    output: float
    cached_input: float | None = None

    def of(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """What a call of so many tokens cost. `cached_tokens` are those of the prompt that the provider had ready."""
        cached = min(max(cached_tokens, 0), prompt_tokens)
        rate = self.input if self.cached_input is None else self.cached_input
        fresh = (prompt_tokens - cached) * self.input
        return (fresh + cached * rate + completion_tokens * self.output) / _MILLION


def price(model: str, own: Mapping[str, Price]) -> Price | None:
    """The price of a litellm model name: one's own, else the shipped one, else None.

    A name without a provider is litellm's shorthand for OpenAI or Anthropic.
    """
    if model in own:
        return own[model]
    names = [model] if "/" in model else [f"openai/{model}", f"anthropic/{model}"]
    return next((found for name in names if (found := _shipped().get(name)) is not None), None)


@cache
def _shipped() -> dict[str, Price]:
    table = json.loads(files("otel_ctxscore.judges").joinpath("prices.json").read_text(encoding="utf-8"))
    return {name: Price(**rates) for name, rates in table["models"].items()}
