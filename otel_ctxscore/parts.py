"""From the configuration to the parts of the line: what `serve` and `score` have in common."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from otel_ctxscore import config as configuration
from otel_ctxscore.config import Config
from otel_ctxscore.config import judges as cfg
from otel_ctxscore.core import assembly
from otel_ctxscore.core.budget import Budget, Limits
from otel_ctxscore.core.conventions import Extraction, Mapping, Options, extract
from otel_ctxscore.core.errors import ConfigError, under
from otel_ctxscore.core.model import JudgedBy, RagRun, Retrieval
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.sampling import Match, Rule, Sampler
from otel_ctxscore.core.spans import Trace
from otel_ctxscore.evaluation import check_names, on, with_relatives
from otel_ctxscore.extractor import OwnContexts
from otel_ctxscore.io.without_text import WithoutText
from otel_ctxscore.judges.cache import VerdictCache
from otel_ctxscore.judges.cascade import AUTO_BAND, CascadeJudge
from otel_ctxscore.judges.drawing import TwoJudges
from otel_ctxscore.judges.local import LocalJudge
from otel_ctxscore.judges.prices import Price, price
from otel_ctxscore.judges.sampled import SampledJudge
from otel_ctxscore.plugins import imported, made, named, plugins
from otel_ctxscore.ports import AnyScorer, AskingScorer, Judge, Scorer, Sink
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.scorers.context_relevance import ContextRelevance, Penalties
from otel_ctxscore.scorers.rubric import Rubric


def sampler(config: Config) -> Sampler:
    """The sampler of `sampling`."""
    rules = [Rule(rule.name, Match(**dict(rule.match)), rule.rate) for rule in config.sampling.rules]
    return Sampler(config.sampling.rate, rules, config.sampling.salt)


def limits(config: Config) -> assembly.Limits:
    """The limits of `assembly`."""
    return assembly.Limits(**dict(config.assembly))


def options(config: Config) -> Options:
    """The options of `extraction`. Raises ConfigError for a mapping that is not valid."""
    section = config.extraction
    return Options(
        retrievals=section.retrievals,
        query_from=section.query_from,
        min_document_score=section.min_document_score,
        max_contexts=section.max_contexts,
        prompt_separator=section.prompt_separator,
        retrieval_tools=tuple(section.retrieval_tools),
        mappings=tuple(_mapping(place, raw) for place, raw in enumerate(section.mappings)),
        own_contexts=section.extractor is not None,
    )


def _mapping(place: int, raw: dict[str, Any]) -> Mapping:
    try:
        return Mapping.from_dict(raw)
    except ValueError as error:
        raise ConfigError(f"extraction.mappings[{place}]: {error}") from None


def reader(config: Config) -> Callable[[Trace], Awaitable[Extraction]]:
    """What turns a trace into runs: mappings, plug-ins and conventions, and an extractor of the user's own."""
    chosen, others, own = options(config), tuple(plugins("conventions", "extraction").values()), _own_contexts(config)

    async def read(trace: Trace) -> Extraction:
        extraction = extract(trace, chosen, plugins=others)
        return extraction if own is None else await own.into(trace, extraction)

    return read


def _own_contexts(config: Config) -> OwnContexts | None:
    section = config.extraction
    if section.extractor is None:
        return None
    extractor = imported(section.extractor, "extraction.extractor")
    if not inspect.iscoroutinefunction(extractor):
        raise ConfigError(f"extraction.extractor: {section.extractor} is not an async function")
    return OwnContexts(
        extractor,
        deadline=section.extractor_deadline,
        concurrency=section.extractor_concurrency,
        min_document_score=section.min_document_score,
        max_contexts=section.max_contexts,
    )


def judge(config: Config, cache: VerdictCache | None = None) -> Judge | TwoJudges:
    """The judge of `judge`, or the two of `sampled` and `cascade`. Only an LLM judge loads litellm; `cache` keeps its
    verdicts."""
    section = config.judge
    if isinstance(section, cfg.LocalJudge):
        return _local_judge(section)
    if isinstance(section, cfg.LlmJudge):
        return _llm_judge(section, cache, "judge")
    if isinstance(section, cfg.SampledJudge):
        local = _local_judge(section.local, derive_levels=True)
        llm, salt = _llm_judge(section.llm, cache, "judge.llm"), config.sampling.salt
        return SampledJudge(local, llm, rate=section.rate, floor=section.floor, salt=salt)
    if isinstance(section, cfg.CascadeJudge):
        local, llm = _local_judge(section.local), _llm_judge(section.llm, cache, "judge.llm")
        band = AUTO_BAND if section.band == "auto" else section.band
        return CascadeJudge(local, llm, band=band, rate=section.rate, salt=config.sampling.salt)
    if isinstance(section, cfg.CrossEncoderJudge):
        from otel_ctxscore.judges.cross_encoder import CrossEncoderJudge

        return CrossEncoderJudge(section.model, calibration=section.calibration)
    return _custom_judge(section)


def published(judge: Judge | TwoJudges) -> Judge:
    """The judge whose scores are published."""
    return judge.llm if isinstance(judge, TwoJudges) else judge


def _local_judge(section: cfg.LocalJudge, *, derive_levels: bool = False) -> LocalJudge:
    """`derive_levels`: a judge that screens derives levels too, for what they let expect of relevance."""
    return LocalJudge(derive_levels=section.derive_levels or derive_levels, calibration=section.calibration)


def _llm_judge(section: cfg.LlmJudge, cache: VerdictCache | None, key: str) -> Judge:
    from otel_ctxscore.litellm_judge import LiteLLMJudge

    chosen = {name: value for name, value in section if name not in ("type", "model", "api_key", "prices")}
    prices = {model: dict(price) for model, price in section.prices.items()}
    local = LocalJudge() if section.on_outage == "local" else None
    api_key = configuration.secret(section.api_key)
    with under(key, "."):
        return LiteLLMJudge(section.model, api_key=api_key, prices=prices, local=local, cache=cache, **chosen)


def _custom_judge(section: cfg.CustomJudge) -> Judge:
    found: Judge = made(
        "judge",
        named(section.judge, "judges", "judge.judge"),
        (Judge,),
        key="judge.judge",
        name=section.judge,
        needs="tier, model, version, fills, judge",
        methods={"judge": 1},
        options=section.options,
    )
    return found


def custom_sinks(config: Config) -> list[Sink]:
    """The sinks of `sinks.custom`, and the installed ones that do not stand there. Where `content.emit` is off they get
    no text. Raises ConfigError."""
    found: list[Sink] = []
    for place, section in enumerate(config.sinks.custom):
        key = f"sinks.custom[{place}].sink"
        found.append(_sink(named(section.sink, "sinks", key), key, section.sink, section.options))
    configured = {section.sink for section in config.sinks.custom}
    installed = {name: make for name, make in plugins("sinks", "sinks.custom").items() if name not in configured}
    found += [_sink(make, "sinks.custom", f"the installed {name}", {}) for name, make in installed.items()]
    return found if config.content.emit else [WithoutText(sink) for sink in found]


def _sink(make: Callable[..., Any], key: str, name: str, options: dict[str, Any]) -> Sink:
    found: Sink = made(
        "sink",
        make,
        (Sink,),
        key=key,
        name=name,
        needs="name, emit, close",
        methods={"emit": 1, "close": 0},
        options=options,
    )
    return found


def scorers(config: Config, judge: Judge) -> tuple[list[AnyScorer], list[AnyScorer]]:
    """The configured scorers: those that are on and those that are off for want of a judge that fills their needs.
    Raises ConfigError where none is on: there would be nothing to do."""
    kept, off = on(wanted(config), judge)
    if not kept:
        why = f"the {judge.tier} judge fills what none of them needs" if off else "all are switched off"
        raise ConfigError(f"scorers: none is on, {why}")
    return kept, off


def wanted(config: Config) -> list[AnyScorer]:
    """The configured scorers. Raises ConfigError for a rubric that cannot be read, where two share a name, and for a
    target of none of them."""
    section, quote = config.scorers, config.content.emit
    found: list[AnyScorer] = []
    if section.context_precision is not None:
        found.append(ContextPrecision(section.context_precision.scale, quote=quote))
    if section.context_relevance is not None:
        penalties = Penalties(**dict(section.context_relevance.penalties))
        derived = isinstance(config.judge, cfg.LocalJudge) and config.judge.derive_levels
        found.append(ContextRelevance(section.context_relevance.scale, penalties, derived=derived, quote=quote))
    for place, name in enumerate(section.rubrics):
        with under(f"scorers.rubrics[{place}]", ": "):
            found.append(Rubric.load(name, quote=quote))
    found += [_scorer(name, make) for name, make in plugins("scorers", "scorers").items()]
    check_names(found)
    _check_targets(config, found)
    return found


def _scorer(name: str, make: Callable[..., Any]) -> AnyScorer:
    found: AnyScorer = made(
        "scorer",
        make,
        (Scorer, AskingScorer),
        key="scorers",
        name=f"the installed {name}",
        needs="name, definition, needs, per, refusal, score_run, refuse (or what AskingScorer has)",
        methods={},
    )
    return found


def _check_targets(config: Config, found: list[AnyScorer]) -> None:
    known = [scorer.name for scorer in with_relatives(found)]
    unknown = [
        f"targets[{place}].scorer: {target.scorer} is no configured scorer; configured: {', '.join(known) or 'none'}"
        for place, target in enumerate(config.targets)
        if target.scorer not in known
    ]
    if unknown:
        raise ConfigError(*unknown)


def version_under(scorer: AnyScorer, judge: Judge) -> str:
    """The evaluator version that a scorer's scores have under a judge, before there is a score."""
    unscored = scorer.refuse(
        RagRun(None, [Retrieval([])]), Reason.NO_QUERY, JudgedBy(judge.tier, judge.model, judge.version)
    )
    return unscored[0].version


def budget(config: Config) -> Budget:
    """The budget of `budget`. Raises ConfigError where a price is needed and not known."""
    section = config.budget
    unknown = _unpriced(config)
    if section.usd_per_day is not None and unknown:
        raise ConfigError(f"budget.usd_per_day: no price is known of {', '.join(unknown)}; set judge.prices")
    return Budget(
        Limits(section.runs_per_minute, section.tokens_per_day, section.usd_per_day), fraction=1 / section.replicas
    )


def priced(config: Config) -> bool:
    """Whether it is known beforehand what the published judge's answers cost."""
    llm = cfg.llm_of(config.judge)
    return llm.model not in _unpriced(config) if llm is not None else not isinstance(config.judge, cfg.CustomJudge)


def _unpriced(config: Config) -> list[str]:
    """The LLMs whose price is not known."""
    llm = cfg.llm_of(config.judge)
    if llm is None:
        return []
    own = {name: Price(**dict(rates)) for name, rates in llm.prices.items()}
    return [model for model in (llm.model, *llm.fallbacks) if price(model, own) is None]
