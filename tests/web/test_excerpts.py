"""Long texts on a page: bounded, and the sentence at issue in sight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.web.excerpts import (
    LEAST,
    MOST,
    SENTENCE,
    TOGETHER,
    WHOLE,
    excerpt,
    room_of_each,
    sentence_at_issue,
    words,
)

NOISE = "The canteen opens at noon. Ships leave v1.2 of the harbour at dawn. " * 100
ANSWER = "The ledger service listens on port 7443."
ABOUT = words("Which port does the ledger service listen on?", "It is 7443.")


@pytest.mark.parametrize(
    ("text", "visible", "notes", "said"),
    [
        (f"{NOISE}{ANSWER} {NOISE}", 160, [], ANSWER),
        (f"{NOISE}{ANSWER} {NOISE}", 160, ["It says “........”."], ANSWER),
        (f"{NOISE}{ANSWER} {NOISE}", 10_000, [], None),
        (f"{ANSWER} {NOISE}", 160, [], None),
        (NOISE, 160, [], None),
        ("", 160, [], None),
        (f"{NOISE}{ANSWER} Shoes are upstairs. {NOISE}", 160, ["It says “Shoes are …”."], "Shoes are upstairs."),
        (NOISE + ANSWER, 160, ["The note says “it knows nothing of it”."], ANSWER),
        (
            f"{NOISE}Port 7443.\nIt is upstairs\n{NOISE}",
            160,
            ['Quotes "is upstairs"'],
            "It is upstairs",
        ),
        ("x" * 1000 + "It is 7443!" + "y" * 1000, 160, ["“It is 7443”"], f"…{'x' * 200}It is 7443!{'y' * 189}…"),
    ],
)
def test_the_sentence_beyond_what_is_shown(text: str, visible: int, notes: list[str], said: str | None) -> None:
    found = sentence_at_issue(text, visible, ABOUT, notes)
    assert (found and found.text) == said
    if found is not None:
        assert text.startswith(found.text.strip("…")[:20], found.at)
        assert found.quoted == (bool(notes) and said != ANSWER)


def test_scripts_without_spaces_are_looked_through_too() -> None:
    text = "食堂は正午に開きます。" * 50 + "台帳はポート七四四三で待ちます。" + "食堂は正午に開きます。" * 50
    found = sentence_at_issue(text, 160, words("台帳のポートはどこですか?"), [])
    assert found is not None
    assert found.text == "台帳はポート七四四三で待ちます。"


@given(st.text(st.sampled_from("ab 7.\n\u200bé")), st.text(st.sampled_from("ab 7.\n\u200bé")), st.integers(0, 50))
def test_a_sentence_is_of_the_text_and_bounded(text: str, question: str, visible: int) -> None:
    found = sentence_at_issue(text * 9, visible, words(question * 3), [f"“{question}”"])
    if found is not None:
        assert found.text.strip("…") in text * 9
        assert len(found.text) <= SENTENCE + 2


@given(st.text(), st.integers(0, 9), st.booleans())
def test_what_is_not_shown_is_counted(text: str, room: int, whole: bool) -> None:
    found = excerpt(text, room, whole=whole)
    assert text.startswith(found.begins)
    assert len(found.begins) + found.more == len(text)
    assert found.whole == whole


def test_many_texts_share_a_page() -> None:
    assert room_of_each(1) == room_of_each(0) == MOST
    assert room_of_each(10_000) == LEAST
    assert all(n * room_of_each(n) <= TOGETHER for n in range(1, TOGETHER // LEAST))
    assert excerpt("x" * (WHOLE + 7), 9, whole=True).more == 7
