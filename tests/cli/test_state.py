"""The commands on the state file: `baseline pin` and `anchors`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.run import run

PASSAGE, OTHER = "The ledger service listens on port 7443.", "The canteen opens at noon."


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump({"state": {"path": str(tmp_path / "state")}}))
    return str(file)


def lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def scored(n: int, *values: float, **changed: Any) -> dict[str, Any]:
    scores = [{"name": "p", "version": "v1", "value": value, "scale": 10} for value in values]
    return {"trace_id": f"{n:032x}", "service": "shop", "weight": 1.0, "scores": scores, **changed}


def labelled(number: int) -> dict[str, Any]:
    contexts = [{"text": f"{PASSAGE} ({number})", "useful": True}, {"text": f"{OTHER} ({number})", "useful": False}]
    return {"query": f"On which port does ledger {number} listen?", "contexts": contexts, "response": "7443"}


def test_a_baseline_is_pinned_from_scored_lines(tmp_path: Path, config: str) -> None:
    rows = [scored(n, n % 11) for n in range(120)] + [scored(999, 5, service="docs")]
    ended = run("baseline", "pin", "-c", config, lines(tmp_path / "s.jsonl", rows))
    assert (ended.code, ended.err) == (0, "")
    docs, shop = ended.out.splitlines()
    assert docs == "docs p v1: left out, fewer than 100 effective traces"
    assert shop.startswith("shop p v1: pinned, 120 effective traces, ")
    only = run("baseline", "pin", "-c", config, "--service", "docs", str(tmp_path / "s.jsonl"))
    assert (only.code, only.err) == (1, "nothing was pinned\n")


def test_scores_of_one_trace_are_one_effective_trace_and_unscored_ones_none(tmp_path: Path, config: str) -> None:
    rows = [scored(n, 1, 2, 3, 4) for n in range(30)] + [scored(500, scores=[{"name": "p", "value": None}])]
    ended = run("baseline", "pin", "-c", config, lines(tmp_path / "s.jsonl", rows))
    assert ended.out == "shop p v1: left out, fewer than 100 effective traces\n"


def test_a_file_that_is_no_text_is_said(tmp_path: Path, config: str) -> None:
    (tmp_path / "s.jsonl").write_bytes(b"\xff\x00\xfe")
    ended = run("baseline", "pin", "-c", config, str(tmp_path / "s.jsonl"))
    assert (ended.code, ended.out) == (1, "")
    assert "s.jsonl: line 1 is no line of score --format jsonl" in ended.err


@pytest.mark.parametrize("row", ["{", "[]", "{}", '{"scores": [{"value": 1}]}', json.dumps(scored(1, 1, weight=0))])
def test_a_line_that_score_did_not_write_is_named(tmp_path: Path, config: str, row: str) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps(scored(1, 1)) + "\n" + row + "\n")
    ended = run("baseline", "pin", "-c", config, str(file))
    assert (ended.code, ended.err) == (1, f"{file}: line 2 is no line of score --format jsonl\n")


@pytest.mark.parametrize("command", [["baseline", "pin"], ["anchors", "list"], ["anchors", "run"]])
def test_without_a_state_it_says_where_it_looked(tmp_path: Path, config: str, command: list[str]) -> None:
    ended = run(*command, "-c", config)
    assert ended.code == 1
    assert str(tmp_path / "state" / "state.sqlite3") in ended.err
    assert not (tmp_path / "state").exists()


def test_anchors_are_added_listed_and_run(tmp_path: Path, config: str) -> None:
    file = lines(tmp_path / "l.jsonl", [labelled(n) for n in range(3)])
    added = run("anchors", "add", "-c", config, file)
    assert (added.code, added.err) == (0, "")
    assert all("context_precision" in row for row in added.out.splitlines())
    run("anchors", "add", "-c", config, file)
    listed = [json.loads(row) for row in run("anchors", "list", "-c", config).out.splitlines()]
    assert sorted(row["query"] for row in listed) == sorted(labelled(n)["query"] for n in range(3))
    assert {score["scorer"] for row in listed for score in row["kept"]} >= {"context_precision", "share_useful"}
    ended = run("anchors", "run", "-c", config)
    assert ended.code == 0
    assert "over 3 anchors: no sign that the judge moved" in ended.out
    assert "of the contexts that people call useful" in ended.out


def test_a_line_that_is_no_labelled_run_adds_nothing(tmp_path: Path, config: str) -> None:
    file = lines(tmp_path / "l.jsonl", [labelled(1), {"query": "q"}])
    ended = run("anchors", "add", "-c", config, file)
    assert ended.code == 1
    assert "l.jsonl: line 2: contexts are missing" in ended.err
    assert not (tmp_path / "state").exists()


def test_what_is_nobodys_label_is_no_anchor(tmp_path: Path, config: str) -> None:
    own = {**labelled(1), "who": "judge local lexical"}
    blank = {**labelled(2), "run_id": "r", "contexts": [{"text": PASSAGE, "useful": None}]}
    gone = {**labelled(3), "run_id": "r", "query": None}
    refused = run("anchors", "add", "-c", config, lines(tmp_path / "own.jsonl", [own, blank]))
    assert (refused.code, refused.out) == (1, "")
    assert "left out: 1 line with a judge as `who`: its own word is no label\n" in refused.err
    assert "left out: 1 line without any verdict\n" in refused.err
    assert "own.jsonl: no labels by people" in refused.err
    assert not (tmp_path / "state").exists()
    ended = run("anchors", "add", "-c", config, lines(tmp_path / "l.jsonl", [own, blank, gone, labelled(4)]))
    assert (ended.code, len(ended.out.splitlines())) == (0, 1), ended.err
    assert "left out: 1 line whose text is not kept any more\n" in ended.err


def test_a_run_that_two_people_labelled_is_one_anchor(tmp_path: Path, config: str) -> None:
    rows = [{**labelled(1), "who": who} for who in ("ann", "bob")]
    added = run("anchors", "add", "-c", config, lines(tmp_path / "l.jsonl", rows))
    assert (added.code, len(added.out.splitlines())) == (0, 1), added.err
    [kept] = [json.loads(row) for row in run("anchors", "list", "-c", config).out.splitlines()]
    assert kept["who"] == "ann, bob"
