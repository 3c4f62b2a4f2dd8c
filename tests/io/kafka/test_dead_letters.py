"""A file of dead letters that holds something else says which line, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore.io.kafka.dead_letters import DeadLetter, read_file, to_json

LETTER = DeadLetter("traces", 2, 40, "not OTLP protobuf", b"k", b"\x00\xff", [("name", b"value")])


def test_letters_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "letters.jsonl"
    path.write_text((json.dumps(to_json(LETTER)) + "\n") * 2)
    assert list(read_file(path)) == [LETTER, LETTER]


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in to_json(LETTER).items() if key != name}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "it is not JSON"),
        ("", "it is not JSON"),
        (json.dumps(without("offset")), "it has no 'offset'"),
        (json.dumps(to_json(LETTER) | {"partition": "two"}), "a field of it is of another kind"),
        (json.dumps(to_json(LETTER) | {"value": "$"}), "a field of it is of another kind"),
        (json.dumps(to_json(LETTER) | {"headers": None}), "a field of it is of another kind"),
        ("[]", "a field of it is of another kind"),
        ("3", "a field of it is of another kind"),
    ],
)
def test_a_line_that_is_no_letter_is_told(line: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "letters.jsonl"
    path.write_text(json.dumps(to_json(LETTER)) + "\n" + line + "\n")
    letters = read_file(path)
    assert next(letters) == LETTER
    with pytest.raises(ValueError, match=r"letters\.jsonl:2: is no dead letter: ") as raised:
        next(letters)
    assert str(raised.value).endswith(why)
