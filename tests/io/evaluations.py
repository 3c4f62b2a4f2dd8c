"""Evaluations as the sinks meet them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, Judgement, RagRun, Retrieval, Score, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome

TRACE, ANCHOR, FIRST, SECOND = (
    "5b8efff798038103d269b633813fc60c",
    "00000000000000a1",
    "00000000000000b1",
    "00000000000000b2",
)
JUDGED_BY = JudgedBy("llm", "openai/small", "p1", calls=1, prompt_tokens=90, completion_tokens=10, cost_usd=0.001)
RUN = RagRun(
    "Which port?",
    [
        Retrieval([Context("port 7443", "doc-a"), Context("backups", "doc-b"), Context("canteen")], span_id=FIRST),
        Retrieval([Context("x"), Context("port 7443", "doc-a")], query="owner?", span_id=SECOND),
    ],
    "7443",
    trace_id=TRACE,
    span_id=ANCHOR,
    service="shop",
    convention="openinference",
    probability=0.25,
)
JUDGEMENT = Judgement(
    [
        Verdict(True, "high", True, note="names it"),
        Verdict(0.25, "low", False),
        Verdict(False, "none", False),
        Verdict(False, "none", False),
    ],
    missing=["who owns it"],
    judged_by=JUDGED_BY,
)


def score(name: str, value: float | None = 0.5, *, retrieval: int | None = None, **changed: Any) -> Score:
    given = {"label": "mixed", "explanation": f"why {name}"} if value is not None else {}
    return Score(name, f"{name}/x", f"v-{name}", value, retrieval=retrieval, ratio=value, **{**given, **changed})


SCORES = (
    score("context_precision", 1.0, retrieval=0),
    score("hit_rate", 1.0, retrieval=0),
    score("context_precision", 0.5, retrieval=1),
    score("hit_rate", 1.0, retrieval=1),
    score("context_relevance", None, unscored=Reason.NO_RESPONSE),
)


def evaluation(scores: Sequence[Score] = SCORES, run: RagRun = RUN, **changed: Any) -> Evaluation:
    whole = Evaluation(
        run,
        JUDGEMENT,
        scores,
        TraceOutcome.PARTLY_SCORED,
        Reason.NO_RESPONSE,
        judged_by=JUDGED_BY,
        started_ns=1_000,
        ended_ns=2_000,
    )
    return replace(whole, **changed)


def failed(reason: Reason = Reason.JUDGE_UNAVAILABLE) -> Evaluation:
    """A judge was asked and gave nothing."""
    scores = [replace(given, value=None, ratio=None, label=None, explanation=None, unscored=reason) for given in SCORES]
    return evaluation(scores, judgement=None, outcome=TraceOutcome.UNSCORED, reason=reason)


def named(name: str, explanation: str | None = "why") -> Evaluation:
    """A small evaluation with one score and an anchor of its own, known by its scorer's name."""
    return evaluation([score(name, explanation=explanation)])
