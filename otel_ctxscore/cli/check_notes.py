"""What a configuration allows and may surprise: the notes of `check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from otel_ctxscore import parts
from otel_ctxscore.config import Config
from otel_ctxscore.config.judges import SampledJudge, llm_of
from otel_ctxscore.ports import AnyScorer

USUAL_PORTS = {4317: "grpc", 4318: "http/protobuf"}
"""Ports of OTLP receivers, and what is spoken there."""


def notes(config: Config, off: Sequence[AnyScorer]) -> list[str]:
    """A line each, of a configuration whose parts can be made. `off` are the scorers that its judge does not serve."""
    kinds = (_unread, _unjudged, _keyless, _misdirected, _forgetful)
    return [*_off(config, off), *(note for kind in kinds for note in kind(config))]


def _unread(config: Config) -> Iterator[str]:
    sampling = config.sampling
    greater = [rule.name for rule in sampling.rules if rule.rate > sampling.rate]
    if greater:
        yield (
            f"sampling.rules {', '.join(greater)} match after assembly: all traces up to the rate"
            f" {parts.sampler(config).head} are kept in memory until then"
        )
    otlp = config.sources.otlp
    if config.sources.kafka is None and (otlp is None or (otlp.grpc is None and otlp.http is None)):
        yield "no source is configured: the service would read nothing"


def _unjudged(config: Config) -> Iterator[str]:
    judge = config.judge
    if not parts.sampler(config).head:
        yield "sampling.rate is 0 and no rule has more: no run is judged"
    if isinstance(judge, SampledJudge) and judge.rate == 0:
        yield "judge.rate is 0: the LLM judges no run, and only its scores are published"


def _off(config: Config, off: Sequence[AnyScorer]) -> Iterator[str]:
    """Of those, the ones that the file asks for. One that is on by default is not asked for."""
    asked = config.scorers.model_fields_set | {target.scorer for target in config.targets}
    for scorer in off:
        if scorer.name in asked or scorer.name not in type(config.scorers).model_fields:
            yield f"{scorer.name} is off: the {config.judge.type} judge does not fill what it needs; an LLM judge does"


def _keyless(config: Config) -> Iterator[str]:
    """Keys of providers that are neither in the configuration nor in this environment."""
    llm = llm_of(config.judge)
    if llm is None or llm.api_key is not None or llm.api_base is not None:
        return
    import litellm

    for model in (llm.model, *llm.fallbacks):
        lacking = litellm.validate_environment(model).get("missing_keys") or []
        if lacking:
            yield f"{model} needs {', '.join(lacking)}, not set here: set it where the service runs, or set api_key"


def _misdirected(config: Config) -> Iterator[str]:
    otlp = config.sinks.otlp
    if otlp is None:
        return
    port = urlsplit(otlp.endpoint if "://" in otlp.endpoint else f"//{otlp.endpoint}").port
    spoken = USUAL_PORTS.get(port or 0, otlp.protocol)
    if spoken != otlp.protocol:
        yield f"sinks.otlp.endpoint: port {port} usually speaks {spoken}, and protocol is {otlp.protocol}"


def _forgetful(config: Config) -> Iterator[str]:
    folder = config.state.path
    if folder is not None and folder.exists() and not folder.is_dir():
        yield f"state.path: {folder} is no folder: nothing would survive a restart"
