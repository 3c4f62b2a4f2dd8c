"""The one typed model of the configuration: every key, its default, its bounds and what it means.

The JSON schema, the commented reference and the linter of `check` are made from these classes.
"""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Literal

from pydantic import Field, model_validator

from otel_ctxscore.config.intake import Assembly, Extraction, Sampling, Sources
from otel_ctxscore.config.judges import Judge, LocalJudge
from otel_ctxscore.config.outlets import Admin, Content, Metrics, Sinks, State
from otel_ctxscore.config.section import Section
from otel_ctxscore.config.values import Duration, Filled, Rate, split_address

EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 -- to know them


class Budget(Section):
    runs_per_minute: Annotated[float, Field(gt=0)] | None = None
    """Judged runs a minute."""
    tokens_per_day: Annotated[int, Field(gt=0)] | None = None
    """LLM tokens a day (UTC)."""
    usd_per_day: Annotated[float, Field(gt=0)] | None = None
    """LLM price a day (UTC), US dollars."""
    replicas: Annotated[int, Field(ge=1)] = 1
    """Replicas that share the budget on OTLP."""


class Penalties(Section):
    unused_high: Annotated[float, Field(ge=0)] = 0.1
    """Subtracted for each highly relevant context that was not used."""
    missing_per_item: Annotated[float, Field(ge=0)] = 0.15
    """Subtracted for each missing piece of information."""
    max_missing: Annotated[float, Field(ge=0)] = 0.5
    """Largest sum subtracted for missing pieces."""


class PrecisionScorer(Section):
    scale: Annotated[float, Field(gt=0)] = 1
    """What a perfect list scores."""


class RelevanceScorer(Section):
    scale: Annotated[float, Field(gt=0)] = 1
    """What perfect contexts score."""
    penalties: Penalties = Penalties()
    """What is subtracted for what."""


class Scorers(Section):
    context_precision: PrecisionScorer | None = PrecisionScorer()
    """Average precision of each ranked list; null switches it off."""
    context_relevance: RelevanceScorer | None = RelevanceScorer()
    """Graded relevance of the turn's contexts; null switches it off."""
    rubrics: list[str] = []
    """faithfulness, answer_relevancy, or the path of a Markdown rubric."""

    @model_validator(mode="after")
    def _once(self) -> Scorers:
        doubled = {name for name in self.rubrics if self.rubrics.count(name) > 1}
        if doubled:
            raise ValueError(f"rubrics: {', '.join(sorted(doubled))} stands there more than once")
        return self


class Target(Section):
    service: str = "*"
    """Service, or * for all."""
    scorer: str = "context_precision"
    """Scorer the target is for."""
    target: Rate = 0.8
    """Mean to be kept."""
    bad_below: Rate = 0.5
    """A run with a lower score is bad."""


class Pinned(Section):
    pinned: Rate
    """The reference itself."""


class Alarm(Section):
    reference: Literal["learned"] | Pinned = "learned"
    """What the mean is compared with."""
    margin: Annotated[float, Field(ge=0.001, le=1, strict=True)] = 0.02
    """How far below the reference the mean may lie."""
    false_alarm: Annotated[Duration, Field(gt=0)] = 90 * 86400.0
    """Wanted mean time between false alarms."""


class Shutdown(Section):
    grace: Duration = 20.0
    """Longest that a stop may take."""


class Log(Section):
    level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged."""
    format: Literal["text", "json"] = "text"
    """One line of text or one JSON object an event."""


class Config(Section):
    """The whole configuration. `Config()` is what the service runs with where no file is given."""

    sources: Sources = Sources()
    """Where spans come from."""
    sampling: Sampling = Sampling()
    """Which runs are judged."""
    budget: Budget = Budget()
    """How much may be judged."""
    assembly: Assembly = Assembly()
    """When a trace is complete."""
    extraction: Extraction = Extraction()
    """What is read out of a trace."""
    judge: Judge = LocalJudge()
    """Who judges."""
    scorers: Scorers = Scorers()
    """What is scored."""
    targets: list[Target] = []
    """What a service is held to."""
    alarm: Alarm = Alarm()
    """When a drop is an alarm."""
    segments: dict[Filled, Filled] = {}
    """Labels from attributes, such as version: service.version."""
    metrics: Metrics = Metrics()
    """Limits of the metrics."""
    sinks: Sinks = Sinks()
    """Where evaluations go."""
    state: State = State()
    """What survives a restart."""
    content: Content = Content()
    """What happens to text."""
    admin: Admin = Admin()
    """Page, API, metrics and health."""
    shutdown: Shutdown = Shutdown()
    """How the service stops."""
    log: Log = Log()
    """What is logged."""

    @model_validator(mode="after")
    def _each_its_port(self) -> Config:
        listening = self.listening()
        places = {key: split_address(address) for key, address in listening.items()}
        for (one, (host, port)), (other, (other_host, other_port)) in combinations(places.items(), 2):
            if port and port == other_port and (host == other_host or {host, other_host} & EVERY_ADDRESS):
                raise ValueError(f"{other}: {listening[other]} is taken by {one}, {listening[one]}")
        return self

    def listening(self) -> dict[str, str]:
        """The addresses that a service listens on, by their keys."""
        found = {"admin.listen": self.admin.listen}
        if (otlp := self.sources.otlp) is not None:
            found |= {"sources.otlp.grpc": otlp.grpc or "", "sources.otlp.http": otlp.http or ""}
        return {key: address for key, address in found.items() if address}
