"""Small traces as instrumentations write them, by their sources: what is asked, retrieved and answered in each.

A line of `samples/*.jsonl` is one trace. A span is its name, the place of its parent, and its attributes; a value
`{"$json": ...}` is the text of that JSON, `{"$repr": ...}` what Python prints, `{"$bytes": ...}` a text in bytes.
`{Q}`, `{A}` and `{1}` to `{3}` stand for the question, the answer and the texts of documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore.core.conventions import Extraction
from otel_ctxscore.core.spans import Event, Value
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


Form = Callable[[Any], Any]


def written(value: Any, form: Form = json.dumps) -> Any:
    """A value of the shorthand as an attribute has it; `form` writes its JSON."""
    match value:
        case str():
            for word, text in WORDS.items():
                value = value.replace(word, text)
            return value
        case {"$json": inner}:
            return form(written(inner, form))
        case {"$repr": inner}:
            return repr(written(inner))
        case {"$bytes": inner}:
            return str(written(inner)).encode()
        case dict():
            return {name: written(inner, form) for name, inner in value.items()}
        case list():
            return [written(inner, form) for inner in value]
    return value


def built(sample: Json, form: Form = json.dumps) -> Built:
    trace = Built()
    ids: list[bytes] = []
    for name, parent, attributes, *more in sample["spans"]:
        span: Json = more[0] if more else {}
        events = [Event(event, written(values, form)) for event, values in span.get("events", ())]
        above = ids[parent] if parent is not None else b""
        given = {key: span[key] for key in ("scope", "status", "dropped") if key in span}
        ids.append(trace.span(name, above, written(attributes, form), *events, **given))
        for event, body, values in span.get("logs", ()):
            trace.log(ids[-1], event, written(body, form), written(values, form))
    return trace


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(name: str) -> None:
    sample = SAMPLES[name]
    found = built(sample).extraction()
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


FORMS: dict[str, Form] = {
    "as values": lambda value: value,
    "as text of text": lambda value: json.dumps(json.dumps(value)),
    "indented": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
}


def told(found: Extraction) -> list[Any]:
    return [(run.query, texts(run), run.response, [r.refused for r in run.retrievals]) for run in found.runs]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SAMPLES)
def test_json_in_another_form_says_the_same(name: str, form: str) -> None:
    sample = SAMPLES[name]
    assert told(built(sample, FORMS[form]).extraction()) == told(built(sample).extraction())


def cut(values: dict[str, Value], length: int) -> dict[str, Value]:
    """Attributes under a limit of their length."""
    return {key: value[:length] if isinstance(value, str) else value for key, value in values.items()}


def spoken(found: Extraction) -> Iterator[str]:
    for run in found.runs:
        yield from filter(None, (run.query, run.response))
        yield from (text for retrieval in texts(run) for text in retrieval)


@pytest.mark.parametrize("name", SAMPLES)
def test_no_piece_of_cut_json_is_taken_for_a_text(name: str) -> None:
    for length in (30, 60, 90, 130, 200, 300):
        trace = built(SAMPLES[name])
        trace.spans = [
            replace(
                span,
                attributes=cut(dict(span.attributes), length),
                events=tuple(Event(event.name, cut(dict(event.attributes), length)) for event in span.events),
            )
            for span in trace.spans
        ]
        assert not [text for text in spoken(trace.extraction()) if text.lstrip()[:2] in ('{"', "[{", '["', "{'")]
