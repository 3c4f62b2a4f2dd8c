import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.judges.prompt import (
    PROMPT_TOKENS,
    Exhibit,
    exhibit,
    fingerprint,
    instructions,
    portions,
    question,
    rubric_question,
)
from otel_ctxscore.judges.quoting import tokens
from otel_ctxscore.testing import Call
from tests.judges.completions import call_of, run_of


def shown(run: RagRun, history: int = 6, prompt_tokens: int = PROMPT_TOKENS) -> Exhibit:
    return exhibit(run, str, history, prompt_tokens)


def asked(run: RagRun, *, wrong: str | None = None, missing: list[str] | None = None) -> Call:
    seen = shown(run)
    return call_of(question(instructions(None), seen, range(len(seen.contexts)), missing, wrong))


def test_every_part_of_the_run_is_in_the_prompt_and_quoted() -> None:
    run = RagRun(
        "And its port?", [Retrieval([Context("7443"), Context("noon")])], "It is 7443.", [("user", "The ledger?")]
    )
    call = asked(run)
    assert (call.query, call.contexts, call.response) == ("And its port?", ["7443", "noon"], "It is 7443.")
    assert call.history == [("user", "The ledger?")]
    for part in ("7443", "noon", "And its port?", "The ledger?"):
        assert part not in call.outside


@given(
    st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=5, unique=True), st.text().filter(str.strip)
)
def test_whatever_the_texts_hold_they_are_read_back_whole(contexts: list[str], query: str) -> None:
    run = run_of(*contexts, query=query)
    call, seen = asked(run), shown(run)
    assert call.contexts == [text.shown for text in seen.contexts]
    assert call.query == seen.query.shown
    assert len(call.contexts) == len(run.judged)


def test_with_queries_of_the_retrievals_each_context_stands_under_its_own() -> None:
    retrievals = [Retrieval([Context("a")], query="first"), Retrieval([Context("b"), Context("a")])]
    run = RagRun("asked", retrievals, query_from="retrieval")
    call = asked(run)
    assert call.contexts == ["a", "b", "a"]
    assert call.queries == ["first", "asked", "asked"]
    assert call.query == "asked"


def test_the_instructions_are_the_same_for_every_run_and_come_first() -> None:
    first, second = asked(run_of("a")), asked(run_of("b", query="other", response="r"))
    assert first.body["messages"][0] == second.body["messages"][0]
    assert first.body["messages"][0]["role"] == "system"
    assert first.mark != second.mark


def test_without_a_response_use_is_not_asked() -> None:
    seen = shown(run_of("a"))
    schema = question("s", seen, range(1)).schema
    assert "used" not in str(schema)
    assert "used" in str(question("s", shown(run_of("a", response="r")), range(1)).schema)
    assert shown(run_of("a", response="  ")).response is None


def test_only_the_last_messages_of_the_history_are_shown() -> None:
    run = RagRun("q", [Retrieval([Context("a")])], history=[("user", str(i)) for i in range(9)] + [("evil\nrole", "x")])
    assert [text.shown for _, text in shown(run, history=3).history] == ["7", "8", "x"]
    assert shown(run, history=1).history[0][0] == "other"
    assert shown(run, history=0).history == ()


def test_a_text_that_is_too_long_is_cut_and_says_so() -> None:
    run = run_of("short", "long " * 10_000)
    seen = shown(run, prompt_tokens=800)
    assert seen.cut_contexts == 1
    call = call_of(question("s", seen, range(2)))
    assert call.contexts[0] == "short"
    assert tokens(call.contexts[1]) <= 100
    title = next(title for title, text in call.quoted if text.startswith("long"))
    assert re.fullmatch(r"context \[1\] \(shortened: the first \d+ of 50000 characters\)", title)


@pytest.mark.parametrize("contexts", [1, 7, 130, 131, 300])
def test_no_context_is_dropped_however_many_there_are(contexts: int) -> None:
    seen = shown(run_of(*(f"{i} " + "word " * 300 for i in range(contexts))), prompt_tokens=8000)
    found = portions(seen, 8000)
    assert [place for portion in found for place in portion] == list(range(contexts))
    for portion in found:
        whole = sum(tokens(message["content"]) for message in question("", seen, portion).messages)
        assert whole <= 8000 * 1.3


def test_a_later_portion_is_told_what_is_missing_so_far() -> None:
    call = asked(run_of("a"), missing=["the date"])
    assert ("missing so far", '["the date"]') in call.quoted
    assert "missing so far" not in asked(run_of("a")).prompt


def test_a_repair_names_what_was_wrong() -> None:
    assert "the indexes were 0, 0" in asked(run_of("a"), wrong="the indexes were 0, 0").outside


def test_a_criterion_of_ones_own_replaces_the_wording_and_changes_the_version() -> None:
    assert "names a port" in instructions("names a port")
    assert "helps to give a right answer" not in instructions("names a port")
    assert fingerprint("names a port") != fingerprint(None)
    assert fingerprint(None) == fingerprint(None)


def test_a_rubric_sees_everything_in_one_prompt_whatever_its_size() -> None:
    run = run_of(*(f"{i} " + "word " * 2000 for i in range(60)), response="r")
    seen = exhibit(run, str, 6, 8000, whole=True)
    call = call_of(rubric_question("Count the claims.", seen, {"properties": {"score": {"type": "number"}}}, "no JSON"))
    assert len(call.contexts) == 60
    assert tokens(call.prompt) <= 8000 * 1.5
    assert "Count the claims." in call.outside
    assert '"score"' in call.outside
    assert "no JSON" in call.outside
