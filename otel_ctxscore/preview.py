"""What a configuration would spend and what that buys, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from otel_ctxscore.config import Config
from otel_ctxscore.config import judges as cfg
from otel_ctxscore.config.model import Budget
from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.judges import prompt
from otel_ctxscore.judges.cascade import AUTO_BAND
from otel_ctxscore.judges.prices import Price, price
from otel_ctxscore.judges.quoting import tokens
from otel_ctxscore.scorers.rubric import Rubric

CONTEXTS, WORDS = 5, 150
"""The run that the preview counts with: so many contexts of so many words."""
VERDICT_TOKENS, REPLY_TOKENS = 45, 20
"""What a reply usually takes: a verdict with its note, and what stands around them; a rubric's reply is one verdict."""
SPREAD = 0.39
"""Standard deviation of average precision over the labelled lists of `tools/judge` (mean .68)."""
CORRELATION = 0.15
"""Of the local judge's score with the LLM's: a cautious one. Over lists of every kind it is .64, over the healthy ones
of `tests/bench/faults`, which are much alike, .14."""
OPEN = 0.51
"""Share of the labelled lists with a context inside the cascade's own band, as `tools/judge/REPORT.md` measures."""
MINUTES_A_DAY = 1440


@dataclass(frozen=True, slots=True)
class Preview:
    """Admitted runs, LLM calls, tokens and US dollars a day, and the half-width of the 95 % interval of the mean of an
    hour and of a day.

    `usd` is None where the price of the model is unknown. `let_through` is what the budget leaves of the runs that
    would be judged, in 0..1.
    """

    runs: float
    calls: float
    prompt_tokens: float
    completion_tokens: float
    usd: float | None
    half_width_hour: float
    half_width_day: float
    let_through: float
    assumptions: tuple[str, ...] = ()


def preview(config: Config, runs_per_minute: float) -> Preview:
    """The day of a service with so many runs a minute. Sampling rules are left out: what they match is not known."""
    runs = runs_per_minute * config.sampling.rate * MINUTES_A_DAY
    llm = cfg.llm_of(config.judge)
    drawn = _drawn(config)
    calls, asked, answered = _spent_on_a_run(config, llm)
    rates = price(llm.model, {name: Price(**dict(own)) for name, own in llm.prices.items()}) if llm else Price(0, 0)
    usd = (asked * rates.input + answered * rates.output) / 1e6 if rates else None
    let_through = _let_through(config.budget, runs * drawn.share, asked + answered, usd)
    judged = runs * drawn.share * let_through
    variance = drawn.variance / let_through if let_through else math.inf
    if drawn.helped:
        variance = (1 - CORRELATION**2) * variance + CORRELATION**2
    return Preview(
        runs,
        judged * calls,
        judged * asked,
        judged * answered,
        None if usd is None else judged * usd,
        _half_width(runs / 24, variance),
        _half_width(runs, variance),
        let_through,
        drawn.assumptions,
    )


@dataclass(frozen=True, slots=True)
class _Drawn:
    """`share` of the runs is judged by the judge whose scores are published; the `variance` of their mean is so many
    times that of judging all. `helped`: a cheaper judge sees all."""

    share: float = 1.0
    variance: float = 1.0
    helped: bool = False
    assumptions: tuple[str, ...] = ()


def _drawn(config: Config) -> _Drawn:
    correlated = f"a correlation of {CORRELATION} between the scores of the two judges"
    if isinstance(config.judge, cfg.SampledJudge):
        return _Drawn(config.judge.rate, 1 / config.judge.rate, True, (correlated,))
    if isinstance(config.judge, cfg.CascadeJudge):
        open_, rate = _open(config.judge), config.judge.rate
        share, variance = open_ + (1 - open_) * rate, open_ + (1 - open_) / rate
        return _Drawn(share, variance, True, (correlated, f"{open_:.0%} of the runs with a context inside the band"))
    return _Drawn()


def _open(judge: cfg.CascadeJudge) -> float:
    """The share of runs that a cascade is unsure of, in proportion to the width of its band."""
    low, high = AUTO_BAND if judge.band == "auto" else judge.band
    return min(1.0, OPEN * max(0.0, high - low) / (AUTO_BAND[1] - AUTO_BAND[0]))


def _let_through(budget: Budget, judged: float, tokens_each: float, usd_each: float | None) -> float:
    """What a budget lets through of so many judged runs a day."""
    wanted_and_allowed = [
        (judged, None if budget.runs_per_minute is None else budget.runs_per_minute * MINUTES_A_DAY),
        (judged * tokens_each, budget.tokens_per_day),
        (judged * (usd_each or 0.0), budget.usd_per_day),
    ]
    return min([1.0, *(limit / wanted for wanted, limit in wanted_and_allowed if limit is not None and wanted > limit)])


def _spent_on_a_run(config: Config, llm: cfg.LlmJudge | None) -> tuple[float, float, float]:
    """Calls, and tokens of their prompts and replies, for a typical run."""
    if llm is None:
        return 0.0, 0.0, 0.0
    passage = " ".join(["passage"] * WORDS)
    contexts = [Context(f"{place} {passage}") for place in range(CONTEXTS)]
    run = RagRun("a question of about ten words or so", [Retrieval(contexts)], passage)
    shown = prompt.exhibit(run, str, llm.history, prompt.PROMPT_TOKENS)
    questions = [prompt.question(prompt.instructions(llm.criterion), shown, range(CONTEXTS), None, None)]
    for rubric in map(Rubric.load, config.scorers.rubrics):
        part = prompt.exhibit(rubric.shown(run), str, llm.history, prompt.PROMPT_TOKENS, whole=True)
        questions.append(prompt.rubric_question(rubric.instructions, part, rubric.schema, None))
    asked = sum(tokens(message["content"]) for question in questions for message in question.messages)
    verdicts = CONTEXTS + len(questions) - 1
    return float(len(questions)), float(asked), float(verdicts * VERDICT_TOKENS + len(questions) * REPLY_TOKENS)


def _half_width(runs: float, variance: float) -> float:
    return 1.96 * SPREAD * math.sqrt(variance / runs) if runs > 0 else math.inf


def told(seen: Preview) -> Iterator[str]:
    """The preview in words, a line each."""
    yield f"runs a day          {seen.runs:,.0f}"
    yield f"LLM calls a day     {seen.calls:,.0f}"
    if seen.calls:
        yield f"tokens a day        {seen.prompt_tokens:,.0f} prompt, {seen.completion_tokens:,.0f} completion"
        yield f"price a day         {'unknown: set judge.prices' if seen.usd is None else f'{seen.usd:,.2f} USD'}"
    if seen.let_through < 1:
        yield f"budget              lets {seen.let_through:.1%} through of what would be judged"
    hour, day = _plus_minus(seen.half_width_hour), _plus_minus(seen.half_width_day)
    yield f"95 % interval       {hour} for an hour, {day} for a day"
    typical = f"{CONTEXTS} contexts of {WORDS} words a run, no cached verdicts"
    yield f"counted with {', '.join((typical, *seen.assumptions))}"


def _plus_minus(half: float) -> str:
    """The half-width of an interval of a mean in 0..1; one that says nothing is said so."""
    return f"± {half:.3f}" if half < 0.5 else "too few runs to tell"
