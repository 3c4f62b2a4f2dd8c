"""The judge that asks a language model: one call a run for all scorers.

A reply that is wrong is asked for again once, naming what was wrong; one that was cut off once with a larger
limit. What is still no whole answer then is an error with its reason, never a number.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from otel_ctxscore.completion import Completion, CompletionError, Fault, Question
from otel_ctxscore.core.model import JudgedBy, Judgement, RagRun, Verdict
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.judges import prompt, reply
from otel_ctxscore.judges.cache import VerdictCache, cache_key, known
from otel_ctxscore.judges.dialogue import Dialogue, ReplyError
from otel_ctxscore.judges.endpoint import Endpoint, OutageError
from otel_ctxscore.judges.panel import Panel
from otel_ctxscore.judges.prices import Price, price
from otel_ctxscore.judges.redaction import redaction
from otel_ctxscore.judges.spending import Spending
from otel_ctxscore.judges.stopwatch import Stopwatch
from otel_ctxscore.ports import ConfigError, Judge, JudgeError

T = TypeVar("T")

REASONS = {
    Fault.BUSY: Reason.JUDGE_UNAVAILABLE,
    Fault.DOWN: Reason.JUDGE_UNAVAILABLE,
    Fault.REFUSED: Reason.JUDGE_REFUSED,
    Fault.REJECTED: Reason.JUDGE_REJECTED,
    Fault.UNAUTHORISED: Reason.JUDGE_REJECTED,
}
_SHARE_OF_INPUT = 0.7
"""Of what a model takes: token counts here are estimates."""
_MOST_VERSIONS = 100
"""Names of models, each a version and a series of its own; a provider may answer under any number of them."""
_FURTHER = "(other)"
_SECRET = re.compile(r"(key|token|secret|password|credentials?|authorization)$", re.IGNORECASE)
"""What a parameter is called that changes with no verdict, but with the rotation of keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the judge judges. `deadline` and `outage_limit` are seconds.

    `deadline` is for all tries of a run; waiting for a place or on an open circuit is not in it. `on_outage` says
    what becomes of a run while no model answers: it waits for at most `outage_limit`, the local judge judges it,
    or it is left unscored. `params` go with each call; they are named here to be part of the version.
    """

    criterion: str | None = None
    history: int = 6
    deadline: float = 60.0
    max_concurrency: int = 64
    prompt_tokens: int = prompt.PROMPT_TOKENS
    redact: Sequence[str] = ()
    prices: Mapping[str, Price] = field(default_factory=dict)
    params: Mapping[str, object] = field(default_factory=dict)
    on_outage: Literal["wait", "local", "skip"] = "wait"
    outage_limit: float = 1800.0


class LLMJudge:
    """Fills every field. `completions` are the models in order of preference; the first one names the judge."""

    tier = "llm"
    fills = frozenset({"useful", "relevance", "used", "missing"})

    def __init__(
        self,
        completions: Sequence[Completion],
        options: Options | None = None,
        *,
        local: Judge | None = None,
        cache: VerdictCache | None = None,
    ) -> None:
        self.options = options or Options()
        if self.options.on_outage == "local" and local is None:
            raise ConfigError("on_outage: local needs a local judge")
        self._local = local
        self._cache = cache
        self._redact = redaction(self.options.redact)
        self._system = prompt.instructions(self.options.criterion)
        self.completions = tuple(completions)
        endpoints = [Endpoint(completion, self.options.max_concurrency) for completion in completions]
        self._panel = Panel(endpoints, self.options.outage_limit if self.options.on_outage == "wait" else 0)
        self._dialogues = {e.model: Dialogue(e, price(e.model, self.options.prices)) for e in endpoints}
        self._versions = {e.model: self._version(e.model) for e in endpoints}

    @property
    def model(self) -> str:
        return self._panel.endpoints[0].model

    @property
    def version(self) -> str:
        return self._versions[self.model]

    @property
    def in_flight(self) -> int:
        """Calls under way."""
        return sum(endpoint.concurrency.in_flight for endpoint in self._panel.endpoints)

    @property
    def trouble(self) -> str | None:
        """Which models are not asked now and why, in one line; None where all are."""
        lines = [f"{e.model} is stopped: {e.stopped}" for e in self._panel.endpoints if e.stopped is not None]
        lines += [f"{e.model} does not answer" for e in self._panel.endpoints if e.circuit.is_open]
        return "; ".join(lines) or None

    async def judge(self, run: RagRun) -> Judgement:
        """One judgement, by one call where all goes well. Raises JudgeError."""
        if run.refused is not None:
            raise JudgeError(run.refused)

        async def judged(endpoint: Endpoint, tries: int | None) -> Judgement:
            return await self._judge_at(endpoint, run, work, tries)

        work = _Work(Stopwatch(self.options.deadline), Spending())
        try:
            return await self._first(judged, work)
        except JudgeError as error:
            if self._local is not None and isinstance(error.__cause__, OutageError):
                return await self._local.judge(run)
            raise

    async def ask(self, *, instructions: str, run: RagRun, schema: Mapping[str, object]) -> tuple[str, JudgedBy]:
        """A rubric's own question about a run, with the same quoting, retries and accounting.

        The reply comes back as the text of its one JSON object that has a key of the schema and is not quoted
        from the material; a reply without any JSON as it is. Raises JudgeError.
        """

        async def asked(endpoint: Endpoint, tries: int | None) -> tuple[str, JudgedBy]:
            return await self._ask_at(endpoint, instructions, run, schema, work, tries)

        work = _Work(Stopwatch(self.options.deadline), Spending())
        return await self._first(asked, work)

    async def _first(self, work_at: Callable[[Endpoint, int | None], Awaitable[T]], work: _Work) -> T:
        """The result at the first model that gives one; every way to none becomes a JudgeError."""
        try:
            return await self._panel.first(work_at, work.watch)
        except OutageError as error:
            raise JudgeError(Reason.JUDGE_UNAVAILABLE, str(error), self._by(self.model, work.spending)) from error
        except CompletionError as error:
            reason = REASONS[error.fault]
            raise JudgeError(reason, error.detail, self._by(self.model, work.spending)) from error

    async def _judge_at(self, endpoint: Endpoint, run: RagRun, work: _Work, tries: int | None) -> Judgement:
        shown = prompt.exhibit(run, self._redact, self.options.history, self._prompt_tokens(endpoint))
        key = cache_key(self._versions[endpoint.model], shown)
        found = await self._cache.get(key) if self._cache is not None else None
        if found is not None:
            return known(found)
        work.spending.cut_contexts = shown.cut_contexts
        verdicts, missing = await self._verdicts(endpoint, shown, work, tries)
        judgement = Judgement(verdicts, missing, self._by(endpoint.model, work.spending))
        if self._cache is not None:
            await self._cache.put(key, judgement)
        return judgement

    async def _verdicts(
        self, endpoint: Endpoint, shown: prompt.Exhibit, work: _Work, tries: int | None
    ) -> tuple[list[Verdict], tuple[str, ...] | None]:
        """Portion by portion. Each one after the first says what of the missing pieces it does not hold either."""
        verdicts: list[Verdict] = []
        missing: tuple[str, ...] | None = None
        for portion in prompt.portions(shown, self._prompt_tokens(endpoint), endpoint.completion.output_limit):
            reading = await self._whole(endpoint, work, tries, *self._exchange(shown, portion, missing))
            verdicts += reading.verdicts
            missing = reading.missing if missing is not None or not portion.start else None
        return verdicts, missing

    def _exchange(
        self, shown: prompt.Exhibit, portion: range, missing: tuple[str, ...] | None
    ) -> tuple[Callable[[str | None], Question], Callable[[str], reply.Reading | reply.Wrong]]:
        """How to ask about a portion, and how to read the reply."""

        def build(wrong: str | None) -> Question:
            return prompt.question(self._system, shown, portion, missing, wrong)

        def read(text: str) -> reply.Reading | reply.Wrong:
            return reply.read(text, len(portion), shown.material, with_response=shown.response is not None)

        return build, read

    async def _ask_at(
        self,
        endpoint: Endpoint,
        instructions: str,
        run: RagRun,
        schema: Mapping[str, object],
        work: _Work,
        tries: int | None,
    ) -> tuple[str, JudgedBy]:
        shown = prompt.exhibit(run, self._redact, self.options.history, self._prompt_tokens(endpoint), whole=True)
        work.spending.cut_contexts = shown.cut_contexts
        text = await self._whole(
            endpoint,
            work,
            tries,
            lambda wrong: prompt.rubric_question(instructions, shown, schema, wrong),
            lambda text: reply.one_object(text, schema, shown.material),
        )
        return text, self._by(endpoint.model, work.spending)

    async def _whole(
        self,
        endpoint: Endpoint,
        work: _Work,
        tries: int | None,
        build: Callable[[str | None], Question],
        read: Callable[[str], T | reply.Wrong],
    ) -> T:
        try:
            return await self._dialogues[endpoint.model].until_whole(build, read, work.watch, work.spending, tries)
        except ReplyError as error:
            raise JudgeError(error.reason, error.detail, self._by(endpoint.model, work.spending)) from error

    def _prompt_tokens(self, endpoint: Endpoint) -> int:
        most = endpoint.completion.input_limit
        return (
            self.options.prompt_tokens if most is None else min(self.options.prompt_tokens, int(most * _SHARE_OF_INPUT))
        )

    def _by(self, asked: str, spending: Spending) -> JudgedBy:
        """Who judged: the model that really answered, for an alias moves without notice."""
        model = answered(asked, spending.answered_as)
        if model not in self._versions and len(self._versions) >= _MOST_VERSIONS:
            model = f"{asked} {_FURTHER}"
        if model not in self._versions:
            self._versions[model] = self._version(model)
        return spending.by(self.tier, model, self._versions[model], self.options.criterion)

    def _version(self, model: str) -> str:
        options = self.options
        parts = [prompt.fingerprint(options.criterion), model, options.history, options.prompt_tokens]
        text = json.dumps([*parts, list(options.redact), _without_secrets(options.params)], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _without_secrets(params: Any) -> Any:
    if isinstance(params, Mapping):
        return {key: _without_secrets(value) for key, value in params.items() if not _SECRET.search(str(key))}
    return params


def answered(asked: str, said: str) -> str:
    """litellm's name of the model that answered, from the name that was asked and the one in the reply."""
    provider, _, name = asked.rpartition("/")
    if not said or said in (asked, name) or asked.endswith(f"/{said}"):
        return asked
    return f"{provider}/{said}" if provider and not said.startswith(f"{provider}/") else said


@dataclass(frozen=True, slots=True)
class _Work:
    """The judging of one run: its time and what it takes."""

    watch: Stopwatch
    spending: Spending
