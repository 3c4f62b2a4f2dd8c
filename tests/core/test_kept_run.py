"""A kept run read back is the run that the judge saw."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.kept_run import judged_contexts, opinion, restored_run
from otel_ctxscore.core.lines import to_jsonl
from otel_ctxscore.core.model import Context, Evaluation, Kind, Provenance, RagRun, Retrieval
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.records import KEPT_HISTORY, Record, Store, record, text_of, with_text
from tests.io.evaluations import JUDGEMENT, RUN, evaluation

WORDS = st.sampled_from(["port", "7443", "canteen", "", " ", "a\ud800", "line\nline"])
WHERE = st.none() | st.builds(Provenance, st.none() | WORDS, st.none() | WORDS)
CONTEXTS = st.builds(
    Context,
    WORDS,
    st.none() | WORDS,
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | WORDS,
    WHERE,
)
RETRIEVALS = st.builds(
    Retrieval,
    st.lists(CONTEXTS, max_size=4),
    query=st.none() | WORDS,
    ranked=st.booleans(),
    span_id=st.none() | WORDS,
    kind=st.sampled_from(Kind),
    refused=st.none() | st.sampled_from([Reason.REDACTED, Reason.DOCUMENTS_INCOMPLETE]),
    query_read_from=WHERE,
)
RUNS = st.builds(
    RagRun,
    st.none() | WORDS,
    st.lists(RETRIEVALS, max_size=3),
    st.none() | WORDS,
    history=st.lists(st.tuples(st.sampled_from(["user", "assistant"]), WORDS), max_size=4),
    trace_id=st.none() | WORDS,
    span_id=st.none() | WORDS,
    session=st.none() | WORDS,
    convention=st.none() | WORDS,
    query_read_from=WHERE,
    response_read_from=WHERE,
    complete=st.booleans(),
    incomplete_reason=st.none() | st.sampled_from(Reason),
    query_from=st.sampled_from(["user", "retrieval"]),
    precision_over=st.sampled_from(["each", "merge", "last"]),
)


def kept(it: Evaluation, store: Store = "text") -> Record:
    """The record as the state gives it back: through JSON."""
    text = text_of(it, store)
    whole = with_text(json.loads(json.dumps(record(it))), None if text is None else json.loads(json.dumps(text)))
    return {"run_id": "r", "at": 1.0, "content": store, **whole}


@given(run=RUNS)
def test_a_run_comes_back_as_it_was(run: RagRun) -> None:
    back = restored_run(kept(Evaluation(run, None, (), evaluation().outcome)))
    assert back == run
    assert (back.judged, back.questions, back.refused) == (run.judged, run.questions, run.refused)
    assert [back.places(r) for r in back.retrievals if r.refused is None] == [
        run.places(r) for r in run.retrievals if r.refused is None
    ]


def test_of_a_long_conversation_the_end_is_kept() -> None:
    said = [("user", str(n)) for n in range(KEPT_HISTORY + 5)]
    assert restored_run(kept(evaluation(run=replace(RUN, history=said)))).history == tuple(said[5:])


@pytest.mark.parametrize("content", ["hash", "none", "deleted", "expired"])
def test_a_run_without_its_text_does_not_come_back(content: Any) -> None:
    store: Store = content if content in ("hash", "none") else "none"
    with pytest.raises(ValueError, match="text of the run is not kept"):
        restored_run({**kept(evaluation(run=replace(RUN, history=[("user", "before")])), store), "content": content})


def test_a_record_of_before_is_read_with_the_defaults() -> None:
    old = kept(evaluation())
    for name in ("history", "query_from", "precision_over"):
        del old[name]
    back = restored_run(old)
    assert (back.history, back.query_from, back.precision_over) == ((), "user", "each")


def test_an_opinion_has_a_verdict_for_each_distinct_context() -> None:
    said = opinion(kept(evaluation()))
    assert [one["index"] for one in said["verdicts"]] == list(range(len(JUDGEMENT.verdicts)))
    assert [one["useful"] for one in said["verdicts"]] == [True, False, False, False]
    assert (said["missing"], said["outcome"], len(said["scores"])) == (["who owns it"], "partly_scored", 5)
    assert said["verdicts"] == opinion(to_jsonl(evaluation()))["verdicts"]
    assert [context["text"] for context in judged_contexts(kept(evaluation()))] == [c.text for c in RUN.judged]
