"""Verdicts that are known already: the same material before the same judge is not paid for twice."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Protocol

from otel_ctxscore.core.model import Judgement
from otel_ctxscore.judges.prompt import Exhibit


class VerdictCache(Protocol):
    """Judgements by key. A key stands for the material as it was shown and for the version of the judge."""

    async def get(self, key: str) -> Judgement | None: ...

    async def put(self, key: str, judgement: Judgement) -> None: ...


def cache_key(version: str, shown: Exhibit) -> str:
    """A hash of everything that a verdict depends on."""
    texts = [
        version,
        shown.query.shown,
        [context.shown for context in shown.contexts],
        [question.shown for question in shown.questions],
        [[role, text.shown] for role, text in shown.history],
        None if shown.response is None else shown.response.shown,
    ]
    return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def known(judgement: Judgement) -> Judgement:
    """A judgement from the cache: it took no call now, so it cost nothing."""
    by = judgement.judged_by
    if by is None:
        return judgement
    free = replace(by, calls=0, prompt_tokens=0, completion_tokens=0, cost_usd=0.0, seconds=0.0, cached=True)
    return replace(judgement, judged_by=free)
