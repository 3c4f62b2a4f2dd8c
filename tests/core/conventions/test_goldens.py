"""Every real trace gives the answer of the index, and word for word what it gave before (`--update` writes that)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from otel_ctxscore.cli.explain_text import render, to_json
from otel_ctxscore.core.conventions import extract
from tests.core.conventions.index_answers import Answer, agrees, entries
from tests.core.conventions.trace_files import body_of, traces_in

GOLDENS = Path(__file__).parent / "goldens"
FILES = dict(entries())


def explained(name: str) -> list[Answer]:
    """What `explain --format json` says of a file and those it belongs with, as it is written."""
    traces = traces_in(*map(body_of, [name, *FILES[name].get("with", [])]))
    told = [to_json(trace, extract(trace)) for trace in traces]
    return json.loads(json.dumps(told))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", FILES)
def test_answer_of_the_index(name: str) -> None:
    told = explained(name)
    assert agrees(FILES[name], told), json.dumps(told, indent=1, ensure_ascii=False)


@pytest.mark.parametrize("name", FILES)
def test_stored_golden(name: str, pytestconfig: pytest.Config) -> None:
    stored = GOLDENS / f"{name.replace('/', '_')}.json"
    told = json.dumps(explained(name), indent=1, ensure_ascii=False) + "\n"
    if pytestconfig.getoption("--update"):
        GOLDENS.mkdir(exist_ok=True)
        stored.write_text(told, encoding="utf-8")
    assert told == stored.read_text(encoding="utf-8")


def test_no_golden_is_left_over() -> None:
    assert {path.name for path in GOLDENS.iterdir()} == {f"{name.replace('/', '_')}.json" for name in FILES}


@pytest.mark.parametrize("name", FILES)
def test_text_names_every_place_that_was_read(name: str) -> None:
    for trace in traces_in(body_of(name)):
        extraction = extract(trace)
        text = render(trace, extraction)
        read = [c.read_from for run in extraction.runs for r in run.retrievals for c in r.contexts]
        assert all(place is not None and (place.span_id or "") in text for place in read)
        assert all(span.span_id.hex() in text for span in trace.spans) or "more in which nothing was read" in text
