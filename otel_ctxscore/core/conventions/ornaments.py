"""The marks that stand before a label in a prompt: `## Question:`, `> **Context:**`."""

from __future__ import annotations

import re

ORNAMENT = r"(?:[#>*]|[^\S\n])*+"
"""What may stand on a line before a label. It stays on its line: a search through empty lines would else walk them anew
from each of them, for minutes."""
_BARE = re.compile(r"[#>*\s]*+")


def without_bare_end(text: str) -> str:
    """The text without the lines at its end that hold nothing but such marks."""
    end = len(text)
    while end > 0:
        begin = text.rfind("\n", 0, end) + 1
        if not _BARE.fullmatch(text, begin, end):
            break
        end = begin - 1
    return text[: max(end, 0)]
