"""From a run to an evaluation: ask the judge once, let every scorer read the judgement, say what became of it.

Nothing is lost here: a run that cannot be judged, a judge that fails and a fault of our own or of a plug-in each end
in unscored scores with a reason.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.core.model import Evaluation, JudgedBy, Judgement, RagRun, Score
from otel_ctxscore.core.outcomes import Reason, TraceOutcome, first_reason
from otel_ctxscore.core.version import evaluator_version
from otel_ctxscore.ports import AnyScorer, AskingScorer, Asks, HasRelatives, Judge, JudgeError, Scorer

log = logging.getLogger(__name__)

S = TypeVar("S", Scorer, AskingScorer)
OnResult = Callable[[Evaluation], Awaitable[None] | None]

_TRACE_PRECEDENCE = (
    TraceOutcome.PARTLY_SCORED,
    TraceOutcome.SCORED,
    TraceOutcome.UNSCORED,
    TraceOutcome.OVER_BUDGET,
    TraceOutcome.SCREENED,
    TraceOutcome.NOT_SAMPLED,
)


# ---- which scorers are on ---------------------------------------------------------------------------------------


def on(
    scorers: Sequence[AnyScorer], judge: Judge, asker: Asks | None = None
) -> tuple[list[AnyScorer], list[AnyScorer]]:
    """The scorers that are on and those that are off, because the judge does not fill what they need or, for one
    with a call of its own, because nobody can be asked. Raises ConfigError where two scores would share a name."""
    check_names(scorers)
    asker = asker or _asker(judge)
    kept = [
        s for s in scorers if (asker is not None if isinstance(s, AskingScorer) else s.needs <= frozenset(judge.fills))
    ]
    return kept, [scorer for scorer in scorers if scorer not in kept]


def check_names(scorers: Sequence[AnyScorer]) -> None:
    """Raises ConfigError where two scores would share a name."""
    names = [scorer.name for scorer in with_relatives(scorers)]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ConfigError(f"scorers: more than one is named {', '.join(doubled)}")


def _asker(judge: Judge) -> Asks | None:
    return judge if isinstance(judge, Asks) else None


def _relatives(scorer: AnyScorer) -> Sequence[Scorer]:
    return scorer.relatives if isinstance(scorer, HasRelatives) else ()


def with_relatives(scorers: Sequence[AnyScorer]) -> list[AnyScorer]:
    """The scorers, each followed by those that come with it."""
    return [one for scorer in scorers for one in (scorer, *_relatives(scorer))]


# ---- one run ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """What one call, or the lack of one, gave: scores that make the outcome, all scores, and what was spent."""

    leading: list[Score]
    scores: list[Score]
    judgement: Judgement | None = None
    judged_by: JudgedBy | None = None
    detail: str = ""


async def evaluate(
    run: RagRun,
    judge: Judge,
    scorers: Sequence[AnyScorer],
    *,
    asker: Asks | None = None,
    clock: Callable[[], int] = time.time_ns,
) -> Evaluation:
    """Judge and score one run. What goes wrong is a reason in the scores; only without scorers is it a ValueError.

    `scorers` are those that are `on`. A run that they all refuse reaches no judge. `asker` answers scorers with a
    call of their own, concurrently with the judgement; it is the judge itself where that can be asked. `clock`
    gives Unix nanoseconds.
    """
    started = clock()
    reading = [scorer for scorer in scorers if not isinstance(scorer, AskingScorer)]
    asking = [scorer for scorer in scorers if isinstance(scorer, AskingScorer)]
    asker = asker or _asker(judge)
    parts = await asyncio.gather(_judged(run, judge, reading), *(_asked(run, asker, scorer) for scorer in asking))
    outcome, reason = run_outcome([score for part in parts for score in part.leading])
    return Evaluation(
        run,
        parts[0].judgement,
        [score for part in parts for score in part.scores],
        outcome,
        reason,
        judged_by=_together([part.judged_by for part in parts if part.judged_by is not None]),
        started_ns=started,
        ended_ns=clock(),
        detail="; ".join(part.detail for part in parts if part.detail),
    )


def run_outcome(scores: Iterable[Score]) -> tuple[TraceOutcome, Reason | None]:
    """The outcome of a run from the scores of its scorers (relatives left out), and the first reason of those that
    are unscored. Raises ValueError for no score at all: without a scorer there is nothing to come out."""
    scores = list(scores)
    if not scores:
        raise ValueError("no scorer is on")
    reason = first_reason(score.unscored for score in scores if score.unscored is not None)
    if all(score.value is None for score in scores):
        return TraceOutcome.UNSCORED, reason
    return (TraceOutcome.PARTLY_SCORED if reason else TraceOutcome.SCORED), reason


async def _judged(run: RagRun, judge: Judge, scorers: Sequence[Scorer]) -> _Part:
    refusals = [_refusal(scorer, run) for scorer in scorers]
    declared = JudgedBy(judge.tier, judge.model, judge.version)
    if None not in refusals:
        return _refused(run, scorers, [reason for reason in refusals if reason], declared)
    try:
        judgement = await judge.judge(run)
        judged_by = judgement.judged_by or declared
        judgement = replace(judgement, judged_by=judged_by)
    except JudgeError as error:
        judged_by = error.judged_by or declared
        part = _refused(run, scorers, [error.reason] * len(scorers), judged_by)
        return replace(part, judged_by=judged_by, detail=str(error))
    except Exception as error:
        _log_fault("the judge failed", run, judge.model)
        part = _refused(run, scorers, [Reason.INTERNAL_ERROR] * len(scorers), declared)
        return replace(part, judged_by=declared, detail=repr(error))
    part = _scores(run, scorers, lambda scorer: scorer.score_run(run, judgement), judged_by)
    return replace(part, judgement=judgement, judged_by=judged_by)


async def _asked(run: RagRun, asker: Asks | None, scorer: AskingScorer) -> _Part:
    reason = _refusal(scorer, run)
    if reason is not None or asker is None:
        return _one(_guarded(scorer, run, lambda it: it.refuse(run, reason or Reason.JUDGE_INCOMPLETE)))
    spent: list[JudgedBy] = []
    try:
        score = await _read(run, asker, scorer, spent)
        return _one([score], _together(spent))
    except JudgeError as error:
        failed, detail = error.reason, str(error)
        spent += [error.judged_by] if error.judged_by else []
    except Exception as error:
        _log_fault("a scorer with a call of its own failed", run, scorer.name)
        failed, detail = Reason.INTERNAL_ERROR, repr(error)
    judged_by = _together(spent)
    return _one(_guarded(scorer, run, lambda it: it.refuse(run, failed, judged_by), judged_by), judged_by, detail)


async def _read(run: RagRun, asker: Asks, scorer: AskingScorer, spent: list[JudgedBy]) -> Score:
    """The score of the reply, or of the reply to one further question that says what was wrong, unless the asker
    put one already."""
    shown = scorer.shown(run)
    reply, judged_by = await asker.ask(instructions=scorer.instructions, run=shown, schema=scorer.schema)
    spent.append(judged_by)
    try:
        return scorer.read(run, reply, judged_by)
    except JudgeError as error:
        if judged_by.repaired:
            raise
        again = f"{scorer.instructions}\n\nYour last reply could not be read: {error.detail}. Reply with JSON only."
    reply, judged_by = await asker.ask(instructions=again, run=shown, schema=scorer.schema)
    spent.append(replace(judged_by, repaired=True))
    return scorer.read(run, reply, judged_by)


def _refused(run: RagRun, scorers: Sequence[Scorer], reasons: Sequence[Reason], judged_by: JudgedBy) -> _Part:
    """All unscored, for each scorer's own reason; `judged_by` dates their versions."""
    why = dict(zip((scorer.name for scorer in scorers), reasons, strict=True))
    why |= {relative.name: why[scorer.name] for scorer in scorers for relative in _relatives(scorer)}
    return _scores(run, scorers, lambda scorer: scorer.refuse(run, why[scorer.name], judged_by), judged_by)


def _scores(run: RagRun, scorers: Sequence[Scorer], of: Callable[[Scorer], list[Score]], judged_by: JudgedBy) -> _Part:
    """Scores of every scorer and, after each, of its relatives."""
    leading: list[Score] = []
    scores: list[Score] = []
    for scorer in scorers:
        own = _guarded(scorer, run, of, judged_by)
        leading += own
        scores += own
        for relative in _relatives(scorer):
            scores += _guarded(relative, run, of, judged_by)
    return _Part(leading, scores)


def _one(scores: list[Score], judged_by: JudgedBy | None = None, detail: str = "") -> _Part:
    return _Part(scores, scores, judged_by=judged_by, detail=detail)


# ---- faults -----------------------------------------------------------------------------------------------------


def _guarded(scorer: S, run: RagRun, of: Callable[[S], list[Score]], judged_by: JudgedBy | None = None) -> list[Score]:
    """The scores of a scorer or, where it fails, one that says so."""
    try:
        return of(scorer)
    except Exception:
        _log_fault("a scorer failed", run, scorer.name)
        version = evaluator_version(scorer.definition, {}, judged_by)
        return [Score(scorer.name, scorer.definition, version, None, unscored=Reason.INTERNAL_ERROR)]


def _refusal(scorer: AnyScorer, run: RagRun) -> Reason | None:
    try:
        return scorer.refusal(run)
    except Exception:
        _log_fault("a scorer failed", run, scorer.name)
        return Reason.INTERNAL_ERROR


def _log_fault(what: str, run: RagRun, name: str) -> None:
    log.exception("%s", what, extra={"trace_id": run.trace_id, "span_id": run.span_id, "part": name})


def _together(judged: Sequence[JudgedBy]) -> JudgedBy | None:
    """The first judge with what all calls took. The price is unknown where that of any call is."""
    if len(judged) < 2:
        return judged[0] if judged else None
    costs = [by.cost_usd for by in judged]
    return replace(
        judged[0],
        calls=sum(by.calls for by in judged),
        prompt_tokens=sum(by.prompt_tokens for by in judged),
        completion_tokens=sum(by.completion_tokens for by in judged),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        seconds=sum(by.seconds for by in judged),
        repaired=any(by.repaired for by in judged),
        cut_contexts=max(by.cut_contexts for by in judged),
    )


# ---- many runs --------------------------------------------------------------------------------------------------


async def score_runs(
    runs: Iterable[RagRun],
    scorers: Sequence[AnyScorer],
    judge: Judge,
    *,
    on_result: OnResult | None = None,
    concurrency: int = 8,
) -> list[Evaluation]:
    """Judge and score runs, `concurrency` at a time; the evaluations are in the order of `runs`.

    `runs` is read as it is needed. `on_result` is called, and awaited where it is async, with each evaluation as it
    is done; what it raises ends the whole. Raises ConfigError where no scorer is on or two share a name.
    """
    if concurrency < 1:
        raise ValueError("concurrency must be at least 1")
    kept, off = on(scorers, judge)
    for scorer in off:
        log.warning("%s is off: the judge does not fill what it needs", scorer.name)
    if not kept:
        raise ConfigError(f"no scorer is on: {judge.tier} {judge.model} fills {', '.join(sorted(judge.fills))}")
    done: dict[int, Evaluation] = {}
    numbered = enumerate(runs)
    await _all([_work(numbered, judge, kept, on_result, done) for _ in range(concurrency)])
    return [done[place] for place in sorted(done)]


async def _work(
    numbered: Iterator[tuple[int, RagRun]],
    judge: Judge,
    scorers: Sequence[AnyScorer],
    on_result: OnResult | None,
    done: dict[int, Evaluation],
) -> None:
    for place, run in numbered:
        done[place] = await evaluate(run, judge, scorers)
        told = on_result(done[place]) if on_result else None
        if inspect.isawaitable(told):
            await told


async def _all(work: Sequence[Awaitable[None]]) -> None:
    """Wait for all; the first that fails ends the others."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def trace_outcome(evaluations: Sequence[Evaluation]) -> tuple[TraceOutcome, Reason | None]:
    """The one outcome of a trace from those of its runs, and the first reason of what is unscored in it.

    Raises ValueError where there is none with the outcome of a run: what has no run has its outcome elsewhere.
    """
    outcomes = {evaluation.outcome for evaluation in evaluations}
    found = next((outcome for outcome in _TRACE_PRECEDENCE if outcome in outcomes), None)
    if found is None:
        raise ValueError(f"no outcome of a run among {sorted(outcomes)}")
    if {TraceOutcome.SCORED, TraceOutcome.UNSCORED} <= outcomes:
        found = TraceOutcome.PARTLY_SCORED
    if found not in (TraceOutcome.PARTLY_SCORED, TraceOutcome.UNSCORED):
        return found, None
    return found, first_reason(e.reason for e in evaluations if e.reason is not None)
