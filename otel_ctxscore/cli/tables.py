"""Texts from anywhere, as a terminal may be given them."""

from __future__ import annotations

import json

from rich.table import Table
from rich.text import Text

from otel_ctxscore.core import unseen


def plain(text: str) -> str:
    """The text in one line, what a terminal would obey, or not show, by its name."""
    return unseen.plain(" ".join(text.split()))


def as_json(value: object, *, indent: int | None = None) -> str:
    """JSON as people read it, in which a terminal finds nothing to obey."""
    return unseen.in_json(json.dumps(value, ensure_ascii=False, indent=indent))


def add_row(table: Table, *cells: str) -> None:
    """Add a row whose cells are shown as they are: brackets in them are no markup."""
    table.add_row(*(Text(plain(cell)) for cell in cells))
