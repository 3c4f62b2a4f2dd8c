"""Labels as a table: a row a context, as `export` writes CSV and spreadsheets give it back."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

COLUMNS = (
    "run_id", "trace_id", "service", "who", "at", "outcome", "reason", "query", "response", "index", "id", "text",
    "useful", "relevance", "used", "note",
)  # fmt: skip
OF_CONTEXT = ("index", "id", "text", "useful", "relevance", "used", "note")
OF_RUN = tuple(column for column in COLUMNS if column not in OF_CONTEXT)
NEEDED = frozenset({"query", "text", "useful"})
SEPARATORS = (",", ";", "\t")
"""Those that spreadsheets write, which depends on the country."""
MAX_CELL = 1 << 27
"""Characters of one cell, at most."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_WORDS: dict[str, bool | None] = {
    "": None,
    "true": True,
    "yes": True,
    "1": True,
    "false": False,
    "no": False,
    "0": False,
}


def cell(value: object) -> object:
    """A value as a cell. A text that a spreadsheet would take for a formula has an apostrophe before it, for it comes
    from anybody's traffic; so has one that begins with an apostrophe, so that `uncell` gives each back."""
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode()
        return f"'{text}" if text.startswith((*_FORMULA, "'")) else text
    return value


def uncell(text: str) -> str:
    """The text of a cell."""
    return text[1:] if text.startswith("'") and text[1:].startswith((*_FORMULA, "'")) else text


def separator(first: str) -> str | None:
    """What separates the cells of a file that begins with this line; None where that is no such table."""
    bare = first.lstrip("\ufeff").strip()
    if bare.startswith(("{", "[")):
        return None
    return next((one for one in SEPARATORS if set(next(csv.reader([bare], delimiter=one), [])) >= NEEDED), None)


def read_table(lines: Iterable[str], separator: str = ",") -> Iterator[tuple[int, dict[str, Any]]]:
    """Label lines, each with the number of its first row. Rows of one run and person are one line, in the order of the
    table. Raises ValueError for an answer that is neither yes nor no."""
    csv.field_size_limit(MAX_CELL)
    found: dict[tuple[str, ...], tuple[int, dict[str, Any]]] = {}
    bare = (line.lstrip("\ufeff") if number == 0 else line for number, line in enumerate(lines))
    rows = csv.DictReader(bare, delimiter=separator)
    for number, raw in enumerate(rows, 2):
        row = {name: uncell(text) for name, text in raw.items() if isinstance(name, str) and isinstance(text, str)}
        key = tuple(row.get(column, "") for column in ("run_id", "who", "query", "response"))
        if key not in found:
            line: dict[str, Any] = {name: row.get(name) or None for name in OF_RUN}
            found[key] = number, {**line, "contexts": []}
        if row.get("text") or row.get("index"):
            found[key][1]["contexts"].append(_context(number, row))
    yield from found.values()


def _context(number: int, row: dict[str, str]) -> dict[str, Any]:
    context: dict[str, Any] = {name: row.get(name) or None for name in ("id", "text", "relevance", "note")}
    for name in ("useful", "used"):
        word = row.get(name, "").strip().lower()
        if word not in _WORDS:
            raise ValueError(f"row {number}: {name} is neither true nor false")
        context[name] = _WORDS[word]
    index = row.get("index", "").strip()
    if index and not index.isdecimal():
        raise ValueError(f"row {number}: index is no number")
    return {"index": int(index), **context} if index else context
