"""The page about plug-ins is true: its package, installed, is found by the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from otel_ctxscore import config as configuration
from otel_ctxscore import parts
from otel_ctxscore.core.errors import ConfigError
from tests.pages import blocks, install

PAGE = "plugins.md"
QUERY = "Which port does the ledger service listen on?"
CONTEXTS = ["The ledger service listens on port 7443.", "The canteen opens at noon."]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    return install(PAGE, tmp_path / "site")


def command(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, "-m", "otel_ctxscore", *arguments], env=environ, capture_output=True, text=True, check=False
    )


def test_an_installed_package_judges_and_scores(installed: Path, tmp_path: Path) -> None:
    config, runs = tmp_path / "config.yaml", tmp_path / "runs.jsonl"
    config.write_text(blocks(PAGE, "yaml")[0])
    runs.write_text(json.dumps({"query": QUERY, "contexts": CONTEXTS}))
    ended = command(installed, "score", str(runs), "--format", "jsonl", "-c", str(config))
    assert ended.returncode == 0, ended.stderr
    line = json.loads(ended.stdout)
    assert (line["judge"]["tier"], line["judge"]["model"], line["judge"]["calls"]) == ("custom", "words", 1)
    assert [c["useful"] for c in line["retrievals"][0]["contexts"]] == [True, False]
    [first] = [score for score in line["scores"] if score["name"] == "first_useful"]
    assert (first["value"], first["explanation"]) == (1.0, "The first context is useful.")
    assert "context_relevance is off" in ended.stderr
    assert "first_useful: mean 1.0000, n 1" in ended.stderr


def test_the_installed_scorer_is_on_with_the_local_judge_too(installed: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    runs.write_text(json.dumps({"query": QUERY, "contexts": CONTEXTS[::-1]}))
    line = json.loads(command(installed, "score", str(runs), "--format", "jsonl").stdout)
    assert [score["value"] for score in line["scores"] if score["name"] == "first_useful"] == [0.0]
    assert line["judge"]["tier"] == "local"


def test_a_judge_that_is_not_installed_is_named_with_those_that_are(installed: Path, tmp_path: Path) -> None:
    config, runs = tmp_path / "config.yaml", tmp_path / "runs.jsonl"
    config.write_text("judge: {type: custom, judge: shop_word}")
    runs.write_text(json.dumps({"query": QUERY, "contexts": CONTEXTS}))
    ended = command(installed, "score", str(runs), "-c", str(config))
    assert ended.returncode == 2
    assert "shop_word is no entry point of otel_ctxscore.judges (installed: shop_words)" in ended.stderr


@pytest.mark.parametrize(
    ("judge", "complaint"),
    [
        ("absent", "none is installed"),
        ("absent:make", "cannot be imported"),
        ("builtins:dict", "gives no judge: it needs tier, model, version, fills, judge"),
    ],
)
def test_what_gives_no_judge_is_one_line(judge: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        parts.judge(configuration.parse({"judge": {"type": "custom", "judge": judge}}))


def test_neither_code_nor_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"judge\.judge: is no function"):
        configuration.parse({"judge": {"type": "custom", "judge": "a b"}})
