"""Context precision and its relatives: the formula, its bounds, and which list gets which score."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from otel_ctxscore.core.model import Judgement, RagRun, Retrieval, Score, Verdict
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.ports import HasCheapScores
from otel_ctxscore.scorers.context_precision import ContextPrecision, average_precision
from otel_ctxscore.scorers.expectation import HEAD, expected_average_precision
from otel_ctxscore.scorers.relatives import HitRate, ReciprocalRank, ShareUseful
from tests.scorers.rag import chances, flags, judgement, listed, run_of, scales

R = Reason


def exact(useful: list[bool]) -> Fraction:
    """The definition in fractions: precision at each useful position, averaged."""
    at = [Fraction(sum(useful[: i + 1]), i + 1) for i, is_useful in enumerate(useful) if is_useful]
    return sum(at, Fraction()) / len(at) if at else Fraction()


def values(scores: list[Score]) -> list[float | Reason | None]:
    return [score.unscored if score.value is None else score.value for score in scores]


@pytest.mark.parametrize(
    ("useful", "expected"),
    [
        ([0, 1], 0.5),
        ([1, 0], 1.0),
        ([1, 0, 1], 5 / 6),
        ([0, 1, 1], 7 / 12),
        ([1, 1, 0, 1], 11 / 12),
        ([0, 0, 1], 1 / 3),
        ([1, 1, 1], 1.0),
        ([1, 0, 0], 1.0),
        ([1], 1.0),
        ([0, 0, 0], 0.0),
    ],
)
def test_known_values(useful: list[int], expected: float) -> None:
    score = ContextPrecision().score(Judgement([Verdict(useful=bool(u)) for u in useful]))
    assert score.ratio == pytest.approx(expected, abs=1e-9)
    assert expected not in (0.0, 1.0) or score.ratio == score.value == expected


@given(flags)
def test_average_precision_is_its_definition_and_within_bounds(useful: list[bool]) -> None:
    ap = average_precision(useful)
    assert 0 <= ap <= 1
    assert ap == pytest.approx(float(exact(useful)), abs=1e-12)
    assert (ap == 0) == (not any(useful))


@given(flags, st.data())
def test_a_useful_context_that_moves_up_raises_the_score(useful: list[bool], data: st.DataObject) -> None:
    assume(len(set(useful)) == 2)
    yes = data.draw(st.sampled_from([i for i, u in enumerate(useful) if u]))
    no = data.draw(st.sampled_from([i for i, u in enumerate(useful) if not u]))
    swapped = list(useful)
    swapped[yes], swapped[no] = swapped[no], swapped[yes]
    assert (exact(swapped) > exact(useful)) == (no < yes)
    assert (average_precision(swapped) > average_precision(useful)) == (no < yes)


@given(flags, scales)
def test_scale_changes_the_value_and_neither_ratio_nor_label(useful: list[bool], scale: float) -> None:
    plain, scaled = ContextPrecision().score(judgement(useful)), ContextPrecision(scale).score(judgement(useful))
    assert (scaled.ratio, scaled.label, scaled.version) == (plain.ratio, plain.label, plain.version)
    assert scaled.scale == scale
    assert scaled.value == pytest.approx(average_precision(useful) * scale, abs=0.005001)


@given(st.lists(chances, min_size=1, max_size=8))
def test_a_probability_counts_as_its_verdict(useful: list[bool | float]) -> None:
    as_words = judgement([u >= 0.5 for u in useful])
    assert ContextPrecision().score(judgement(useful)) == ContextPrecision().score(as_words)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_the_cheap_score_is_the_mean_over_all_patterns(ps: list[float]) -> None:
    patterns = [list(pattern) for pattern in product([True, False], repeat=len(ps))]
    chances = [prod(p if useful else 1 - p for p, useful in zip(ps, pattern, strict=True)) for pattern in patterns]
    mean = sum(c * average_precision(pattern) for c, pattern in zip(chances, patterns, strict=True))
    assert expected_average_precision(ps) == pytest.approx(mean, abs=1e-9)


@given(flags)
def test_sure_verdicts_are_expected_as_they_are(useful: list[bool]) -> None:
    run = run_of([f"text {number}" for number in range(len(useful))])
    [cheap] = ContextPrecision().cheap_scores(run, judgement(useful))
    assert cheap == pytest.approx(average_precision(useful), abs=1e-12)


def test_cheap_scores_stand_beside_the_scores() -> None:
    run = each(listed("a", "b"), listed(), listed("b"))
    assert isinstance(ContextPrecision(), HasCheapScores)
    assert ContextPrecision().cheap_scores(run, judgement([0.5, 1.0])) == [pytest.approx(0.75), None, 1.0]
    assert ContextPrecision().cheap_scores(run, judgement([0.5])) == [None] * 3


@given(st.lists(st.floats(0, 1), min_size=HEAD, max_size=HEAD), st.lists(st.floats(0, 1), max_size=99))
@settings(max_examples=10)
def test_the_tail_of_a_long_list_costs_nothing(head: list[float], tail: list[float]) -> None:
    assert expected_average_precision(head + tail) == expected_average_precision(head)


@given(flags)
def test_relatives_are_other_readings_of_the_same_list(useful: list[bool]) -> None:
    hit, rank, share = (
        scorer.score(judgement(useful)).ratio for scorer in (HitRate(), ReciprocalRank(), ShareUseful())
    )
    assert hit == (True in useful)
    assert rank == (1 / (useful.index(True) + 1) if True in useful else 0)
    assert share == useful.count(True) / len(useful)


@pytest.mark.parametrize(
    ("ratio", "label"),
    [
        (1, "excellent"),
        (0.9, "excellent"),
        (0.895, "excellent"),
        (0.8949, "good"),
        (0.7, "good"),
        (0.69, "mixed"),
        (0.4, "mixed"),
        (0.39, "poor"),
        (0.01, "poor"),
        (0.0, "none_relevant"),
    ],
)
def test_labels(ratio: float, label: str) -> None:
    assert ContextPrecision().label(ratio) == label


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf")])
def test_scale_must_be_above_zero(scale: float) -> None:
    with pytest.raises(ValueError, match="scale must be a number above 0"):
        ContextPrecision(scale)


def test_an_empty_list_has_no_score() -> None:
    assert values([ContextPrecision().score(Judgement([]))]) == [R.NO_CONTEXTS]


# ---- a run ------------------------------------------------------------------------------------------------------

TWO_LISTS = run_of(["a", "b"], ["b", "c"])
"""Three distinct contexts: a, b, c."""


@pytest.mark.parametrize(
    ("over", "expected"),
    [("each", [(0, 1.0), (1, 0.5)]), ("merge", [(None, 0.83)]), ("last", [(1, 0.5)])],
)
def test_which_lists_are_scored(over: str, expected: list[tuple[int | None, float]]) -> None:
    run = replace(TWO_LISTS, precision_over=over)  # type: ignore[arg-type]
    judged = judgement([True, False, True])
    for scorer in (ContextPrecision(), *ContextPrecision().relatives):
        scores = scorer.score_run(run, judged)
        assert [score.retrieval for score in scores] == [retrieval for retrieval, _ in expected]
    assert [(s.retrieval, s.value) for s in ContextPrecision().score_run(run, judged)] == expected


EMPTY, JOINED = listed(), listed("all in one", ranked=False)
CUT = listed("half", refused=R.DOCUMENTS_INCOMPLETE)
NO_QUERY = RagRun(None, [listed("a"), EMPTY])


def each(*retrievals: Retrieval) -> RagRun:
    return RagRun("q", retrievals, "r")


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (each(listed("a"), EMPTY, JOINED, CUT), [1.0, R.NO_CONTEXTS, R.UNRANKED, R.DOCUMENTS_INCOMPLETE]),
        (replace(each(listed("a"), EMPTY), precision_over="merge"), [1.0]),
        (replace(each(listed("a"), CUT), precision_over="merge"), [R.DOCUMENTS_INCOMPLETE]),
        (replace(each(listed("a"), JOINED), precision_over="merge"), [R.UNRANKED]),
        (replace(each(EMPTY), precision_over="merge"), [R.NO_CONTEXTS]),
        (replace(each(listed("a"), EMPTY), precision_over="last"), [R.NO_CONTEXTS]),
        (replace(each(listed("a")), response=None), [1.0]),
        (NO_QUERY, [R.NO_QUERY, R.NO_QUERY]),
        (replace(NO_QUERY, precision_over="merge"), [R.NO_QUERY]),
        (RagRun("q", []), [R.NO_CONTEXTS]),
        (RagRun("q", [], incomplete_reason=R.NO_CONTENT), [R.NO_CONTENT]),
    ],
)
def test_a_list_has_its_own_reason(run: RagRun, expected: list[float | Reason]) -> None:
    judged = judgement([True] * len(run.judged))
    assert values(ContextPrecision().score_run(run, judged)) == expected
    unavailable = [R.JUDGE_UNAVAILABLE if isinstance(e, float) else e for e in expected]
    assert values(ContextPrecision().refuse(run, R.JUDGE_UNAVAILABLE)) == unavailable
    can_be_scored = any(isinstance(e, float) for e in expected)
    assert (ContextPrecision().refusal(run) is None) == can_be_scored


@pytest.mark.parametrize("useful", [[], [True], [True] * 4, [None] * 3, [True, None, True]])
def test_a_judgement_that_is_not_whole_scores_nothing(useful: list[bool | None]) -> None:
    judged = Judgement([Verdict(useful=u) for u in useful])
    assert values(ContextPrecision().score_run(TWO_LISTS, judged)) == [R.JUDGE_INCOMPLETE] * 2


def test_the_same_text_twice_in_a_list_takes_both_ranks() -> None:
    run = run_of(["a", "b", "a"])
    assert values(ContextPrecision().score_run(run, judgement([False, True]))) == [0.5]
    assert values(ShareUseful().score_run(run, judgement([True, False]))) == [0.67]
