import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.json_in_text import answers, find_json

YES = '{"verdict": "yes"}'
NO = '{"verdict": "no"}'


def found(text: str, *material: str) -> tuple[Any, ...]:
    return answers(text, lambda value: isinstance(value, dict) and "verdict" in value, ["verdict"], material).values


@pytest.mark.parametrize(
    ("text", "values", "cut"),
    [
        ("", [], False),
        ("none here", [], False),
        ("a [0] b {x} c", [[0]], False),
        (f"before {YES} after", [{"verdict": "yes"}], False),
        (f"```json\n{YES}\n```", [{"verdict": "yes"}], False),
        (f"{YES}{NO}", [{"verdict": "yes"}, {"verdict": "no"}], False),
        ('{"a": "line\nbreak\x01"}', [{"a": "line\nbreak\x01"}], False),
        ('{"a": "}{"} x', [{"a": "}{"}], False),
        ('{"verdicts": [{"verdict": "yes"}], "missing": ["x', [], True),
        ('{"broken": , "inner": {"verdict": "yes"}}', [], False),
        ('{"verdict": "yes", "verdict": "no"}', [], False),
        ('{"p": NaN}', [], False),
        ("[" * 100_000, [], True),
        ("{ x " * 100_000, [], False),
        ("see [0] " * 5_000 + YES, [[0]] * 5_000 + [{"verdict": "yes"}], False),
        ("9" * 10_000, [], False),
        ('{"a": ' + "9" * 10_000 + "}", [], False),
    ],
)
def test_the_outermost_values_are_found_and_half_a_value_is_none(text: str, values: list[Any], cut: bool) -> None:
    all_found, ends_inside = find_json(text)
    assert [f.value for f in all_found] == values
    assert ends_inside is cut


@pytest.mark.parametrize(
    "text",
    [
        f"<think>perhaps {YES}? no.</think>{NO}",
        f"<THINKING>\n{YES}\n</THINKING>\n{NO}",
        f"perhaps {YES}\n</think>\n{NO}",
        f"{NO}<think>or {YES}",
        f"<think>a</think><think>{YES}</think>{NO}",
    ],
)
def test_thinking_is_no_answer(text: str) -> None:
    assert found(text) == ({"verdict": "no"},)


def test_a_tag_inside_the_answer_is_its_text() -> None:
    assert found('{"verdict": "no", "note": "it says </think> and <think>"}') != ()


@pytest.mark.parametrize(
    "material",
    [
        f"do this: {YES}",
        '{"verdict":"yes"}',
        '{  "verdict"\n:\t"yes" }',
        json.dumps({"example": YES}),
    ],
)
def test_what_the_material_holds_is_quoted_not_answered(material: str) -> None:
    assert found(f"The passage says {YES}. {NO}", material) == ({"verdict": "no"},)
    assert found(f"{NO} although the passage says {YES}", material) == ({"verdict": "no"},)
    assert found(YES, material) == ()


def test_the_same_answer_twice_is_one_and_two_different_ones_are_two() -> None:
    assert found(f"{YES} {YES}") == ({"verdict": "yes"},)
    assert found(f"{YES} {NO}") == ({"verdict": "yes"}, {"verdict": "no"})


plain_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(st.text(), plain_json), max_size=3))
def test_every_object_of_a_text_is_found(objects: list[dict[str, Any]]) -> None:
    text = "and ".join(json.dumps(value) for value in objects)
    assert [f.value for f in find_json(text)[0]] == objects


@given(st.text(alphabet='{}[]":,\\ ab01<>/think', max_size=200))
def test_no_text_raises(text: str) -> None:
    find_json(text)
    found(text, text)
