"""The demo is the first thing that people run: it has to show what it says."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def test_the_demo_shows_the_fault_and_says_where_it_is() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "otel_ctxscore", "demo", "--seconds", "40"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    out = ended.stdout
    fault, alarm = out.index("FAULT"), out.index("ALARM")
    assert fault < alarm
    for scorer in ("context_precision (local)", "context_precision (llm)", "context_relevance (llm)"):
        assert f"ALARM: {scorer}" in out[fault:]
    assert "The worst run since" in out
    assert "At fault: passage" in out
    assert ended.stderr == ""


def test_without_time_for_the_fault_it_says_so_and_fails() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "otel_ctxscore", "demo", "--seconds", "5"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "run it longer" in ended.stdout
