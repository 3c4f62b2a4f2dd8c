"""The page about mappings is true: `explain` reads its trace by its configuration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.run import run

PAGE = Path(__file__).parents[1] / "docs" / "mapping.md"


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(found)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    traces, config = tmp_path / "traces.json", tmp_path / "config.yaml"
    traces.write_text(block("json"), encoding="utf-8")
    config.write_text(block("yaml"), encoding="utf-8")
    return str(traces), str(config)


READ = ["Which port does the ledger use?", "The ledger listens on port 7443.", "w-2", "It listens on port 7443.", "shop.hits#hits[1]#doc.body"]  # fmt: skip


def test_the_example_is_explained_by_its_mapping_alone(files: tuple[str, str]) -> None:
    traces, config = files
    ended = run("explain", traces, "-c", config)
    assert (ended.code, ended.err) == (0, "")
    assert [text for text in READ if text not in ended.out] == []
    assert [text for text in READ if text in run("explain", traces).out] == []


def test_the_example_is_scored_and_checked(files: tuple[str, str]) -> None:
    traces, config = files
    assert run("check", config).code == 0
    assert '"outcome": "scored"' in run("score", traces, "-c", config, "--format", "jsonl").out
