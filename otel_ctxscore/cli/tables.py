"""Texts from anywhere, as a terminal may be given them."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text


def plain(text: str) -> str:
    """The text in one line, without characters that a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


def add_row(table: Table, *cells: str) -> None:
    """Add a row whose cells are shown as they are: brackets in them are no markup."""
    table.add_row(*(Text(plain(cell)) for cell in cells))
