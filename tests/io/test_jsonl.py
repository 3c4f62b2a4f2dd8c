"""JSON lines on disk."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.core.lines import to_jsonl
from otel_ctxscore.io.jsonl import JsonlSink, append
from otel_ctxscore.ports import Sink, SinkError
from tests.io.evaluations import evaluation, named, score


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("content", [True, False])
async def test_a_line_is_what_score_prints(content: bool, tmp_path: Path) -> None:
    sink = JsonlSink(tmp_path / "out.jsonl", content=content)
    assert isinstance(sink, Sink)
    await sink.emit(evaluation())
    assert lines(tmp_path / "out.jsonl") == [json.loads(json.dumps(to_jsonl(evaluation(), content=content)))]
    await sink.close()


async def test_lines_are_appended_one_a_run_whatever_is_in_them(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('{"earlier": 1}\n')
    sink = JsonlSink(path)
    texts = ["line\nbreak", "lone \ud83d surrogate", "nul \0", "\u2028", "検"]
    await asyncio.gather(*(sink.emit(named("s", text)) for text in texts))
    await sink.close()
    written = path.read_bytes().split(b"\n")
    assert len(written) == 7
    assert [json.loads(line)["scores"][0]["explanation"] for line in written[1:-1]] == [
        "line\nbreak",
        "lone ? surrogate",
        "nul \0",
        "\u2028",
        "検",
    ]


@pytest.mark.parametrize("path", ["folder", "absent/out.jsonl", "file/out.jsonl"])
def test_where_no_file_can_be_is_a_fault_of_the_configuration(path: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"^sinks\.jsonl\.path: "):
        JsonlSink(tmp_path / path)


async def test_what_is_no_json_fails_alone(tmp_path: Path) -> None:
    sink = JsonlSink(tmp_path / "out.jsonl")
    bad = evaluation([score("s", float("nan"))])
    results = await asyncio.gather(sink.emit(bad), sink.emit(named("good")), return_exceptions=True)
    assert isinstance(results[0], SinkError)
    assert [line["scores"][0]["name"] for line in lines(tmp_path / "out.jsonl")] == ["good"]
    await sink.close()


def test_a_line_that_a_crash_cut_off_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b'{"whole": 1}\n{"cut o')
    append(path, b'{"next": 1}\n')
    assert path.read_bytes() == b'{"whole": 1}\n{"cut o\n{"next": 1}\n'


async def test_a_full_disk_is_waited_out_and_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write, tries = tmp_path / "out.jsonl", os.write, iter([5, -1, None, None])

    def short(descriptor: int, text: bytes) -> int:
        room = next(tries)
        if room == -1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, text[:room])

    async def nap(seconds: float) -> None:
        await asyncio.sleep(0)

    monkeypatch.setattr(os, "write", short)
    sink = JsonlSink(path, sleep=nap)
    await sink.emit(named("s"))
    await sink.close()
    assert len(lines(path)) == 1


async def test_a_rotated_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    sink = JsonlSink(path)
    await sink.emit(named("before"))
    path.rename(tmp_path / "out.1")
    await sink.emit(named("after"))
    await sink.close()
    assert [line["scores"][0]["name"] for line in lines(path)] == ["after"]


async def test_a_dash_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sink = JsonlSink(Path("-"))
    await sink.emit(named("s"))
    await sink.close()
    assert json.loads(capfdbinary.readouterr().out)["scores"][0]["name"] == "s"
