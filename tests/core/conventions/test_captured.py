"""Traces of real packages in the ways that applications use them: rerankers, rewritten queries, agents, several turns."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from otel_ctxscore.core.conventions import Extraction, Options, extract
from otel_ctxscore.core.model import Kind, RagRun
from otel_ctxscore.core.outcomes import Reason
from tests.core.conventions.trace_files import traces_in

FOLDER = Path(__file__).parent / "captured"
QUERY = "How long is the warranty on the Aurora kettle?"
ANSWER = "The Aurora kettle has a 24 month limited warranty."
FOLLOW_UP = "And how long is its warranty?"
KETTLE, RETURNS, TOASTER = "The Aurora kettle", "Returns are", "The Solis toaster"
ALL = (KETTLE, RETURNS, TOASTER)


def extractions(name: str, options: Options | None = None) -> list[Extraction]:
    """What is found in the traces of a file that hold a run."""
    body = gzip.decompress((FOLDER / f"{name}.pb.gz").read_bytes())
    found = [extract(trace, options or Options()) for trace in traces_in(body)]
    return [extraction for extraction in found if extraction.runs]


def run_of(name: str, options: Options | None = None) -> RagRun:
    (extraction,) = extractions(name, options)
    (run,) = extraction.runs
    return run


def begin(run: RagRun, *starts: str) -> bool:
    """Whether the only list of a run has texts that begin so."""
    (retrieval,) = run.retrievals
    found = [context.text for context in retrieval.contexts]
    return len(found) == len(starts) and all(t.startswith(s) for t, s in zip(found, starts, strict=True))


RUNS: dict[str, tuple[str, Kind, str, tuple[str, ...]]] = {
    "lc_oi_history_aware": (FOLLOW_UP, Kind.RETRIEVER, "aurora kettle warranty length", ALL),
    "lc_tl_history_aware": (FOLLOW_UP, Kind.RETRIEVER, "aurora kettle warranty length", ALL),
    "lc_lf_history_aware": (FOLLOW_UP, Kind.RETRIEVER, "aurora kettle warranty length", ALL),
    "lc_ls_history_aware": (FOLLOW_UP, Kind.RETRIEVER, "aurora kettle warranty length", ALL),
    "lc_oi_compression_ensemble": (QUERY, Kind.RETRIEVER, QUERY, (TOASTER, KETTLE)),
    "lc_oi_self_rag_graph": (QUERY, Kind.RETRIEVER, QUERY, ALL),
    "lc_tl_self_rag_graph": (QUERY, Kind.RETRIEVER, QUERY, ALL),
    "lc_both_agent_retriever_tool": (QUERY, Kind.RETRIEVER, "kettle warranty", ALL),
    "li_oi_llmrerank": (QUERY, Kind.RERANKER, QUERY, (RETURNS, KETTLE)),
    "dspy_rag": (QUERY, Kind.RETRIEVER, QUERY, ALL),
    "hs_oi_ranker": (QUERY, Kind.RERANKER, QUERY, (TOASTER, RETURNS)),
    "hs_nat_ranker": (QUERY, Kind.RERANKER, QUERY, (TOASTER, RETURNS)),
    "hs_nat_agent": (QUERY, Kind.TOOL, "kettle warranty", ALL),
}


@pytest.mark.parametrize("name", RUNS)
def test_one_turn(name: str) -> None:
    query, kind, words, starts = RUNS[name]
    run = run_of(name)
    assert (run.query, run.response, run.complete) == (query, ANSWER, True)
    assert [(retrieval.kind, retrieval.query) for retrieval in run.retrievals] == [(kind, words)]
    assert begin(run, *starts)


def test_a_rewritten_query_has_its_history() -> None:
    told = (("user", "Tell me of the Aurora kettle"), ("assistant", "It boils water."))
    assert all(run_of(f"lc_{by}_history_aware").history == told for by in ("oi", "tl", "lf", "ls"))


def test_the_second_turn_of_a_thread_is_one_turn() -> None:
    run = run_of("lc_oi_agent_joined_text_second_turn")
    assert (run.query, run.response, run.session) == (QUERY, ANSWER, "t1")
    assert run.history == (("user", "Weather in Paris?"), ("assistant", "It is sunny."))
    assert [(r.kind, r.ranked) for r in run.retrievals] == [(Kind.TOOL, False)]


@pytest.mark.parametrize("name", ["strands_second_turn", "strands_exp_second_turn"])
def test_events_of_a_second_turn_have_the_first_as_history(name: str) -> None:
    run = run_of(name)
    assert (run.query, (run.response or "").strip(), run.session) == (QUERY, ANSWER, "s1")
    assert run.history == (("user", "Tell me of kettles"), ("assistant", ANSWER))
    assert begin(run, *ALL)


def test_what_a_postprocessor_that_writes_nothing_left_is_what_the_answer_was_made_from() -> None:
    run = run_of("li_nat_postproc")
    assert [retrieval.kind for retrieval in run.retrievals] == [Kind.RERANKER]
    assert begin(run, TOASTER, RETURNS)


def test_ids_alone_are_refused_and_the_question_is_read_out_of_its_json() -> None:
    (extraction,) = extractions("lc_gen_retrieval_chain")
    assert (extraction.reason, extraction.runs[0].query) == (Reason.DOCUMENTS_WITHOUT_TEXT, QUERY)


def test_a_joined_tool_result_is_parted_by_the_ids_of_its_retriever() -> None:
    assert not run_of("lc_gen_agent_retriever_tool").retrievals[0].ranked
    run = run_of("lc_gen_agent_retriever_tool", Options(prompt_separator="\n\n"))
    assert [(r.kind, r.ranked) for r in run.retrievals] == [(Kind.RETRIEVER, True)]
    assert begin(run, *ALL)
    assert [context.id for context in run.retrievals[0].contexts] == ["doc-kettle", "doc-returns", "doc-toaster"]


def test_agents_that_answer_through_a_tool() -> None:
    run = run_of("smol_toolcalling")
    assert (run.query, run.response) == (QUERY, ANSWER)
    assert [(r.kind, r.query) for r in run.retrievals] == [(Kind.TOOL, "kettle warranty")]


def test_two_turns_under_one_span_are_two_runs() -> None:
    (extraction,) = extractions("pyd5_two_turns")
    assert [run.query for run in extraction.runs] == [QUERY, "And the toaster?"]
    assert all(begin(run, *ALL) for run in extraction.runs)
