"""What a sink of somebody's own is given while text must stay."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_ctxscore.core.lines import to_jsonl
from otel_ctxscore.core.model import Context, Evaluation, Judgement, RagRun, Retrieval, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.core.withheld import WITHHELD, without_text
from tests.io.evaluations import evaluation

WORD = "sesame"
TEXTS = st.sampled_from(["", " ", *(f"{WORD} {letter}" for letter in "abc")])
RETRIEVALS = st.builds(
    lambda texts, query, refused: Retrieval(
        [Context(text, id=str(place)) for place, text in enumerate(texts)], query, span_id="b1", refused=refused
    ),
    st.lists(TEXTS, max_size=4),
    st.none() | TEXTS,
    st.none() | st.just(Reason.DOCUMENTS_INCOMPLETE),
)
RUNS = st.builds(
    lambda retrievals, query, response, query_from: RagRun(
        query,
        retrievals,
        response,
        history=[("user", f"{WORD} before")],
        trace_id="a" * 32,
        query_from=query_from,
        attributes={"input.value": f"{WORD} in full", "service.version": "1"},
    ),
    st.lists(RETRIEVALS, max_size=3),
    st.none() | TEXTS,
    st.none() | TEXTS,
    st.sampled_from(["user", "retrieval"]),
)


def judged(run: RagRun) -> Evaluation:
    verdicts = [Verdict(place % 2 == 0, note=f"{WORD} says why") for place in range(len(run.judged))]
    judgement = Judgement(verdicts, missing=[f"{WORD} is missing"])
    return Evaluation(run, judgement, (), TraceOutcome.SCORED, detail=f"{WORD} told")


@settings(max_examples=500)
@given(RUNS)
def test_no_text_is_left_and_verdicts_belong_to_the_same_contexts(run: RagRun) -> None:
    whole = judged(run)
    bare = without_text(whole)
    assert WORD not in str(asdict(bare))
    assert to_jsonl(bare, content=False) == to_jsonl(whole, content=False)
    assert (bare.run.refused, bare.run.attributes) == (run.refused, {})


def test_what_is_there_is_told_and_what_is_not_is_not() -> None:
    bare = without_text(evaluation())
    assert (bare.run.query, bare.run.response) == (WITHHELD, WITHHELD)
    assert [context.text for context in bare.run.retrievals[1].contexts] == ["[withheld 3]", "[withheld 0]"]
    assert json.dumps(to_jsonl(bare)["missing"]) == f'["{WITHHELD}"]'
    silent = without_text(evaluation(run=RagRun(None, [Retrieval([])])))
    assert (silent.run.query, silent.run.response) == (None, None)


@pytest.mark.parametrize("judgement", [None, Judgement([])])
def test_without_a_judgement_there_is_none(judgement: Judgement | None) -> None:
    assert without_text(evaluation(judgement=judgement)).judgement == judgement
