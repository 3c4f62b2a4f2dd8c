"""Numbers of things, as one writes them."""

from __future__ import annotations


def count(n: float, one: str, many: str | None = None) -> str:
    """`1 run`, `2 runs`, `1,200 queries`: `many` is the plural where an s does not make it."""
    return f"{n:,.0f} {one if n == 1 else many or f'{one}s'}"
