"""Regular expressions that an operator writes and that read text which anybody may have written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import regex

T = TypeVar("T")

_SECONDS = 0.25
_SECONDS_A_CHARACTER = 1e-6
"""A pattern that is slower than this does not read its text once but tries it again and again."""


class Expression:
    """A regular expression with a time limit. `name` is what it is told by.

    Raises ValueError that says why the text is none, also for what Python's own module does not know. Its methods raise
    TimeoutError where it takes too long over a text.
    """

    __slots__ = ("_name", "_pattern")

    def __init__(self, text: str, name: str) -> None:
        self._name = name
        try:
            re.compile(text)
            self._pattern: regex.Pattern[str] = regex.compile(text)
        except (re.error, regex.error) as error:
            raise ValueError(f"is no regular expression: {error}") from None

    def is_in(self, text: str) -> bool:
        return self._limited(self._pattern.search, text, text) is not None

    def replaced(self, text: str, by: str) -> str:
        """The text with `by` in place of each match."""
        return self._limited(self._pattern.sub, text, by, text)

    def _limited(self, use: Callable[..., T], text: str, *arguments: Any) -> T:
        try:
            return use(*arguments, timeout=_SECONDS + len(text) * _SECONDS_A_CHARACTER)
        except TimeoutError:
            raise TimeoutError(f"{self._name} took too long on a text of {len(text)} characters") from None
