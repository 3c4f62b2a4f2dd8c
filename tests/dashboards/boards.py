"""The shipped boards as a test reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "dashboards"
BOARDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
CHOSEN = {
    "service": ".+",
    "scorer": "context_precision",
    "version": ".+",
    "window": "5m",
    "segment": "index",
    "value": ".+",
    "__rate_interval": "1m",
    "__range": "1h",
}
"""What the variables are set to."""


def expressions(board: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every expression of a board, its variables filled in, with the title of what it is in."""
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], filled(target["expr"])
    for annotation in board["annotations"]["list"]:
        yield annotation["name"], filled(annotation["expr"])


def label_values(board: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(variable, selector, label) of the variables that ask for the values of a label."""
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((.+), (\w+)\)", filled(variable["query"]))
            assert found, variable
            yield variable["name"], found[1], found[2]


def filled(expression: str) -> str:
    """The expression as Grafana sends it."""
    return re.sub(r"\$(\w+)", lambda found: CHOSEN[found[1]], expression)
