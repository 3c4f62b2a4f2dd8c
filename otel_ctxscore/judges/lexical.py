"""The trained lexical model: which contexts are useful for a query, and which of them a response used.

Pure Python and pure functions of the texts. Training (`python -m tools.judge.train`) writes the model file that is
read here.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from otel_ctxscore.judges.features import RELEVANCE, relevance_rows
from otel_ctxscore.judges.text import Idf, Passage, clip, read
from otel_ctxscore.judges.usage import USED, is_refusal, used_rows

MODEL_FILE: Final = "local_model.json"


class Head:
    """Boosted trees, calibrated: log odds = a * (base + sum of the leaf values) + b."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.base: float = data["base"]
        self.trees = [_frozen(t) for t in data["trees"]]
        self.a: float = data["a"]
        self.b: float = data["b"]

    def raw(self, row: Sequence[float]) -> float:
        """Log odds before calibration."""
        z = self.base
        for node in self.trees:
            while node.__class__ is tuple:
                node = node[2] if row[node[0]] <= node[1] else node[3]
            z += node
        return z

    def __call__(self, row: Sequence[float]) -> float:
        z = self.a * self.raw(row) + self.b
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, z))))


def _frozen(node: Any) -> Any:
    """A tree as (feature, threshold, at most, above); a leaf is its value."""
    return (node[0], node[1], _frozen(node[2]), _frozen(node[3])) if isinstance(node, list) else float(node)


class LexicalModel:
    """Judges by words that query, contexts and response share.

    A text counts with its first 16,000 and its last 8,000 characters, so the time a judgement takes is bounded by the
    number of its contexts. The order of the contexts does not matter.
    """

    def __init__(self, data: dict[str, Any], version: str = "") -> None:
        self.version = version
        self.idf = Idf(data["idf"], data["idf_default"])
        self.relevance = Head(data["relevance"])
        self.usage = Head(data["used"])
        self._last: tuple[tuple[str, ...], list[Passage]] = ((), [])

    @staticmethod
    def load() -> LexicalModel:
        """The shipped model; read once."""
        return _shipped()

    def useful(self, query: str, contexts: Sequence[str]) -> list[float]:
        """For each context the probability that it helps to answer the query."""
        if not contexts:
            return []
        rows = relevance_rows(query, self._passages(contexts), self.idf)
        return [self.relevance(row) for row in rows]

    def used(self, query: str, contexts: Sequence[str], response: str | None) -> list[float] | None:
        """For each context the probability that the response used its text; None for no response and for a refusal."""
        if response is None or not response.strip() or is_refusal(response):
            return None
        if not contexts:
            return []
        rows = used_rows(read(query), self._passages(contexts), [clip(c) for c in contexts], response, self.idf)
        return [self.usage(row) for row in rows]

    def _passages(self, contexts: Sequence[str]) -> list[Passage]:
        """The contexts in tokens; both questions are asked of the same list, so the last one is kept."""
        key = tuple(contexts)
        last, passages = self._last
        if key != last:
            passages = [read(c) for c in contexts]
            self._last = (key, passages)
        return passages


@cache
def _shipped() -> LexicalModel:
    raw = resources.files(__package__).joinpath(MODEL_FILE).read_bytes()
    data = json.loads(raw)
    if data["features"] != {"relevance": list(RELEVANCE), "used": list(USED)}:
        raise ValueError(f"{MODEL_FILE} was trained for other features than this version computes")
    return LexicalModel(data, hashlib.sha256(raw).hexdigest()[:12])
