"""What goes wrong with a service, and how much of a log is shown."""

from __future__ import annotations

TAIL_LINES = 40


class ServiceError(Exception):
    """A service could not be installed, started or used; the text holds the end of the log that says why."""


def tail(text: str, lines: int = TAIL_LINES) -> str:
    """The last `lines` lines, indented, for an error's text."""
    return "".join(f"\n    {line}" for line in text.rstrip().splitlines()[-lines:])
