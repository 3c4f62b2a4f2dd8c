"""A goal and what was measured."""

from __future__ import annotations

from dataclasses import dataclass

KEPT, MISSED, SHOWN = "pass", "**fail**", "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the result. `ok` is None where the number is shown for comparison and has no goal."""

    what: str
    goal: str
    measured: str
    ok: bool | None = None

    @property
    def verdict(self) -> str:
        """The last column."""
        return SHOWN if self.ok is None else KEPT if self.ok else MISSED


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| what | goal | measured | |", "|---|---|---|---|"]
    lines += [f"| {row.what} | {row.goal} | {row.measured} | {row.verdict} |" for row in rows]
    return "\n".join(lines)


def span(values: list[float], digits: int = 3) -> str:
    """Mean, least and greatest of several numbers, for the column `measured`."""
    mean = sum(values) / len(values)
    return f"mean {mean:.{digits}f}, {min(values):.{digits}f} to {max(values):.{digits}f} ({len(values)} cells)"
