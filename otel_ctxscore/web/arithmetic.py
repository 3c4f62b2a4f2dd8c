"""How verdicts made a score, line by line, from what the state keeps. The formulas are those of the scorers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from otel_ctxscore.core.kept_run import judged_contexts

WEIGHTS = {"high": 1.0, "medium": 0.7, "low": 0.3, "none": 0.0}


def lines(run: dict[str, Any], score: dict[str, Any]) -> list[str]:
    """The steps from verdicts to the value; none for a score without a value, and for one whose formula is not ours."""
    steps = _STEPS.get(score["definition"])
    if steps is None or score["value"] is None:
        return []
    found = steps(_contexts(run, score), score)
    if score["scale"] != 1:
        found.append(f"times the scale of {score['scale']:g} = {score['value']:g}")
    return found


def _contexts(run: dict[str, Any], score: dict[str, Any]) -> list[dict[str, Any]]:
    """The ranked list that a score is about."""
    place = score["retrieval"]
    return judged_contexts(run) if place is None else list(run["retrievals"][place]["contexts"])


def _useful(contexts: Sequence[dict[str, Any]]) -> list[int]:
    return [rank for rank, context in enumerate(contexts, 1) if context["useful"]]


def _average_precision(contexts: Sequence[dict[str, Any]], score: dict[str, Any]) -> list[str]:
    ranks = _useful(contexts)
    if not ranks:
        return ["no useful context: 0"]
    terms = [
        (seen / rank, f"rank {rank} is useful: {seen} useful of {rank} down to here")
        for seen, rank in enumerate(ranks, 1)
    ]
    mean = sum(value for value, _ in terms) / len(terms)
    return [f"{said} = {value:.3f}" for value, said in terms] + [f"mean of {len(terms)} = {mean:.3f}"]


def _hit_rate(contexts: Sequence[dict[str, Any]], score: dict[str, Any]) -> list[str]:
    return [f"{len(_useful(contexts))} of {len(contexts)} useful: {'a hit, 1' if _useful(contexts) else 'no hit, 0'}"]


def _reciprocal_rank(contexts: Sequence[dict[str, Any]], score: dict[str, Any]) -> list[str]:
    ranks = _useful(contexts)
    return [
        f"the first useful one is at rank {ranks[0]}: 1/{ranks[0]} = {1 / ranks[0]:.3f}"
        if ranks
        else "no useful context: 0"
    ]


def _share_useful(contexts: Sequence[dict[str, Any]], score: dict[str, Any]) -> list[str]:
    useful = len(_useful(contexts))
    return [f"{useful} useful of {len(contexts)} = {useful / len(contexts):.3f}"]


def _relevance(contexts: Sequence[dict[str, Any]], score: dict[str, Any]) -> list[str]:
    weights = " + ".join(f"{WEIGHTS[context['relevance']]:g}" for context in contexts)
    found = [f"({weights}) / {len(contexts)} = {score['base']:.3f}"]
    for name, what in (("usage_penalty", "high but not used"), ("missing_penalty", "missing information")):
        if score[name]:
            found.append(f"less {score[name]:.3f} for {what}")
    rest = score["base"] - (score["usage_penalty"] or 0) - (score["missing_penalty"] or 0)
    return [*found, f"= {max(0.0, rest):.3f}" + (", not below 0" if rest < 0 else "")] if len(found) > 1 else found


_STEPS: dict[str, Callable[[Sequence[dict[str, Any]], dict[str, Any]], list[str]]] = {
    "context_precision/ap": _average_precision,
    "hit_rate/any": _hit_rate,
    "reciprocal_rank/first": _reciprocal_rank,
    "share_useful/mean": _share_useful,
    "context_relevance/weighted": _relevance,
    "context_relevance/derived": _relevance,
}
