"""One voice a context, however many people labelled a run; and how far they agree."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.monitoring.label_votes import Votes, count_votes
from otel_ctxscore.monitoring.labels import LabelError, checked, contradiction

ANSWERS = st.lists(st.sampled_from([True, False, None]), min_size=3, max_size=3)


def line(who: str | None, *useful: bool | None, run: str = "r", **changed: Any) -> dict[str, Any]:
    contexts = [{"text": f"t{place}", "useful": said} for place, said in enumerate(useful)]
    return {"run_id": run, "who": who, "query": "q", "response": "a", "contexts": contexts, **changed}


def votes(*lines: dict[str, Any]) -> Votes:
    return count_votes(checked(number, one) for number, one in enumerate(lines, 1))


def test_a_run_of_several_people_counts_once_and_most_of_them_hold() -> None:
    found = votes(
        line("ann", True, False, True),
        line("bob", True, False, False),
        line("eve", False, False, None),
        line("ann", True, True, True, run="another"),
    )
    assert [one.useful for one in found.runs] == [(True, False, None), (True, True, True)]
    assert (found.tied, found.replaced) == (1, 0)
    assert found.runs[0].line["who"] == "ann, bob, eve"
    assert found.people is not None
    assert (found.people.people, found.people.runs, found.people.contexts) == (3, 1, 3)


@pytest.mark.parametrize(
    ("times", "holds"),
    [
        (("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"), True),
        (("2026-01-01T01:00:00+02:00", "2026-01-01T00:00:00Z"), False),
        ((None, None), False),
        (("2026-01-01T00:00:00Z", "some day"), True),
    ],
)
def test_of_one_person_the_latest_holds(times: tuple[str | None, str | None], holds: bool) -> None:
    found = votes(line("ann", True, at=times[0]), line("ann", False, at=times[1]))
    assert [one.useful for one in found.runs] == [(holds,)]
    assert (found.replaced, found.people) == (1, None)


def test_contexts_that_one_person_left_out_are_those_of_the_others() -> None:
    short = line("ann", False)
    short["contexts"][0]["text"] = "t1"
    [one] = votes(short, line("bob", True, False, True)).runs
    assert ([context.text for context in one.run.judged], one.useful) == (["t0", "t1", "t2"], (True, False, True))


def test_a_run_on_which_all_is_tied_says_nothing() -> None:
    assert votes(line("ann", True), line("bob", False)).runs == []


def test_runs_without_an_id_are_the_same_by_their_text() -> None:
    same, other = line("ann", True, run=""), line("bob", True, run="", query="another")
    assert len(votes(same, line("bob", True, run=""), other).runs) == 2


@given(st.lists(st.tuples(st.sampled_from(["ann", "bob", "eve"]), ANSWERS.filter(any)), min_size=1, max_size=6))
def test_the_order_of_people_changes_nothing(given: list[tuple[str, list[bool | None]]]) -> None:
    lines = [line(who, *said, at=f"2026-01-01T00:00:0{n}Z") for n, (who, said) in enumerate(given)]
    shuffled = random.Random(0).sample(lines, len(lines))
    first, second = votes(*lines), votes(*shuffled)
    assert [one.useful for one in first.runs] == [one.useful for one in second.runs]
    assert (first.people, first.tied, first.replaced) == (second.people, second.tied, second.replaced)


def test_kappa_between_people_is_that_of_all_their_pairs() -> None:
    said = [(True, True), (True, True), (False, False), (True, False)]
    lines = [
        line(who, answers[place], run=str(n)) for n, answers in enumerate(said) for place, who in enumerate(("a", "b"))
    ]
    found = votes(*lines).people
    assert found is not None
    yes = 5 / 8  # both people's words pooled, as in Scott's pi
    by_chance = yes**2 + (1 - yes) ** 2
    assert found.useful is not None
    assert found.useful.value == pytest.approx((3 / 4 - by_chance) / (1 - by_chance))
    assert found.useful.lower < found.useful.value < found.useful.upper
    assert found.used is None


def test_relevance_and_used_of_people_are_compared_too() -> None:
    lines = [line("ann", None, None), line("bob", None, None)]
    for one, levels in zip(lines, (("high", "low"), ("high", "none")), strict=True):
        for context, level in zip(one["contexts"], levels, strict=True):
            context |= {"relevance": level, "used": level == "high"}
    found = votes(*lines).people
    assert found is not None
    assert found.used is not None
    assert (found.contexts, found.useful, found.used.value) == (0, None, 1.0)
    assert found.relevance is not None
    assert 0 < found.relevance < 1


@pytest.mark.parametrize(
    ("useful", "relevance", "used", "has_response", "what"),
    [
        (False, "high", None, True, "is not useful, yet its relevance is high"),
        (True, "none", None, True, "is useful, yet its relevance is none"),
        (None, None, True, False, "is used, yet there is no response"),
        (False, "medium", True, True, None),
        (False, "low", True, True, None),
        (True, "low", False, False, None),
        (None, "high", None, False, None),
    ],
)
def test_what_cannot_be_true_together(
    useful: bool | None, relevance: str | None, used: bool | None, has_response: bool, what: str | None
) -> None:
    said = contradiction(useful, relevance, used, has_response=has_response)
    assert (said is None) if what is None else (what in str(said))
    context = {"text": "t", "useful": useful, "relevance": relevance, "used": used}
    whole = {"query": "q", "response": "a" if has_response else None, "contexts": [context]}
    if what is None:
        assert checked(1, whole).useful == (useful,)
    else:
        with pytest.raises(LabelError, match=rf"line 1: contexts\[0\] {what}"):
            checked(1, whole)
