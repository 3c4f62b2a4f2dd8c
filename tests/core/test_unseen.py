"""What has no shape of its own is named, and what a script needs is left."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.unseen import MARK, SHOWN_OF_A_RUN, fitting, in_json, plain

NUMBER_SIGNS = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Formats of Unicode that are seen."""
UNSEEN = st.sampled_from("\u202e\u2066\u200b\u200d\ufeff\x1b\x00\x9b\u00ad\ufe0f\U000e0041\ud800\u2028\u3164")
TEXTS = st.text(st.one_of(UNSEEN, st.characters(), st.sampled_from("ab <&\"'\n\r")))


def test_every_control_format_and_separator_is_named() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and code not in (0x9, 0xA, *NUMBER_SIGNS):
            assert plain(f"a{character}b") == f"a⟨U+{code:04X}⟩b"


@pytest.mark.parametrize(
    "text",
    [
        "plain, with a tab\tand\ntwo lines",
        "naïve Größe, 東京で昼に開く。",
        "می\u200cخواهم",  # Persian: the letters must not join
        "क्\u200dष",  # Devanagari: the half form
        "👩\u200d💻 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 ☺\ufe0e",
        "葛\U000e0100城",  # a variant of an ideograph, as names have
        "שלום (12) עולם",
        "no\xa0break",
    ],
)
def test_what_a_script_needs_is_left_as_it_is(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pay\u202eecivres", "pay⟨U+202E⟩ecivres"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("a\ufe0fb", "a⟨U+FE0F⟩b"),
        ("☺\ufe0f\U000e0100\U000e0101", "☺\ufe0f⟨U+E0100 U+E0101⟩"),  # a text hidden behind a smile
        ("x" + "\u200b" * 1200, "x⟨U+200B U+200B U+200B and 1197 more⟩"),
        ("\x1b[31mred", "⟨U+001B⟩[31mred"),
        ("one\r\ntwo\rthree", "one\ntwo⟨U+000D⟩three"),
    ],
)
def test_what_could_deceive_is_named(text: str, said: str) -> None:
    assert plain(text) == said


@given(TEXTS, st.integers(0, 40))
def test_as_much_of_a_text_as_fits(text: str, room: int) -> None:
    length = fitting(text, room)
    assert 0 <= length <= len(text)
    marks = SHOWN_OF_A_RUN * MARK
    assert len(plain(text[:length])) <= room + marks + len("⟨ and 99 more⟩") * length
    if length < len(text):
        assert len(plain(text[: length + 1])) + 1 >= min(room, length)
    assert fitting("a" * 99, room) == room


@given(st.dictionaries(TEXTS, st.lists(TEXTS)))
def test_json_holds_the_same_without_what_is_unseen(value: object) -> None:
    written = in_json(json.dumps(value, ensure_ascii=False, indent=2))
    assert json.loads(written) == value
    assert not {*"\u202e\u200b\x1b\x9b\ud800\u2028"} & {*written}
