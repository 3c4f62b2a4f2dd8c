"""Small traces as instrumentations write them, by their sources: what is asked, retrieved and answered in each.

A line of `samples/*.jsonl` is one trace. A span is its name, the place of its parent, and its attributes; a value
`{"$json": ...}` is the text of that JSON, `{"$repr": ...}` what Python prints, `{"$bytes": ...}` a text in bytes.
`{Q}`, `{A}` and `{1}` to `{3}` stand for the question, the answer and the texts of documents.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore.core.conventions import Extraction
from otel_ctxscore.core.spans import Event
from tests.core.conventions.building import ANSWER, KETTLE, QUERY, RETURNS, TOASTER, Built, texts

FOLDER = Path(__file__).parent / "samples"
WORDS = {"{Q}": QUERY, "{A}": ANSWER, "{1}": KETTLE, "{2}": RETURNS, "{3}": TOASTER}
Json = dict[str, Any]


def samples() -> dict[str, Json]:
    """All samples by family and name."""
    found: dict[str, Json] = {}
    for path in sorted(FOLDER.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            sample = json.loads(line)
            name = f"{path.stem}: {sample['name']}"
            assert name not in found
            found[name] = sample
    return found


SAMPLES = samples()


def written(value: Any) -> Any:
    """A value of the shorthand as an attribute has it."""
    match value:
        case str():
            for word, text in WORDS.items():
                value = value.replace(word, text)
            return value
        case {"$json": inner}:
            return json.dumps(written(inner))
        case {"$repr": inner}:
            return repr(written(inner))
        case {"$bytes": inner}:
            return str(written(inner)).encode()
        case dict():
            return {name: written(inner) for name, inner in value.items()}
        case list():
            return [written(inner) for inner in value]
    return value


def extraction(sample: Json) -> Extraction:
    built = Built()
    ids: list[bytes] = []
    for name, parent, attributes, *more in sample["spans"]:
        span: Json = more[0] if more else {}
        events = [Event(event, written(values)) for event, values in span.get("events", ())]
        above = ids[parent] if parent is not None else b""
        given = {key: span[key] for key in ("scope", "status", "dropped") if key in span}
        ids.append(built.span(name, above, written(attributes), *events, **given))
        for event, body, values in span.get("logs", ()):
            built.log(ids[-1], event, written(body), written(values))
    return built.extraction()


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(name: str) -> None:
    sample = SAMPLES[name]
    found = extraction(sample)
    if "none" in sample:
        assert sample["none"] in (found.reason, found.outcome)
        assert not any(run.query and run.judged for run in found.runs)
        return
    (run,) = found.runs
    assert run.query == written(sample.get("query", "{Q}"))
    assert texts(run) == written(sample.get("contexts", [["{1}", "{2}"]]))
    assert run.response == written(sample.get("response", "{A}"))
    assert all(retrieval.ranked is sample.get("ranked", True) for retrieval in run.retrievals)
    for name, of in (("kinds", "kind"), ("asked", "query")):
        assert name not in sample or [getattr(one, of) for one in run.retrievals] == written(sample[name])
