"""An evaluation as one JSON line: what `score --format jsonl`, the sinks and the webhook write."""

from __future__ import annotations

import math

from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, Judgement, RagRun, Retrieval, Score, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome

Line = dict[str, object]
"""JSON values only; no NaN, no infinity."""

_NO_VERDICT = Verdict()


def to_jsonl(evaluation: Evaluation, *, content: bool = True) -> Line:
    """The line of one run. What the judge does not fill is null, never an empty list or false; so is all text of
    query, documents, response, notes and missing pieces where `content` is off."""
    run, judgement = evaluation.run, evaluation.judgement
    missing = judgement.missing if judgement else None
    return {
        "trace_id": run.trace_id,
        "span_id": run.span_id,
        "service": run.service,
        "query": run.query if content else None,
        "response": run.response if content else None,
        "retrievals": [_retrieval(run, retrieval, judgement, content) for retrieval in run.retrievals],
        "missing": list(missing) if content and missing is not None else None,
        "scores": [_score(score) for score in evaluation.scores],
        "outcome": evaluation.outcome.value,
        "reason": evaluation.reason and evaluation.reason.value,
        "judge": _judge(evaluation.judged_by),
        "weight": evaluation.weight,
    }


def refused_line(trace_id: str, outcome: TraceOutcome, reason: Reason | None) -> Line:
    """The line of a trace without a run."""
    return {
        "trace_id": trace_id,
        "outcome": outcome.value,
        "reason": reason and reason.value,
        "retrievals": [],
        "scores": [],
    }


def _retrieval(run: RagRun, retrieval: Retrieval, judgement: Judgement | None, content: bool) -> Line:
    """Contexts of a list that was refused were not judged: they have no index."""
    refused = retrieval.refused is not None
    places = [None] * len(retrieval.contexts) if refused else run.places(retrieval)
    return {
        "span_id": retrieval.span_id,
        "query": retrieval.query if content else None,
        "kind": retrieval.kind.value,
        "ranked": retrieval.ranked,
        "contexts": [
            _context(context, place, judgement, content)
            for context, place in zip(retrieval.contexts, places, strict=True)
        ],
    }


def _context(context: Context, place: int | None, judgement: Judgement | None, content: bool) -> Line:
    verdicts = judgement.verdicts if judgement else ()
    verdict = verdicts[place] if place is not None and place < len(verdicts) else _NO_VERDICT
    score = context.document_score
    return {
        "index": place,
        "text": context.text if content else None,
        "id": context.id,
        "document_score": score if score is not None and math.isfinite(score) else None,
        "useful": verdict.is_useful,
        "p_useful": verdict.p_useful,
        "relevance": verdict.relevance,
        "used": verdict.is_used,
        "note": (verdict.note or None) if content else None,
    }


def _score(score: Score) -> Line:
    return {
        "name": score.name,
        "definition": score.definition,
        "version": score.version,
        "retrieval": score.retrieval,
        "value": score.value,
        "label": score.label,
        "explanation": score.explanation,
        "unscored": score.unscored and score.unscored.value,
        "scale": score.scale,
        "base": score.base,
        "usage_penalty": score.usage_penalty,
        "missing_penalty": score.missing_penalty,
    }


def _judge(judged_by: JudgedBy | None) -> Line:
    """Where no judge was asked there is no name, no call and no cost."""
    if judged_by is None:
        return {"tier": None, "model": None, "calls": 0, "tokens": 0, "cost_usd": 0.0}
    return {
        "tier": judged_by.tier,
        "model": judged_by.model,
        "calls": judged_by.calls,
        "tokens": judged_by.tokens,
        "cost_usd": judged_by.cost_usd,
    }
