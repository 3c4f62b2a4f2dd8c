"""The judges of the benchmark, and what each says of a list.

The local judge is fitted on half of the data sets and judges the other half, so that it has seen none of what it
judges. The full judge is scripted: labels with the error of a good LLM, alike within a query.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from otel_ctxscore.core.model import YES, JudgedBy, Judgement, Verdict
from otel_ctxscore.judges.lexical import LexicalModel
from otel_ctxscore.scorers.context_precision import average_precision
from otel_ctxscore.scorers.expectation import expected_average_precision
from tests.bench.faults.traffic import Found, Query
from tools.judge import baseline, train

SENSITIVITY, SPECIFICITY = 0.88, 0.92
ALIKE = 0.8
"""Shape of the gamma factor that errors of one query share: the smaller, the more alike."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Average precision and share of useful contexts of one list, None where there is no list."""

    precision: float
    share: float

    @classmethod
    def of(cls, verdicts: Sequence[bool]) -> Scores | None:
        return cls(average_precision(verdicts), sum(verdicts) / len(verdicts)) if verdicts else None


@dataclass(frozen=True, slots=True)
class Judged:
    """One list under all judges: by people, by the local judge's verdicts and by its expectation, by the full judge.
    `screened` is the local judgement itself."""

    people: Scores
    local: Scores
    expected: Scores
    full: Scores
    screened: Judgement


def local_judges() -> dict[str, LexicalModel]:
    """By family of data sets a model that did not see it."""
    rows = {head: [row for row in baseline.load(head) if row["dataset"] != baseline.CLAIMS] for head in train.SCHEMA}
    families = sorted({_family(row) for row in rows["relevance"]})
    halves = families[::2], families[1::2]
    found: dict[str, LexicalModel] = {}
    for seen, judged in (halves, halves[::-1]):
        model = LexicalModel(
            train.fit({head: [row for row in part if _family(row) in seen] for head, part in rows.items()})
        )
        found |= dict.fromkeys(judged, model)
    return found


def _family(row: dict[str, Any]) -> str:
    name: str = row["dataset"]
    return name.partition("_")[0]


def judged(query: Query, found: Sequence[Found], local: LexicalModel, seed: int) -> Judged | None:
    """What all say of one list; None where it is empty."""
    people = Scores.of([one.useful for one in found])
    if people is None:
        return None
    chances = local.useful(query.text, [one.text for one in found])
    said = Scores.of([p >= YES for p in chances])
    full = Scores.of(full_verdicts(query, found, seed))
    assert said is not None
    assert full is not None
    expected = Scores(expected_average_precision(chances), sum(chances) / len(chances))
    by = JudgedBy("local", "lexical", "held out")
    return Judged(people, said, expected, full, Judgement([Verdict(useful=p) for p in chances], judged_by=by))


def full_verdicts(query: Query, found: Sequence[Found], seed: int) -> list[bool]:
    """The labels with errors: the same query has the same luck, and the same text the same verdict."""
    luck = random.Random(f"{seed} {query.text}").gammavariate(ALIKE, 1 / ALIKE)
    verdicts = []
    for one in found:
        rate = (1 - SENSITIVITY if one.useful else 1 - SPECIFICITY) * luck
        place = random.Random(f"{seed} {query.text}\0{one.text}").random()
        verdicts.append(one.useful != (place < min(rate, 1.0)))
    return verdicts


def kappa(judged: Sequence[tuple[bool, bool]]) -> float:
    """Cohen's, of what people say and the scripted judge says."""
    n = len(judged)
    agree = sum(a == b for a, b in judged) / n
    yes = [sum(column) / n for column in zip(*judged, strict=True)]
    chance = math.prod(yes) + math.prod(1 - share for share in yes)
    value: float = (agree - chance) / (1 - chance)
    return value
