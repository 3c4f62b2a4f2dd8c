"""Configuration of the judges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from otel_ctxscore.config.section import Section
from otel_ctxscore.config.values import CodeOrPlugin, Duration, Filled, Options, Rate, Secret, Url


class LocalJudge(Section):
    type: Literal["local"] = "local"
    """The built-in judge: no key, no network."""
    derive_levels: bool = False
    """Also derive relevance levels from its probabilities (`context_relevance/derived`)."""
    calibration: Path | None = None
    """File written by `calibrate`, from labels of your own."""


class Price(Section):
    input: Annotated[float, Field(ge=0)]
    """US dollars for a million prompt tokens."""
    output: Annotated[float, Field(ge=0)]
    """US dollars for a million completion tokens."""
    cached_input: Annotated[float, Field(ge=0)] | None = None
    """The same for prompt tokens that the provider had cached; where null they cost as the others."""


class LlmJudge(Section):
    type: Literal["litellm"] = "litellm"
    """Any model that litellm reaches."""
    model: Filled
    """litellm model name, such as openai/gpt-4.1-mini."""
    api_base: Url | None = None
    """Base URL of an OpenAI-compatible server."""
    api_key: Secret | None = None
    """Key of the provider; where null litellm reads the provider's own variable."""
    deadline: Annotated[Duration, Field(gt=0)] = 60.0
    """Longest that a run may take, over all tries."""
    max_concurrency: Annotated[int, Field(ge=1)] = 64
    """Calls at the same time, at most; adapts below that."""
    params: dict[str, Any] = {}
    """Further parameters of the call, as litellm takes them."""
    fallbacks: list[Filled] = []
    """Models to ask, in order, where the first cannot answer."""
    prices: dict[str, Price] = {}
    """Prices by model, over the shipped table."""
    criterion: str | None = None
    """Your own wording of useful and relevant."""
    history: Annotated[int, Field(ge=0)] = 6
    """Earlier messages of the conversation that the judge sees."""
    redact: list[str] = []
    """Regular expressions, or "package:function", applied before text leaves the process."""
    on_outage: Literal["wait", "local", "skip"] = "wait"
    """While the circuit is open: keep runs waiting, use the local judge, or leave them unscored."""
    outage_limit: Duration = 1800.0
    """Longest that a run waits so; after it the run is unscored (`judge_unavailable`)."""
    prompt_tokens: Annotated[int, Field(ge=1000)] = 32_000
    """Tokens that a prompt may take. A longer context is cut, marked and counted; more contexts take several calls."""


class SampledJudge(Section):
    type: Literal["sampled"] = "sampled"
    """The local judge screens every run, the LLM judges a share."""
    local: LocalJudge = LocalJudge()
    """The screening judge."""
    llm: LlmJudge
    """The judge whose scores are published."""
    rate: Rate = 0.05
    """Mean share of runs that the LLM judges."""
    floor: Rate = 0.25
    """Smallest probability, as a share of `rate`."""


class CascadeJudge(Section):
    type: Literal["cascade"] = "cascade"
    """Runs the local judge is unsure of go to the LLM, and a share of the rest."""
    local: LocalJudge = LocalJudge()
    """The first judge."""
    llm: LlmJudge
    """The second judge."""
    band: Literal["auto"] | tuple[Rate, Rate] = "auto"
    """Probabilities between which the local judge is unsure."""
    rate: Rate = 0.05
    """Share of the sure runs that the LLM judges all the same."""

    @model_validator(mode="after")
    def _in_order(self) -> CascadeJudge:
        if self.band != "auto" and self.band[0] > self.band[1]:
            raise ValueError("band: the lower probability stands first")
        return self


class CrossEncoderJudge(Section):
    type: Literal["cross_encoder"] = "cross_encoder"
    """A cross-encoder exported to ONNX (needs the extra `cross-encoder`)."""
    model: Filled
    """Folder, or name on the hub."""
    calibration: Path | None = None
    """File written by `calibrate`."""


class CustomJudge(Section):
    type: Literal["custom"] = "custom"
    """A judge of your own."""
    judge: CodeOrPlugin
    """Factory, or the name of an entry point of `otel_ctxscore.judges`; called with `options`."""
    options: Options = {}
    """Its options."""


Judge = Annotated[
    LocalJudge | LlmJudge | SampledJudge | CascadeJudge | CrossEncoderJudge | CustomJudge,
    Field(discriminator="type"),
]


def llm_of(judge: Section) -> LlmJudge | None:
    """The section of the LLM that a judge asks, alone or as one of two."""
    if isinstance(judge, SampledJudge | CascadeJudge):
        return judge.llm
    return judge if isinstance(judge, LlmJudge) else None
