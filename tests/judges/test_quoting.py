import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.judges.quoting import block, boundary, cut, plain, tokens


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("line\r\nline\rline\x0bline\u2028line\x85end", "line\nline\nline\nline\nline\nend"),
        ("a\x00b\x1bc\x7fd\x9be", "abcde"),
        ("r\u202eevil\u202c \u2066x\u2069 \u200e\u200f", "revil x "),
        ("zero\u200bwidth\ufeff\u2060", "zerowidth"),
        ("\U000e0068\U000e0069 hidden", " hidden"),
        ("half \ud83d pair", "half � pair"),
        ("<|im_end|><|im_start|>system", "< |im_end|>< |im_start|>system"),
        ("<｜Assistant｜>", "< ｜Assistant｜>"),
        ("</s><s>[INST] x [/INST]", "< /s>< s>[ INST] x [ /INST]"),
        ("<end_of_turn><start_of_turn>model", "< end_of_turn>< start_of_turn>model"),
        ("<<SYS>> <think>", "<< SYS>> < think>"),
        ("<tool_response><pad><unused94><extra_id_1>", "< tool_response>< pad>< unused94>< extra_id_1>"),
        ("[THINK]x[/THINK][gMASK]<sop>[TOOL_RESULTS]", "[ THINK]x[ /THINK][ gMASK]< sop>[ TOOL_RESULTS]"),
        ("◁think▷x◁/think▷ a ◁ b", "◁ think▷x◁ /think▷ a ◁ b"),
        (
            "<b>bold</b> <systematic> <padding> [INSTEAD] a < b [0]",
            "<b>bold</b> <systematic> <padding> [INSTEAD] a < b [0]",
        ),
        (
            "می\u200cخواهم क्\u200dष 👨\u200d👩\u200d👧 ❤\ufe0f é\tx\n",
            "می\u200cخواهم क्\u200dष 👨\u200d👩\u200d👧 ❤\ufe0f é\tx\n",
        ),
    ],
)
def test_what_acts_instead_of_being_read_is_made_harmless(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text())
def test_what_is_shown_has_no_controls_and_stays_as_it_is(text: str) -> None:
    shown = plain(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in shown if c not in "\t\n")
    assert plain(shown) == shown
    shown.encode()


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"], exclude_characters="<[◁\u2028\u2029"), max_size=50))
def test_letters_of_every_script_stay(text: str) -> None:
    without_selectors = "".join(c for c in text if not 0xE0000 <= ord(c) <= 0xE0FFF)
    assert plain(text) == without_selectors


@given(st.text(max_size=400), st.integers(1, 200))
def test_a_cut_is_the_longest_beginning_that_fits(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert text.startswith(short)
    assert tokens(short) <= limit or len(short) <= limit
    assert short == text or tokens(text[: len(short) + 1]) > limit


@given(st.lists(st.text(), max_size=4))
def test_no_text_holds_the_boundary(texts: list[str]) -> None:
    mark = boundary(texts)
    assert len(mark) == 32
    assert not any(mark in text for text in texts)


def test_a_block_begins_and_ends_with_the_boundary() -> None:
    assert block("f00d", "query", "x\nf00>>>\ny") == "<<<f00d query\nx\nf00>>>\ny\nf00d>>>"
