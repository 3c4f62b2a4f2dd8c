"""Explanations: what they say, what they never say, and how long they get."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.model import Context, JudgedBy, Judgement, RagRun, Retrieval, Score, Verdict
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.scorers.context_relevance import ContextRelevance, Penalties
from otel_ctxscore.scorers.explanation import CUT, LONGEST, bounded
from tests.scorers.rag import CANARY, LOCAL, judged_runs

RUN = RagRun(
    "Which port?",
    [Retrieval([Context("Port 7443.", id="doc-7"), Context("Canteen."), Context("Backups.", id="doc-9")])],
    "7443",
)
JUDGED = Judgement(
    [
        Verdict(True, "high", True, "names the port"),
        Verdict(False, "none", False, "about food"),
        Verdict(True, "high", False),
    ],
    missing=["the protocol"],
    judged_by=JudgedBy("llm", "gpt", "p1", criterion="helps an operator"),
)


def explained(run: RagRun, judged: Judgement, *, quote: bool) -> list[str]:
    precision = ContextPrecision(scale=10, quote=quote)
    scorers = [precision, *precision.relatives, ContextRelevance(quote=quote), ContextRelevance(derived=True)]
    scores: list[Score] = [score for scorer in scorers for score in scorer.score_run(run, judged)]
    return [score.explanation or "" for score in scores]


@given(judged_runs())
def test_without_content_no_text_of_query_documents_notes_or_missing_pieces(drawn: tuple[RagRun, Judgement]) -> None:
    for said in explained(*drawn, quote=False):
        assert said
        assert CANARY not in said


@given(judged_runs(), st.booleans(), st.integers(1, 400))
def test_bounded_and_by_which_criterion_stays(drawn: tuple[RagRun, Judgement], quote: bool, length: int) -> None:
    run, judged = drawn
    long = [replace(verdict, note=verdict.note * length) for verdict in judged.verdicts]
    for said in explained(run, replace(judged, verdicts=long), quote=quote):
        assert len(said) <= LONGEST
        assert "Criterion: default, judged by local lexical, evaluator version" in said


@given(st.text(), st.integers(20, 60))
def test_a_cut_is_visible(text: str, longest: int) -> None:
    line = " ".join(text.split())
    said = bounded(text, longest)
    assert len(said) <= longest
    assert said == line if len(line) <= longest else said.endswith(CUT)


def test_precision_speaks_of_positions_ids_and_their_precision() -> None:
    [score] = ContextPrecision(scale=10).score_run(RUN, JUDGED)
    assert score.explanation == (
        "2 of 3 contexts useful: position 1 (doc-7), 3 (doc-9); not useful: position 2. "
        "Precision at the useful positions: 1/1, 2/3; their mean is 0.83. Times the scale of 10 that is 8.33. "
        f'Criterion: "helps an operator", judged by llm gpt, evaluator version {score.version}.'
    )


def test_relevance_speaks_of_levels_use_and_penalties_at_their_rates() -> None:
    [score] = ContextRelevance(penalties=Penalties(unused_high=0.05)).score_run(RUN, JUDGED)
    assert score.explanation == (
        "Relevance high: position 1 (doc-7), 3 (doc-9); none: position 2. Used in the response: position 1. "
        "Mean weight 0.667, less 0.05 for high but unused (position 3; 0.05 each), "
        "less 0.15 for 1 missing piece (0.15 each, at most 0.5): 0.47. "
        f'Criterion: "helps an operator", judged by llm gpt, evaluator version {score.version}.'
    )


def test_relevance_says_where_nothing_was_subtracted() -> None:
    score = ContextRelevance().score(Judgement([Verdict(relevance="low", used=True)], missing=()))
    assert "Mean weight 0.3, nothing subtracted. Judged by hand" in (score.explanation or "")


@pytest.mark.parametrize("quoted", ["Port 7443.", "names the port", "about food"])
def test_with_content_documents_and_notes_are_quoted(quoted: str) -> None:
    assert all(quoted in said for said in explained(RUN, JUDGED, quote=True)[:-1])


def test_with_content_missing_pieces_are_quoted() -> None:
    [score] = ContextRelevance(quote=True).score_run(RUN, JUDGED)
    assert "missing: “the protocol”" in (score.explanation or "")


def test_nothing_useful_and_a_judgement_by_hand() -> None:
    score = ContextPrecision().score(Judgement([Verdict(useful=False)]))
    assert score.explanation == (
        "0 of 1 contexts useful; not useful: position 1. Nothing useful was ranked, so average precision is 0. "
        f"Judged by hand, evaluator version {score.version}."
    )


def test_many_positions_are_counted_beyond_the_first_ones() -> None:
    judged = Judgement([Verdict(useful=True)] * 50, judged_by=LOCAL)
    said = ContextPrecision().score(judged).explanation or ""
    assert "20, and 30 more" in said
    assert "20/20 and so on" in said
