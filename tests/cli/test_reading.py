"""What commands say of files that can be read in part or not at all, and of a judge that fails."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from otel_ctxscore.testing import Reply, ScriptedJudgeServer, verdicts
from tests.cli.run import run
from tests.otlp import rag, request

READING = {
    "score": ["score", "--format", "jsonl"],
    "explain": ["explain", "--format", "json"],
    "backfill": ["backfill", "--output", "out.jsonl"],
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good file, one with a broken line, and some that are nothing."""
    monkeypatch.chdir(tmp_path)
    good = request(rag(1)) + b"\n"
    (tmp_path / "good").write_bytes(good)
    (tmp_path / "partly").write_bytes(request(rag(2)) + b"\n{broken\n")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("absent", "absent: No such file or directory"),
        ("folder", "folder: Is a directory"),
        ("empty", "empty: the file is empty; read are OTLP"),
        ("binary", "binary: "),
    ],
)
def test_a_file_of_which_nothing_is_read_costs_no_other_and_ends_with_1(
    files: Path, command: str, bad: str, said: str
) -> None:
    ended = run(*READING[command], "good", bad, "partly")
    assert ended.code == 1
    out = (files / "out.jsonl").read_text() if command == "backfill" else ended.out
    found = json.loads(out) if command == "explain" else [json.loads(line) for line in out.splitlines()]
    assert [int(one["trace_id"], 16) for one in found] == [1, 2], "what stands after it is read as well"
    [line] = [line for line in ended.err.splitlines() if line.startswith(f"{bad}:")]
    assert line.startswith(said)
    assert ("read are" in line) == (bad in ("empty", "binary")), "forms help only where there is something"
    assert "partly:2: " in ended.err
    assert "not read: 1 unreadable piece\n" in ended.err


@pytest.mark.parametrize("command", READING)
def test_a_file_that_is_read_in_part_is_no_failure(files: Path, command: str) -> None:
    ended = run(*READING[command], "partly")
    assert (ended.code, "partly:2: " in ended.err) == (0, True)


# ---- a judge that fails -----------------------------------------------------------------------------------------


@pytest.fixture
def refusing() -> Iterator[ScriptedJudgeServer]:
    """Refuses to speak of ledgers."""

    def answer(call: Any) -> Any:
        if "ledger" in call.query:
            return Reply(finish_reason="content_filter", content="")
        return verdicts([True for _ in call.contexts])

    with ScriptedJudgeServer(answer=answer) as scripted:
        yield scripted


def asking(path: Path, url: str, **judge: Any) -> str:
    section = {"type": "litellm", "model": "openai/any", "api_base": url, "api_key": "none", **judge}
    path.write_text(yaml.safe_dump({"judge": section, "state": {"path": str(path.parent / "state")}}))
    return str(path)


def lines(path: Path, *queries: str) -> str:
    rows = [{"query": query, "contexts": [{"text": "a", "useful": True}], "response": "b"} for query in queries]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


COMMANDS = {
    "score": ["score"],
    "backfill": ["backfill", "--output", "out.jsonl"],
    "anchors add": ["anchors", "add"],
    "calibrate": ["calibrate", "--labels"],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_judge_that_cannot_be_reached_is_said_once_when_it_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        config = asking(tmp_path / "c.yaml", url, deadline="20s", on_outage="skip")
        queries = [f"ledger {n}" for n in range(5)]  # enough to make an outage of it before the deadline
        ended = run(*COMMANDS[command], lines(tmp_path / "l", *queries), "-c", config)
    # Lines that say why there is no score are a result; an anchor or a comparison without scores is none.
    assert ended.code == (0 if command in ("score", "backfill") else 1), ended.err
    said = [line for line in ended.err.splitlines() if line.startswith("judge openai/any: a call failed")]
    assert len(said) == 1
    assert "Traceback" not in ended.err
    if command != "calibrate":  # which counts them by reason
        assert ended.err.count("not scored: judge_unavailable: ") == 1
        assert "the judge failed for every run" in ended.err


@pytest.mark.slow
def test_where_nothing_was_scored_that_is_said(tmp_path: Path, refusing: ScriptedJudgeServer) -> None:
    config = asking(tmp_path / "c.yaml", refusing.url)
    ended = run("score", lines(tmp_path / "l", "a ledger", "a ledger again", "a kettle"), "-c", config)
    assert (ended.code, ended.err.count("not scored: judge_refused")) == (0, 1)
    assert "nothing was scored" not in ended.err
    ended = run("score", lines(tmp_path / "l", "a ledger"), "-c", config)
    assert (ended.code, "nothing was scored" in ended.err) == (0, True)


def test_runs_that_no_judge_was_asked_about_are_no_failure(tmp_path: Path) -> None:
    (tmp_path / "l").write_text(json.dumps({"query": "q", "contexts": []}))
    assert run("score", str(tmp_path / "l")).code == 0
