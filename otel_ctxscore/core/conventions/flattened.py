"""Lists that are flattened into attribute keys: `PREFIX.0.KEY`, `PREFIX.1.KEY`, ..."""

from __future__ import annotations

from dataclasses import dataclass

from otel_ctxscore.core.spans import Attributes, Value

MAX_INDEX = 10_000
"""An index above this is no list position; it is not made room for."""


@dataclass(frozen=True, slots=True)
class Row:
    """One element of a flattened list: what follows `PREFIX.INDEX.` with its values, and where it stood."""

    index: int
    values: dict[str, Value]
    at: str


def rows(attributes: Attributes, prefix: str) -> tuple[Row, ...]:
    """The elements under `prefix` (without the dot) in the order of their numeric index."""
    found: dict[int, dict[str, Value]] = {}
    start = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(start):
            _place(found, name[len(start) :], value)
    return tuple(Row(index, found[index], f"{start}{index}") for index in sorted(found))


def _place(found: dict[int, dict[str, Value]], rest: str, value: Value) -> None:
    index, _, name = rest.partition(".")
    if index.isascii() and index.isdigit() and len(index) <= len(str(MAX_INDEX)) and int(index) <= MAX_INDEX:
        found.setdefault(int(index), {})[name] = value


def has_gap(listed: tuple[Row, ...]) -> bool:
    """Whether the list does not start at 0 or leaves an index out: attributes were dropped."""
    return [row.index for row in listed] != list(range(len(listed)))
