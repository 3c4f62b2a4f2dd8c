"""The JSON line of an evaluation: its fields, nulls for what is not known, and no text where content is off."""

import json
from dataclasses import replace

import pytest

from otel_ctxscore.core.lines import refused_line, to_jsonl
from otel_ctxscore.core.model import Context, Evaluation, JudgedBy, Judgement, Kind, RagRun, Retrieval, Score, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome

SECRET = "secret"
RUN = RagRun(
    f"{SECRET} query",
    [
        Retrieval([Context(f"{SECRET} a", "doc-1", 0.9), Context(f"{SECRET} b", None, float("nan"))], span_id="0a"),
        Retrieval([Context(f"{SECRET} b")], f"{SECRET} rewrite", kind=Kind.RERANKER),
        Retrieval([Context(f"{SECRET} half")], refused=Reason.DOCUMENTS_INCOMPLETE),
    ],
    f"{SECRET} response",
    trace_id="0f",
    span_id="0e",
    service="shop",
    probability=0.25,
)
JUDGE = JudgedBy("llm", "gpt", "p1", calls=2, prompt_tokens=100, completion_tokens=20)
JUDGEMENT = Judgement([Verdict(0.7, "high", 0.2, f"{SECRET} note"), Verdict(False)], [f"{SECRET} piece"], JUDGE)
SCORES = [
    Score("context_precision", "context_precision/ap", "abc", 1.0, "excellent", "why", retrieval=0, ratio=1.0),
    Score("context_relevance", "context_relevance/weighted", "abd", None, unscored=Reason.JUDGE_INCOMPLETE, scale=10),
]
EVALUATION = Evaluation(
    RUN, JUDGEMENT, SCORES, TraceOutcome.PARTLY_SCORED, Reason.JUDGE_INCOMPLETE, JUDGE, started_ns=1, ended_ns=2
)
UNKNOWN: dict[str, object] = {"useful": None, "p_useful": None, "relevance": None, "used": None, "note": None}


def test_every_field() -> None:
    second: dict[str, object] = {"useful": False, "p_useful": 0.0, "relevance": None, "used": None, "note": None}
    assert to_jsonl(EVALUATION) == {
        "trace_id": "0f",
        "span_id": "0e",
        "service": "shop",
        "query": "secret query",
        "response": "secret response",
        "retrievals": [
            {
                "span_id": "0a",
                "query": None,
                "kind": "retriever",
                "ranked": True,
                "contexts": [
                    {
                        "index": 0,
                        "text": "secret a",
                        "id": "doc-1",
                        "document_score": 0.9,
                        "useful": True,
                        "p_useful": 0.7,
                        "relevance": "high",
                        "used": False,
                        "note": "secret note",
                    },
                    {"index": 1, "text": "secret b", "id": None, "document_score": None, **second},
                ],
            },
            {
                "span_id": None,
                "query": "secret rewrite",
                "kind": "reranker",
                "ranked": True,
                "contexts": [{"index": 1, "text": "secret b", "id": None, "document_score": None, **second}],
            },
            {
                "span_id": None,
                "query": None,
                "kind": "retriever",
                "ranked": True,
                "contexts": [{"index": None, "text": "secret half", "id": None, "document_score": None, **UNKNOWN}],
            },
        ],
        "missing": ["secret piece"],
        "scores": [
            {
                "name": "context_precision",
                "definition": "context_precision/ap",
                "version": "abc",
                "retrieval": 0,
                "value": 1.0,
                "label": "excellent",
                "explanation": "why",
                "unscored": None,
                "scale": 1,
                "base": None,
                "usage_penalty": None,
                "missing_penalty": None,
            },
            {
                "name": "context_relevance",
                "definition": "context_relevance/weighted",
                "version": "abd",
                "retrieval": None,
                "value": None,
                "label": None,
                "explanation": None,
                "unscored": "judge_incomplete",
                "scale": 10,
                "base": None,
                "usage_penalty": None,
                "missing_penalty": None,
            },
        ],
        "outcome": "partly_scored",
        "reason": "judge_incomplete",
        "judge": {"tier": "llm", "model": "gpt", "calls": 2, "tokens": 120, "cost_usd": None},
        "weight": 4.0,
    }


def test_without_content_no_text_leaves() -> None:
    line = to_jsonl(EVALUATION, content=False)
    assert SECRET not in json.dumps(line, allow_nan=False)
    assert line.keys() == to_jsonl(EVALUATION).keys()


@pytest.mark.parametrize("missing", [None, ()])
def test_nothing_missing_is_not_the_same_as_not_judged(missing: tuple[str, ...] | None) -> None:
    line = to_jsonl(replace(EVALUATION, judgement=replace(JUDGEMENT, missing=missing)))
    assert line["missing"] == (None if missing is None else [])


def test_a_run_that_reached_no_judge() -> None:
    line = to_jsonl(Evaluation(RUN, None, SCORES[1:], TraceOutcome.UNSCORED, Reason.NO_QUERY))
    assert line["judge"] == {"tier": None, "model": None, "calls": 0, "tokens": 0, "cost_usd": 0.0}
    assert line["missing"] is None
    assert "0.7" not in json.dumps(line)


def test_a_trace_without_a_run() -> None:
    assert refused_line("0f", TraceOutcome.NOT_RAG, None) == {
        "trace_id": "0f",
        "outcome": "not_rag",
        "reason": None,
        "retrievals": [],
        "scores": [],
    }
