"""Runs that people have labelled, and what their labels say of the judge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from otel_ctxscore.core.model import LEVELS, Context, Judgement, RagRun, Retrieval
from otel_ctxscore.core.spans import UNKNOWN_SERVICE
from otel_ctxscore.core.stats import (
    JudgeRates,
    LabelledQuery,
    Share,
    Sums,
    corrected_share,
    estimate_judged,
    judge_rates,
)


class LabelError(Exception):
    """A line that is no labelled run: which one, and why."""


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """A run and what people say of its contexts: `useful`, one for each of `run.judged`. `line` is as it was read."""

    run: RagRun
    useful: tuple[bool, ...]
    line: Mapping[str, Any]


def read(lines: Iterable[str]) -> Iterator[LabelledRun]:
    """The runs of JSON lines `{query, contexts: [{text, useful, relevance?, used?}], response?}`; further keys are
    kept. Raises LabelError."""
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            yield parse(json.loads(text))
        except ValueError as error:
            raise LabelError(f"line {number}: {error}") from None


def parse(line: object) -> LabelledRun:
    """The run of one line. Raises ValueError."""
    if not isinstance(line, dict):
        raise ValueError("is no JSON object")
    query, response, contexts = line.get("query"), line.get("response"), line.get("contexts")
    if not isinstance(query, str) or not query.strip():
        raise ValueError("query is missing")
    if response is not None and not isinstance(response, str):
        raise ValueError("response is no text")
    if not isinstance(contexts, list) or not contexts:
        raise ValueError("contexts are missing")
    labelled = [_context(place, context) for place, context in enumerate(contexts)]
    service = line.get("service")
    run = RagRun(
        query,
        [Retrieval([context for context, _ in labelled])],
        response,
        service=service if isinstance(service, str) and service else UNKNOWN_SERVICE,
    )
    if len(run.judged) != len(labelled):
        raise ValueError("a context stands there twice")
    return LabelledRun(run, tuple(useful for _, useful in labelled), line)


def _context(place: int, raw: object) -> tuple[Context, bool]:
    if not isinstance(raw, dict) or not isinstance(raw.get("text"), str) or not raw["text"].strip():
        raise ValueError(f"contexts[{place}] has no text")
    if not isinstance(raw.get("useful"), bool):
        raise ValueError(f"contexts[{place}].useful is neither true nor false")
    if raw.get("relevance") not in (None, *LEVELS):
        raise ValueError(f"contexts[{place}].relevance is none of {', '.join(LEVELS)}")
    if not isinstance(raw.get("used"), bool | None):
        raise ValueError(f"contexts[{place}].used is neither true nor false")
    identity = raw.get("id")
    return Context(raw["text"], id=None if identity is None else str(identity)), raw["useful"]


def rates(judged: Iterable[tuple[LabelledRun, Judgement]]) -> JudgeRates | None:
    """How often the judge finds what people call useful, and what they do not. Contexts without a verdict are left
    out; None with fewer than two runs or with one kind of contexts only."""
    return judge_rates(LabelledQuery.of(_pairs(labelled.useful, judgement)) for labelled, judgement in judged)


def _pairs(useful: Sequence[bool], judgement: Judgement) -> Iterator[tuple[bool, bool]]:
    for human, verdict in zip(useful, judgement.verdicts, strict=True):
        if verdict.is_useful is not None:
            yield human, verdict.is_useful


def corrected(share_useful: Sums, found: JudgeRates) -> tuple[float, Share] | None:
    """The mean share of useful contexts as the judge has it, and as people would; `share_useful` are the judged sums
    of that scorer. None without runs, and where the judge is too weak to correct by."""
    apparent = estimate_judged(share_useful)
    if apparent.mean is None or apparent.variance is None:
        return None
    share = corrected_share(apparent.mean, apparent.variance, found)
    return None if share is None else (apparent.mean, share)
