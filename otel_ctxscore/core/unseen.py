"""Characters without a shape of their own, which could deceive who reads a text, or command a terminal: they are named
where people read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

SHOWN_OF_A_RUN = 3
"""Characters without a shape that are named where several follow each other; of more, the number is said."""
MARK = len("U+E0001")
"""The room that one of them takes."""

# Control characters but tab and line feed; Unicode's Default_Ignorable_Code_Point, which nothing is drawn for, such as
# zero-width and bidirectional characters and tags; separators of lines; formats; half surrogates; the empty Braille
# cell. Numbers signs of Arabic and Syriac are formats that are seen.
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_RUN = re.compile(f"[{_UNSEEN}]+")
# What a script needs to be written: joiners between letters from Hebrew on and within an emoji, the presentation of a
# symbol, the variant of an ideograph.
_LETTER = "\u0590-\u1fff\u2190-\ud7ff\ufb1d-\ufdff\ufe70-\ufefc\U00010000-\U0001ffff"
_NEEDED = re.compile(
    f"(?<=[{_LETTER}\ufe0f])[\u200c\u200d](?=[{_LETTER}])"
    "|(?<=[#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
    "|(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af])[\ufe00-\ufe0d\U000e0100-\U000e01ef]"
)


def plain(text: str) -> str:
    """A text as it is, what is unseen in it named in brackets."""
    return with_names(text, "\u27e8{}\u27e9".format)


def in_json(text: str) -> str:
    """JSON that holds the same, what is unseen written as an escape."""
    return _RUN.sub(lambda run: json.dumps(run[0])[1:-1], text)


def named(characters: str) -> str:
    """Characters by their code points."""
    names = " ".join(f"U+{ord(c):04X}" for c in characters[:SHOWN_OF_A_RUN])
    more = len(characters) - SHOWN_OF_A_RUN
    return f"{names} and {more} more" if more > 0 else names


def fitting(text: str, room: int) -> int:
    """How many characters of a text, from its beginning, take so much room; what is named takes that of its name."""
    place = 0
    for start, end in _unseen(text, room):
        room -= start - place
        if room <= 0:
            return start + room
        room -= MARK * min(end - start, SHOWN_OF_A_RUN)
        if room <= 0:
            return end
        place = end
    return min(len(text), place + room)


def with_names(text: str, as_mark: Callable[[str], str]) -> str:
    """A text with marks made of names in place of what is unseen; its line ends are line feeds."""
    text = text.replace("\r\n", "\n")
    parts: list[str] = []
    place = 0
    for start, end in _unseen(text, len(text)):
        parts += text[place:start], as_mark(named(text[start:end]))
        place = end
    return "".join([*parts, text[place:]])


def _unseen(text: str, end: int) -> Iterator[tuple[int, int]]:
    """The stretches before `end` that are to be named."""
    for run in _RUN.finditer(text, 0, end):
        start = run.start()
        # A presentation and a joiner after it may be needed: what follows another unseen character never is.
        while start < min(run.end(), run.start() + 2) and _NEEDED.match(text, start):
            start += 1
        if start < run.end():
            yield start, run.end()
