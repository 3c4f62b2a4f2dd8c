"""What is said of a judged span: which scores belong to it, and their attributes. Pure; spans and logs share it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, Retrieval, Score, Verdict
from otel_ctxscore.core.outcomes import Reason

Attribute = str | bool | int | float
Attributes = dict[str, Attribute]

EVENT = "gen_ai.evaluation.result"
MAX_TEXT = 4000
"""Characters of one text that leaves. A longer one is cut and says so."""
MAX_VERDICTS = 1000
"""Contexts of one span whose verdicts leave; `ctxscore.verdicts_omitted` counts the rest."""


@dataclass(frozen=True, slots=True)
class Target:
    """A judged span with the scores about it: the run's anchor, or the span that holds one retrieval.

    `place` tells retrievals apart that stand in one span.
    """

    kind: Literal["run", "retrieval"]
    trace_id: int
    span_id: int
    scores: tuple[Score, ...]
    retrieval: Retrieval | None = None
    place: int = 0


def targets(evaluation: Evaluation) -> list[Target]:
    """The judged spans, in the order of their first score. None where no judge was asked, nor where the run was
    built by hand and has no span."""
    if evaluation.judgement is None and evaluation.judged_by is None:
        return []
    groups: dict[int | None, list[Score]] = {}
    for score in evaluation.scores:
        groups.setdefault(score.retrieval, []).append(score)
    found: list[Target] = []
    for index, scores in groups.items():
        retrieval = None if index is None else evaluation.run.retrievals[index]
        trace_id, span_id = (
            _id(evaluation.run.trace_id),
            _id((retrieval and retrieval.span_id) or evaluation.run.span_id),
        )
        if trace_id and span_id:
            kind: Literal["run", "retrieval"] = "run" if retrieval is None else "retrieval"
            place = sum(1 for other in found if (other.kind, other.span_id) == (kind, span_id))
            found.append(Target(kind, trace_id, span_id, tuple(scores), retrieval, place))
    return found


def _id(text: str | None) -> int:
    try:
        return int(text or "0", 16)
    except ValueError:
        return 0


def identity(evaluation: Evaluation, target: Target, size: int) -> int:
    """An id of `size` bytes, the same for the same evaluation of the same span: from trace, judged span, `run` or
    `retrieval`, the scorers with their versions, and the revision."""
    scorers = sorted(f"{score.name}@{score.version}" for score in target.scores)
    parts = [f"{target.trace_id:032x}", f"{target.span_id:016x}", target.kind, *scorers, str(evaluation.revision)]
    parts += [str(target.place)] if target.place else []
    digest = hashlib.blake2b("\0".join(parts).encode(errors="replace"), digest_size=size).digest()
    return int.from_bytes(digest) or 1


def evaluation_id(evaluation: Evaluation) -> str:
    """One id for the whole evaluation, by which a receiver knows a repeat: 32 hex digits."""
    run = evaluation.run
    scorers = sorted({f"{score.name}@{score.version}" for score in evaluation.scores})
    parts = [run.trace_id or "", run.span_id or "", *scorers, str(evaluation.revision)]
    return hashlib.blake2b("\0".join(parts).encode(errors="replace"), digest_size=16).hexdigest()


# ---- attributes -------------------------------------------------------------------------------------------------


def result_attributes(evaluation: Evaluation, target: Target, score: Score) -> Attributes:
    """One score, as the event `gen_ai.evaluation.result` bears it."""
    judged_by = judge_of(evaluation)
    return clean(
        {
            "gen_ai.evaluation.name": score.name,
            "gen_ai.evaluation.score.value": _number(score.value),
            "gen_ai.evaluation.score.label": score.label,
            "gen_ai.evaluation.explanation": score.explanation,
            "error.type": _error(score),
            "ctxscore.definition": score.definition,
            "ctxscore.version": score.version,
            "ctxscore.tier": judged_by.tier if judged_by else None,
            "ctxscore.model": judged_by.model if judged_by else None,
            "ctxscore.scale": float(score.scale),
            "ctxscore.weight": evaluation.weight,
            "ctxscore.contexts": len(judged_contexts(evaluation, target)),
            "ctxscore.complete": evaluation.run.complete,
            **marks(evaluation),
        }
    )


def marks(evaluation: Evaluation) -> dict[str, Attribute | None]:
    """What tells a repeat or a later evaluation from a first one; absent where it is one."""
    return {
        "ctxscore.redelivered": evaluation.run.redelivered or None,
        "ctxscore.backfill": evaluation.backfill or None,
        "ctxscore.revision": evaluation.revision or None,
    }


def verdict_attributes(evaluation: Evaluation, target: Target, *, content: bool) -> Attributes:
    """`ctxscore.verdict.{i}.*` for each judged context: i is its zero-based rank in the retrieval or, for the run,
    its place among the distinct contexts. Text and notes only with `content`."""
    contexts = judged_contexts(evaluation, target)
    found: Attributes = {}
    for rank, (context, verdict) in enumerate(contexts[:MAX_VERDICTS]):
        found |= {f"ctxscore.verdict.{rank}.{key}": value for key, value in _verdict(context, verdict, content).items()}
    if len(contexts) > MAX_VERDICTS:
        found["ctxscore.verdicts_omitted"] = len(contexts) - MAX_VERDICTS
    return found


def judged_contexts(evaluation: Evaluation, target: Target) -> list[tuple[Context, Verdict]]:
    """The contexts the judge saw of a target, in rank order, with its verdicts; empty without a judgement."""
    run, judgement = evaluation.run, evaluation.judgement
    if judgement is None or (target.retrieval is not None and target.retrieval.refused is not None):
        return []
    places = range(len(run.judged)) if target.retrieval is None else run.places(target.retrieval)
    return [(run.judged[place], judgement.verdicts[place]) for place in places if place < len(judgement.verdicts)]


def judge_of(evaluation: Evaluation) -> JudgedBy | None:
    """Who judged, also where the judge failed."""
    judgement = evaluation.judgement
    return evaluation.judged_by or (judgement.judged_by if judgement else None)


def clean(attributes: Mapping[str, Attribute | None]) -> Attributes:
    """Attributes that every encoder and backend takes: None and what is no finite number is left out, text is cut,
    and NUL and lone surrogates in it become U+FFFD."""
    return {key: _value(value) for key, value in attributes.items() if value is not None and _finite(value)}


def clean_text(text: str) -> str:
    """Valid UTF-8 without NUL, at most MAX_TEXT characters and a word on what was cut."""
    cut = f"{text[:MAX_TEXT]}… [cut, {len(text)} characters]" if len(text) > MAX_TEXT else text
    return cut.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _value(value: Attribute) -> Attribute:
    return clean_text(str(value)) if isinstance(value, str) else value


def _finite(value: Attribute) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _error(score: Score) -> str | None:
    if score.value is None:
        return score.unscored
    return None if math.isfinite(score.value) else Reason.INTERNAL_ERROR


def _verdict(context: Context, verdict: Verdict, content: bool) -> Attributes:
    return clean(
        {
            "document_id": context.id,
            "document_score": context.document_score,
            "useful": verdict.is_useful,
            "p_useful": None if isinstance(verdict.useful, bool) else verdict.p_useful,
            "relevance": verdict.relevance,
            "used": verdict.is_used,
            "text": context.text if content else None,
            "note": verdict.note or None if content else None,
        }
    )
