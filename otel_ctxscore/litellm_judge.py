"""`LiteLLMJudge`: the LLM judge over litellm, wired from the options a user gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from otel_ctxscore.io.litellm import LiteLLMCompletion, Structured
from otel_ctxscore.judges.cache import VerdictCache
from otel_ctxscore.judges.llm import LLMJudge, Options
from otel_ctxscore.judges.prices import Price
from otel_ctxscore.judges.prompt import PROMPT_TOKENS
from otel_ctxscore.ports import Judge


class LiteLLMJudge(LLMJudge):
    """Judges by any model that litellm reaches; `model` is litellm's name for it, such as `openai/gpt-4.1-mini`.

    The options are those of the configuration's `judge` section, durations in seconds. `prices` are US dollars for
    a million tokens, `{model: {"input": ..., "output": ...}}`, over the shipped table. `fallbacks` are asked where
    the model before is out; they share `api_base`, `api_key` and `params` with it where they are of its provider.
    `outage_limit` bounds how long a run waits under `on_outage="wait"`; `local` is the judge of `on_outage="local"`.
    `cache` keeps verdicts. Constructing one imports litellm, which takes seconds.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        params: Mapping[str, Any] | None = None,
        fallbacks: Sequence[str] = (),
        structured: Structured | None = None,
        deadline: float = 60.0,
        max_concurrency: int = 64,
        prices: Mapping[str, Mapping[str, float]] | None = None,
        criterion: str | None = None,
        history: int = 6,
        redact: Sequence[str] = (),
        prompt_tokens: int = PROMPT_TOKENS,
        on_outage: Literal["wait", "local", "skip"] = "wait",
        outage_limit: float = 1800.0,
        local: Judge | None = None,
        cache: VerdictCache | None = None,
    ) -> None:
        provider = model.partition("/")[0]
        completions = [
            LiteLLMCompletion(
                name,
                api_base=api_base if name.partition("/")[0] == provider else None,
                api_key=api_key if name.partition("/")[0] == provider else None,
                params=params,
                structured=structured,
            )
            for name in (model, *fallbacks)
        ]
        options = Options(
            criterion=criterion,
            history=history,
            deadline=deadline,
            max_concurrency=max_concurrency,
            prompt_tokens=prompt_tokens,
            redact=redact,
            prices={name: Price(**rates) for name, rates in (prices or {}).items()},
            params=params or {},
            on_outage=on_outage,
            outage_limit=outage_limit,
        )
        super().__init__(completions, options, local=local, cache=cache)
