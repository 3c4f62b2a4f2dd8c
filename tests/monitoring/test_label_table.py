"""Labels as a table: what is written comes back, also through a spreadsheet."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.monitoring.label_table import COLUMNS, cell, uncell
from otel_ctxscore.monitoring.labels import LabelError, raw, without_text, without_verdict
from tests.monitoring.labelled import read

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(TEXTS)
def test_no_text_is_a_formula_and_each_comes_back(text: str) -> None:
    written = str(cell(text))
    assert not written.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert uncell(written) == text


@pytest.mark.parametrize("typed", ["'tis", "plain", "", "'"])
def test_what_a_person_typed_stays(typed: str) -> None:
    assert uncell(typed) == typed


def table(*rows: dict[str, Any], columns: tuple[str, ...] = COLUMNS, first: str = "") -> io.StringIO:
    out = io.StringIO()
    writer = csv.DictWriter(out, columns)
    writer.writeheader()
    writer.writerows(rows)
    return io.StringIO(first + out.getvalue(), newline="")


def row(place: int, useful: str, **changed: Any) -> dict[str, Any]:
    given = {"run_id": "r", "who": "ann", "query": "q\nq", "response": "", "index": place, "text": f"'=t{place}"}
    return {**given, "useful": useful, **changed}


@pytest.mark.parametrize("first", ["", "\ufeff"])
def test_rows_of_a_run_and_a_person_are_one_label(first: str) -> None:
    rows = (row(0, "TRUE"), row(0, "no", who="bob"), row(1, "", used="False", relevance="low"))
    ann, bob = read(table(*rows, first=first))
    assert (ann.useful, bob.useful) == ((True, None), (False,))
    assert [context.text for context in ann.run.judged] == ["=t0", "=t1"]
    assert (ann.run.query, ann.run.response) == ("q\nq", None)
    assert ann.line["contexts"][1] == {
        "index": 1, "id": None, "text": "=t1", "useful": None, "relevance": "low", "used": False, "note": None
    }  # fmt: skip


def test_a_table_by_hand_needs_three_columns() -> None:
    columns = ("query", "text", "useful")
    rows = [{"query": "q", "text": "a", "useful": "1"}, {"query": "p", "text": "b", "useful": "0"}]
    assert [one.useful for one in read(table(*rows, columns=columns))] == [(True,), (False,)]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (row(0, "perhaps"), "row 2: useful is neither true nor false"),
        (row(0, "1", index="first"), "row 2: index is no number"),
        (row(0, "1", relevance="very"), r"line 2: contexts\[0\]\.relevance"),
        (row(0, "", relevance=""), "line 2: no context has a verdict"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(given: dict[str, Any], what: str) -> None:
    with pytest.raises(LabelError, match=what):
        read(table(given))


def test_long_cells_are_read() -> None:
    [one] = read(table(row(0, "1", text="x" * 300_000)))
    assert len(one.run.judged[0].text) == 300_000


HASH = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        ({"run_id": "r", "query": None, "contexts": [{"text": None}]}, True),
        ({"run_id": "r", "query": "q", "contexts": [{"text": None}]}, True),
        ({"run_id": "r", "query": HASH, "contexts": [{"text": HASH}]}, True),
        ({"run_id": "r", "query": "q", "contexts": [{"text": "a"}]}, False),
        ({"query": None, "contexts": [{"text": None}]}, False),
        ({"run_id": "r", "query": None}, False),
        ([], False),
    ],
)
def test_a_line_whose_text_is_gone_is_told_from_a_faulty_one(line: Any, gone: bool) -> None:
    assert without_text(line) is gone


@pytest.mark.parametrize("between", [";", "\t"])
def test_other_separators_are_known_by_the_header(between: str) -> None:
    text = f"query{between}text{between}useful\nq{between}a, b{between}yes\n"
    [one] = read(io.StringIO(text, newline=""))
    assert (one.run.judged[0].text, one.useful) == ("a, b", (True,))


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (["name,price\n", "a,1\n"], "line 1: is neither JSON nor the header of a table with query, text, useful"),
        (["{}\n", "{]\n"], "line 2: is no JSON: "),
        (["PK\x03\x04\0\n"], "line 1: is no text in UTF-8"),
        (["{}\n", "\udcff\n"], "line 2: is no text in UTF-8"),
    ],
)
def test_what_is_no_label_file_is_said_by_line(lines: list[str], what: str) -> None:
    with pytest.raises(LabelError, match=what):
        list(raw(lines))


@pytest.mark.parametrize(
    ("line", "empty"),
    [
        ({"run_id": "r", "contexts": []}, True),
        ({"run_id": "r", "contexts": [{"text": "a", "useful": None}]}, True),
        ({"run_id": "r", "contexts": [{"text": "a", "used": False}]}, False),
        ({"contexts": []}, False),
        ({"run_id": "r"}, False),
        ([], False),
    ],
)
def test_a_line_that_nobody_filled_in_is_told_from_a_faulty_one(line: Any, empty: bool) -> None:
    assert without_verdict(line) is empty


def test_lines_keep_their_numbers() -> None:
    assert [number for number, _ in raw(["\n", " \n", "{}\n", "\n", "{}\n"])] == [3, 5]
    with pytest.raises(LabelError, match="line 2"):
        list(raw(["\n", "{\n"]))
    assert list(raw([])) == []
