"""`score` and `explain` on files, through the command line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.cli.run import run
from tests.core.conventions.index_answers import agrees, entries
from tests.otlp import rag, request, span

TRACES = Path(__file__).parent.parent / "traces"
FILES = dict(entries())
READ = list(FILES)
REFUSED = [entry["file"] for entry in json.loads((TRACES / "INDEX.json").read_text()) if "refused" in entry["answer"]]


def paths(name: str) -> list[str]:
    return [str(TRACES / one) for one in (name, *FILES.get(name, {}).get("with", []))]


def explained(*files: str) -> list[dict[str, Any]]:
    ended = run("explain", "--format", "json", *files)
    assert ended.code == 0, ended.err
    return list(json.loads(ended.out))


def scored(*arguments: str, stdin: bytes = b"") -> list[dict[str, Any]]:
    ended = run("score", "--format", "jsonl", *arguments, stdin=stdin)
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


@pytest.mark.parametrize("name", READ)
def test_explain_gives_the_answer_of_the_index(name: str) -> None:
    assert agrees(FILES[name], explained(*paths(name)))


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("command", ["explain", "score"])
def test_what_is_no_trace_is_refused_by_one_line(command: str, name: str) -> None:
    ended = run(command, *paths(name))
    assert ended.code == 1
    said = [line for line in ended.err.splitlines() if name.split("/")[-1] in line]
    assert len(said) == 1
    assert "read are" in said[0]


@pytest.mark.parametrize("name", READ)
def test_score_agrees_with_explain_and_leaves_nothing_out(name: str) -> None:
    lines = scored(*paths(name))
    told = explained(*paths(name))
    by_trace: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        by_trace.setdefault(line["trace_id"], []).append(line)
    assert set(by_trace) == {trace["trace_id"] for trace in told}
    for trace in told:
        found = by_trace[trace["trace_id"]]
        if not trace["runs"]:
            assert [(line["outcome"], line["reason"], line["retrievals"], line["scores"]) for line in found] == [
                (trace["outcome"], trace["reason"], [], [])
            ]
            continue
        for run_, line in zip(trace["runs"], found, strict=True):
            texts = [[c["text"] for c in retrieval["contexts"]] for retrieval in line["retrievals"]]
            assert texts == [[c["text"] for c in retrieval["contexts"]] for retrieval in run_["retrievals"]]
            assert line["query"] == (run_["query"] or {}).get("text")
            assert line["outcome"] in ("scored", "partly_scored", "unscored")
            for score in line["scores"]:
                assert (score["value"] is None) == (score["unscored"] is not None)
                assert score["value"] is None or 0 <= score["value"] <= 1


def test_files_are_one_stream_plain_or_compressed(tmp_path: Path) -> None:
    root, retriever = rag()
    (tmp_path / "a").write_bytes(gzip.compress(request([root])))
    (tmp_path / "b").write_bytes(zstandard.compress(request([retriever])))
    [line] = scored(str(tmp_path / "a"), str(tmp_path / "b"))
    assert line["outcome"] == "scored"
    [line] = scored("-", stdin=request([root, retriever]))
    assert line["service"] == "shop"


def test_a_broken_line_is_named_and_the_rest_is_scored(tmp_path: Path) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_bytes(request(rag(1)) + b"\n{broken\n" + request(rag(2)) + b"\n")
    ended = run("score", "--format", "jsonl", str(file))
    assert ended.code == 0
    assert len(ended.out.splitlines()) == 2
    assert "traces.jsonl:2" in ended.err


def test_runs_in_json_lines_are_scored_without_spans(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    rows = [
        {
            "query": "Which port does the ledger use?",
            "contexts": ["The ledger listens on port 7443.", "Lunch is at noon."],
        },
        {"query": "Which port?", "contexts": [{"text": "7443", "id": "d", "score": 0.5}], "response": "7443"},
        {"query": "Which port?", "contexts": []},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    first, second, third = scored(str(file))
    assert first["scores"][0]["value"] == 1
    assert second["retrievals"][0]["contexts"][0]["id"] == "d"
    assert (third["outcome"], third["reason"]) == ("unscored", "no_contexts")


def test_the_end_says_mean_number_and_unscored_by_reason(tmp_path: Path) -> None:
    file = tmp_path / "t"
    file.write_bytes(request([*rag(1), *rag(2, documents=())]))
    ended = run("score", str(file))
    assert "context_precision: mean " in ended.err
    assert "n 1, unscored 1, no_contexts 1" in ended.err
    assert "context_relevance is off" in ended.err


def test_sampling_of_the_configuration_applies_to_score(tmp_path: Path) -> None:
    file, config = tmp_path / "t", tmp_path / "c.yaml"
    spans = [one for trace in range(1, 201) for one in rag(trace)]
    file.write_bytes(request(spans))
    config.write_text("sampling: {rate: 0, rules: [{name: some, match: {service: shop}, rate: 0.25}]}")
    lines = scored(str(file), "-c", str(config))
    assert 30 <= len(lines) <= 70
    assert {line["weight"] for line in lines} == {4.0}
    again = scored(str(file), "-c", str(config))
    assert [line["trace_id"] for line in lines] == [line["trace_id"] for line in again]


def test_spans_of_evaluators_are_told_as_such(tmp_path: Path) -> None:
    file = tmp_path / "t"
    file.write_bytes(request([span(1, 1, None, {"openinference.span.kind": "EVALUATOR", "input.value": "x"})]))
    [line] = scored(str(file))
    assert line["outcome"] == "own_evaluation"


def test_the_mean_is_weighted_by_what_sampling_left_out(tmp_path: Path) -> None:
    file, config = tmp_path / "t", tmp_path / "c.yaml"
    good, bad = ("The port is 7443.", "Lunch is at noon."), ("Lunch is at noon.", "Trains leave at ten.")
    spans: list[dict[str, Any]] = []
    for trace in range(1, 601):
        failed = trace % 10 == 0
        root, retriever = rag(trace, bad if failed else good, query="Which port is it?")
        spans += [{**root, "status": {"code": 2}} if failed else root, retriever]
    file.write_bytes(request(spans))
    match = "{name: errors, match: {status: error}, rate: 1.0}"
    config.write_text(f"sampling: {{rate: 0.2, rules: [{match}]}}")
    ended = run("score", "--format", "jsonl", str(file), "-c", str(config))
    mean = float(ended.err.split("hit_rate: mean ")[1].split(",")[0])
    whole = run("score", "--format", "jsonl", str(file))
    assert mean == pytest.approx(float(whole.err.split("hit_rate: mean ")[1].split(",")[0]), abs=0.05)


def test_without_a_scorer_there_is_nothing_to_do(tmp_path: Path) -> None:
    file, config = tmp_path / "t", tmp_path / "c.yaml"
    file.write_bytes(request(rag()))
    config.write_text("scorers: {context_precision: null, context_relevance: null}")
    for command in (("score", str(file)), ("serve",)):
        ended = run(*command, "-c", str(config))
        assert (ended.code, ended.err) == (2, "scorers: none is on, all are switched off\n")


def texts_in(value: object) -> Iterator[str]:
    """All strings of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


HOSTILE = [
    "what is [/x]?",
    "[bold red]up[/]",
    "a \x1b]0;title\x07 b",
    "[link=http://evil]here[/link]",
    "line\r\nline",
    "\x9b31m c1",
    "pay \u202eecived",
    "a\u200bb zero",
]


@pytest.mark.parametrize("query", HOSTILE)
@pytest.mark.parametrize(
    "arguments", [["score"], ["explain"], ["score", "--format", "jsonl"], ["explain", "--format", "json"]]
)
def test_text_from_outside_is_shown_and_not_obeyed(tmp_path: Path, query: str, arguments: list[str]) -> None:
    (tmp_path / "f").write_bytes(request(rag(1, (query,), query, query), service=query))
    ended = run(*arguments, str(tmp_path / "f"))
    assert ended.code == 0, ended.err
    assert not {*"\x1b\x07\r\x9b\u202e\u200b"} & {*ended.out, *ended.err}
    if "json" in arguments[-1]:
        assert query in {*texts_in(json.loads(ended.out))}, "programs read it as it is"
    assert query.split()[-1].replace("\x07", "")[-4:] in ended.out
