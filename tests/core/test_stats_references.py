"""The docstrings of the statistics name parts of docs/statistics.md that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ROOT / "otel_ctxscore" / "core" / "stats"


def test_every_part_that_is_named_is_a_heading() -> None:
    page = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
    headings = {heading.lower() for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE)}
    sources = "\n".join(path.read_text(encoding="utf-8") for path in CODE.glob("*.py"))
    named = [
        part.lower()
        for inner in re.findall(r"\(STATISTICS, ([^)]*)\)", sources)
        for part in re.findall(r'"([^"]+)"', inner)
    ]
    assert len(named) >= 8
    assert set(named) <= headings
