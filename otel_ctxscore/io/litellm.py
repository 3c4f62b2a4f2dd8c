"""One call to any provider through litellm. Retries, limits, cache and price are the judges' own.

Importing litellm costs seconds and a hundred megabytes, so it happens when a completion is constructed, not before.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal

from otel_ctxscore.completion import Answer, CompletionError, Fault, Question
from otel_ctxscore.core.urls import is_url
from otel_ctxscore.io.litellm_faults import completion_error, malformed, unaccepted
from otel_ctxscore.ports import ConfigError

Structured = Literal["json_schema", "tool", "prompt"]

_OURS = frozenset(
    {"model", "messages", "stream", "timeout", "num_retries", "max_retries", "fallbacks", "api_key", "api_base", "n"}
)
_NEVER = 3600.0
"""Seconds. The deadline is ours; litellm makes a client with a connection pool for each different time-out."""
_NAME = "judgement"
_MOST_TOKENS = 1_000_000_000
"""A count that no call can have is none."""
_MODEL_NAME = re.compile(r"[!-~]{1,200}")
_QUIET = ("LiteLLM", "openai", "httpx", "httpcore")
_ALONE = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_MODE": "PRODUCTION",
}
"""No price list from the network, no .env file of the working directory."""


def _import() -> Any:
    """litellm, set up to keep to itself: no network of its own, no telemetry, and no log lines.

    What its loggers and those below it write can hold a key (in a URL) or the text of a prompt; what pydantic warns
    of, some of the text of a reply.
    """
    for name, value in _ALONE.items():
        os.environ.setdefault(name, value)
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


class LiteLLMCompletion:
    """A `Completion`. `params` go with each call as litellm takes them.

    The reply's form is asked for by JSON schema where litellm knows that the model takes one, by a tool call where
    it knows that of tools only, and else by the prompt alone; `structured` overrides that. What a provider does
    not accept (temperature, the schema) is left out from then on.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        params: Mapping[str, Any] | None = None,
        structured: Structured | None = None,
    ) -> None:
        self.model = model
        refused = _OURS & set(params or {})
        if refused:
            raise ConfigError(f"params: {', '.join(sorted(refused))} cannot be set there")
        if api_base is not None and not is_url(api_base):
            raise ConfigError("api_base: it is no URL; write http://... or https://...")
        self.litellm = _import()
        self._provider = self._known_provider(api_base)
        self._structured: Structured = structured or self._best_structure()
        self._temperature = self._takes_temperature()
        self._limit_name = "max_tokens"
        self._fixed: dict[str, Any] = {
            "model": model,
            "api_base": api_base,
            "api_key": api_key,
            "timeout": _NEVER,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            "no-log": True,
            **(params or {}),
        }

    @property
    def input_limit(self) -> int | None:
        """What litellm's list says; None for a model that is not on it."""
        return self._limits[0]

    @property
    def output_limit(self) -> int | None:
        """Likewise."""
        return self._limits[1]

    @cached_property
    def _limits(self) -> tuple[int | None, int | None]:
        """Remembered: a model that litellm does not know costs an exception each time."""
        with suppress(Exception):  # it raises a bare Exception for a model it does not know
            info = self.litellm.get_model_info(self.model)
            most_in, most_out = (info.get(name) for name in ("max_input_tokens", "max_output_tokens"))
            return most_in if isinstance(most_in, int) else None, most_out if isinstance(most_out, int) else None
        return None, None

    async def complete(self, question: Question, seconds: float) -> Answer:
        """One answer. A provider that refuses one of our own optional parameters is asked again without it."""
        self._keep_out_of_its_log()
        try:
            async with asyncio.timeout(seconds):
                while True:
                    try:
                        return _answer(await self.litellm.acompletion(**self._call(question)))
                    except Exception as error:
                        if malformed(error):
                            return Answer(finish_reason="malformed")
                        if not self._does_without(error):
                            raise completion_error(error, time.time()) from None
        except TimeoutError:
            raise CompletionError(Fault.DOWN, f"no whole answer within {seconds:.3g} s") from None

    def _keep_out_of_its_log(self) -> None:
        """Marks the calls of this task as internal to litellm: its logging worker, which queues whole requests and
        is bound to one event loop, then does not see them."""
        from litellm._internal_context import is_internal_call

        is_internal_call.set(True)

    def _call(self, question: Question) -> dict[str, Any]:
        call: dict[str, Any] = {
            "messages": [dict(message) for message in question.messages],
            self._limit_name: min(question.max_tokens, self.output_limit or question.max_tokens),
            **self._form(question.schema),
        }
        if self._temperature:
            call["temperature"] = 0
        return {**call, **self._fixed}

    def _form(self, schema: Mapping[str, object]) -> dict[str, Any]:
        if self._structured == "json_schema":
            strict = schema.get("additionalProperties") is False
            body = {"name": _NAME, "schema": schema, "strict": strict}
            return {"response_format": {"type": "json_schema", "json_schema": body}}
        if self._structured == "tool":
            tool = {"name": _NAME, "description": "Gives the answer.", "parameters": schema}
            choice = {"type": "function", "function": {"name": _NAME}}
            return {"tools": [{"type": "function", "function": tool}], "tool_choice": choice}
        return {}

    def _does_without(self, error: Exception) -> bool:
        """Whether the call is worth making again, without what this provider does not accept."""
        named = unaccepted(error)
        changed = False
        if "structure" in named and self._structured != "prompt":
            self._structured, changed = "prompt", True
        if "temperature" in named and self._temperature:
            self._temperature, changed = False, True
        if "max_tokens" in named and self._limit_name == "max_tokens":
            self._limit_name, changed = "max_completion_tokens", True
        return changed

    def _known_provider(self, api_base: str | None) -> str | None:
        try:
            return str(self.litellm.get_llm_provider(self.model, api_base=api_base)[1])
        except Exception as error:
            raise ConfigError(
                f"model: {self.model!r} names no provider that litellm knows; write PROVIDER/MODEL, "
                "such as openai/gpt-4.1-mini (openai/ANY with api_base for a server that speaks its protocol)"
            ) from error

    def _best_structure(self) -> Structured:
        known = {"model": self.model, "custom_llm_provider": self._provider}
        if self.litellm.supports_response_schema(**known):
            return "json_schema"
        return "tool" if self.litellm.supports_function_calling(**known) else "prompt"

    def _takes_temperature(self) -> bool:
        known = self.litellm.get_supported_openai_params(model=self.model, custom_llm_provider=self._provider)
        return "temperature" in (known or ())


def _answer(response: Any) -> Answer:
    """What litellm returns, as a value. A reply without a choice is an empty answer."""
    usage = getattr(response, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    tokens: dict[str, Any] = {
        "prompt_tokens": _count(getattr(usage, "prompt_tokens", None)),
        "completion_tokens": _count(getattr(usage, "completion_tokens", None)),
        "cached_tokens": _count(getattr(details, "cached_tokens", None)) or 0,
    }
    if not response.choices:
        return Answer(**tokens)
    choice = response.choices[0]
    message = choice.message
    name = _text(response.model)
    return Answer(
        text=_arguments(message) or _text(message.content),
        reasoning=_text(getattr(message, "reasoning_content", None)),
        refusal=_text(getattr(message, "refusal", None) or (message.provider_specific_fields or {}).get("refusal")),
        finish_reason=_text(choice.finish_reason),
        model=name if _MODEL_NAME.fullmatch(name) else "",
        **tokens,
    )


def _count(value: object) -> int | None:
    """A number of tokens; None where none is stated, which litellm turns into 0, or what is stated is none."""
    return value if isinstance(value, int) and 0 < value <= _MOST_TOKENS else None


def _arguments(message: Any) -> str:
    """The arguments of all calls, one below the other: two calls that differ are two answers. Empty where they hold
    nothing."""
    functions = [call.function for call in getattr(message, "tool_calls", None) or ()]
    functions.append(getattr(message, "function_call", None))
    given = [getattr(function, "arguments", None) for function in functions]
    texts = [one if isinstance(one, str) else json.dumps(one) for one in given if one]
    return "\n".join(text for text in texts if text.strip() not in ("", "{}", "null"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
