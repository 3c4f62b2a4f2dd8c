"""Regular expressions that an operator writes and that read text which anybody may have written."""

from __future__ import annotations

import re

import regex

_SECONDS = 0.25
_SECONDS_A_CHARACTER = 1e-6
"""A pattern that is slower than this does not read its text once but tries it again and again."""


def compiled(text: str) -> regex.Pattern[str]:
    """The pattern, to be used with a time limit, `allowance`. Raises ValueError that says why it is none, also for what
    Python's own module does not know."""
    try:
        re.compile(text)
        return regex.compile(text)
    except (re.error, regex.error) as error:
        raise ValueError(f"is no regular expression: {error}") from None


def allowance(text: str) -> float:
    """Seconds that a pattern may take over a text: `timeout` of its methods, which raise TimeoutError."""
    return _SECONDS + len(text) * _SECONDS_A_CHARACTER
