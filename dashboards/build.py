"""Writes the dashboards: `python -m dashboards.build`. `make generate` does the same, `make check` compares."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder

from dashboards.drift import drift
from dashboards.operations import operations
from dashboards.quality import quality

FOLDER = Path(__file__).parent
BOARDS: dict[str, Callable[[], Dashboard]] = {
    "quality.json": quality,
    "drift.json": drift,
    "operations.json": operations,
}


def text(name: str) -> str:
    """The JSON of a board by the name of its file."""
    board = BOARDS[name]().build()
    for number, panel in enumerate(board.panels or (), start=1):
        panel.id_val = number
    return json.dumps(board, cls=JSONEncoder, indent=2) + "\n"


if __name__ == "__main__":
    for file in BOARDS:
        (FOLDER / file).write_text(text(file), encoding="utf-8")
