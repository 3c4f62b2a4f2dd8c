"""The evaluator version: one short hash of everything that makes two scores comparable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache

from otel_ctxscore.core.model import JudgedBy

LENGTH = 10


def evaluator_version(definition: str, options: Mapping[str, object], judged_by: JudgedBy | None) -> str:
    """Ten hex digits over the definition, the options that change its number (penalties, the text of a rubric) and
    the judge: tier, the model that really answered, the judge's own version (prompt) and criterion. What a call
    cost changes nothing, nor does `scale`: published means are of the number before scale. `options` are JSON."""
    judge = judged_by and (judged_by.tier, judged_by.model, judged_by.version, judged_by.criterion)
    return _digest(definition, json.dumps(options, sort_keys=True), judge)


@lru_cache(maxsize=1024)
def _digest(definition: str, options: str, judge: tuple[str | None, ...] | None) -> str:
    return hashlib.sha256(json.dumps([definition, options, judge]).encode()).hexdigest()[:LENGTH]
