"""docs/convention.md is true: its package, installed, reads its trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pages import blocks, install

pytestmark = pytest.mark.slow  # a process each, with the package of the page installed

PAGE = "convention.md"


def explained(traces: str, folder: Path, site: Path | None) -> list[dict[str, Any]]:
    """What `explain --format json` prints of a file with these traces."""
    file = folder / "traces.json"
    file.write_text(traces, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": str(site)} if site else dict(os.environ)
    command = [sys.executable, "-m", "otel_ctxscore", "explain", "--format", "json", str(file)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return install(PAGE, tmp_path / "site")


def test_the_installed_convention_reads_the_trace_in_rank_order(site: Path, tmp_path: Path) -> None:
    [trace] = explained(blocks(PAGE, "json")[0], tmp_path, site)
    assert (trace["convention"], trace["outcome"]) == ("shop", None)
    [run] = trace["runs"]
    [retrieval] = run["retrievals"]
    texts = [context["text"] for context in retrieval["contexts"]]
    assert texts == ["The ledger listens on port 7443.", "The canteen opens at noon."]
    assert run["query"]["attribute"] == "shop.question"
    assert retrieval["contexts"][0]["attribute"] == "event:shop.hit/body"


def test_without_it_nobody_knows_the_trace(tmp_path: Path) -> None:
    [trace] = explained(blocks(PAGE, "json")[0], tmp_path, None)
    assert trace["outcome"] == "not_rag"


@pytest.mark.parametrize(
    ("before", "after", "reason"), [("shop.hit", "shop.miss", "no_contexts"), ('"body"', '"text"', "extractor_error")]
)
def test_what_is_missing_has_a_reason(site: Path, tmp_path: Path, before: str, after: str, reason: str) -> None:
    [trace] = explained(blocks(PAGE, "json")[0].replace(before, after), tmp_path, site)
    assert (trace["outcome"], trace["reason"]) == ("unscored", reason)
