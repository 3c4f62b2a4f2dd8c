"""Scores that the reference implementation gave for well-formed judgements: every one must come out equal."""

import json
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore.core.model import Judgement, Verdict
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.scorers.context_relevance import ContextRelevance, Penalties

SCORES = Path(__file__).parents[1] / "scores"


def cases(name: str) -> list[Any]:
    loaded = [json.loads(line) for line in (SCORES / name).read_text().splitlines()]
    return [pytest.param(case, id=case["id"]) for case in loaded]


@pytest.mark.parametrize("case", cases("context_precision.jsonl"))
def test_context_precision(case: dict[str, Any]) -> None:
    verdicts = [Verdict(useful=useful) for useful in case["useful"]]
    assert ContextPrecision(scale=case["scale"]).score(Judgement(verdicts)).value == case["score"]


@pytest.mark.parametrize("case", cases("context_relevance.jsonl"))
def test_context_relevance(case: dict[str, Any]) -> None:
    verdicts = [Verdict(relevance=level, used=used) for level, used in zip(case["levels"], case["used"], strict=True)]
    scorer = ContextRelevance(scale=case["scale"], penalties=Penalties(**case["penalties"]))
    missing = [f"piece {number}" for number in range(case["missing"])]
    assert scorer.score(Judgement(verdicts, missing)).value == case["score"]


def test_no_case_is_lost() -> None:
    assert len(cases("context_precision.jsonl")) == 72
    assert len(cases("context_relevance.jsonl")) == 93
