"""How untrusted text stands in a prompt: between lines that bear a random boundary which it cannot know.

A block is

    <<<BOUNDARY title
    text
    BOUNDARY>>>

Text in it is shown as it is, but for what could act on the way from here to the model instead of being read by
it: control characters, invisible and direction-changing ones, and the control tokens of chat templates, which a
self-hosted server may take for its own.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable

_ACTIVE = re.compile(
    "\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but tab and line feed
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # widthless, direction, line ends
    "\ud800-\udfff"  # halves of a pair, which no encoding takes
    "\U000e0000-\U000e0fff]"  # tags and variation selectors, which can spell hidden text
)
_LINE_ENDS = frozenset(("\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"))
_ASCII_TABLE = {code: "\n" if chr(code) in _LINE_ENDS else None for code in (*range(9), *range(11, 32), 127)}
_CONTROL_TOKEN = re.compile(
    r"<(?=[|｜]|/?s>|/?(?:start_of_\w+|end_of_\w+|bos|eos|pad|unk|mask|sop|eop|SYS|think|tool_\w+|function|system|assistant"
    r"|user|human|image|seed|fim_\w+|unused\d+|extra_id_\d+|reserved_\d+|SPECIAL_\d+)\b)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_\w+|THINK|ARGS|CALL_ID|PREFIX|SUFFIX|MIDDLE|IMG\w*|gMASK)\])"
    r"|◁(?=/?\w)"
)
_ASCII_TOKEN = 3.5
"""Characters of Latin text that make a token, at least. Real tokenisers take 3.8 to 4.5 of English."""


def plain(text: str) -> str:
    """The text without what acts instead of being read. Letters, joiners of Persian, Indic scripts and emoji stay."""
    text = text.replace("\r\n", "\n").translate(_ASCII_TABLE) if text.isascii() else _ACTIVE.sub(_harmless, text)
    return _CONTROL_TOKEN.sub(r"\g<0> ", text) if any(sign in text for sign in "<[◁") else text


def _harmless(match: re.Match[str]) -> str:
    if match[0] in _LINE_ENDS:
        return "\n"
    return "\ufffd" if "\ud800" <= match[0] <= "\udfff" else ""


def tokens(text: str) -> int:
    """About how many tokens a text takes, rather too many: one for each character that is not ASCII."""
    if text.isascii():
        return int(len(text) / _ASCII_TOKEN) + 1
    narrow = len(text.encode("ascii", "ignore"))
    return int(narrow / _ASCII_TOKEN) + len(text) - narrow + 1


def cut(text: str, limit: int) -> str:
    """The beginning of a text that takes at most `limit` tokens."""
    if len(text) <= limit or tokens(text) <= limit:  # no character takes more than one token here
        return text
    low, high = limit, min(len(text), int(limit * _ASCII_TOKEN))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle]) <= limit else (low, middle - 1)
    return text[:low]


def boundary(texts: Iterable[str]) -> str:
    """128 random bits in hexadecimal that occur in none of the texts."""
    texts = list(texts)
    while True:
        mark = secrets.token_hex(16)
        if not any(mark in text for text in texts):
            return mark


def block(mark: str, title: str, text: str) -> str:
    """A quoted text with its title. The title is ours; nothing of the text may stand in it."""
    return f"<<<{mark} {title}\n{text}\n{mark}>>>"
