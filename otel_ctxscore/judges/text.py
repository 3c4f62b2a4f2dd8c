"""Text as the local judge reads it: crudely stemmed words, runs of characters where a script has no spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

# What is read of one text, so that the time for a judgement is bounded: its beginning and its end.
HEAD_CHARS, TAIL_CHARS = 16_000, 8_000
FIRST_UNSPACED, LAST_THAI = "\u0e00", "\u0e7f"
PAIR, THAI_WIDTH = (
    2,
    4,
)  # characters in a token of an unspaced script; Thai is an alphabet, and its pairs are everywhere
SHORTEST_SENTENCE = 4  # tokens; a shorter one is joined with the next
MEMO_SIZE, LONGEST_REMEMBERED = 50_000, 32  # distinct words remembered with their stems; the longest in characters

_UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # Thai, kana, Han, Hangul
_MARKS = r"\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff\u200c\u200d"
_NUMBER = r"\d+(?:[.,]\d+)*"
_END = r"""(?<![.!?])[.!?]++["')\]]*+(?=\s|$)|\n+|[。！？؟।]+"""  # each character of a run is looked at once
_ASCII = re.compile(rf"[A-Za-z][A-Za-z0-9]*|{_NUMBER}[A-Za-z]*|{_END}")
_ANY = re.compile(rf"[{_UNSPACED}]+|{_NUMBER}|(?:[^\W_{_UNSPACED}]+[{_MARKS}]*)+|{_END}")
_ACCENTS = re.compile(r"[\u0300-\u036f]+")
_SUFFIXES = (
    "ations",
    "ation",
    "ments",
    "ingly",
    "ment",
    "ings",
    "edly",
    "ing",
    "ies",
    "ied",
    "est",
    "ers",
    "ed",
    "es",
    "er",
    "ly",
    "s",
    "e",
    "y",
)


class Passage(NamedTuple):
    """A text in tokens; `words` are the tokens as written, `starts` where its sentences begin."""

    tokens: list[str]
    words: list[str]
    starts: list[int]
    vocabulary: set[str]


def clip(text: str) -> str:
    """The part of a text that is read."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    return f"{text[:HEAD_CHARS]}\n{text[-TAIL_CHARS:]}"


def fold(text: str) -> str:
    """Compatibility forms made equal and Latin, Greek and Cyrillic accents dropped."""
    if text.isascii():
        return text
    split = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", split))


def stem(word: str) -> str:
    """A lower-case word without a common English ending; at least four letters are kept."""
    if not word.isascii() or len(word) < 5:
        return word[:-1] if len(word) == 4 and word[-1] == "s" and word[-2] != "s" else word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word


class _Memo(dict[str, str | tuple[str, ...]]):
    """From what the pattern finds to a token, to several (unspaced scripts) or to none (sentence end)."""

    def __missing__(self, found: str) -> str | tuple[str, ...]:
        made = _made(found)
        if len(found) <= LONGEST_REMEMBERED:
            if len(self) >= MEMO_SIZE:
                self.clear()
            self[found] = made
        return made


def _made(found: str) -> str | tuple[str, ...]:
    first = found[0]
    if first.isdigit():
        return found.replace(",", "").lower()
    if not first.isalnum() and not unicodedata.category(first).startswith("M"):
        return ()
    if _is_unspaced(first):
        width = THAI_WIDTH if first <= LAST_THAI else PAIR
        return tuple(found[i : i + width] for i in range(max(1, len(found) - width + 1)))
    return stem(found.lower())


def _is_unspaced(char: str) -> bool:
    return "\u0e00" <= char <= "\u0e7f" or "\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7af"


_MEMO = _Memo()


def read(text: str) -> Passage:
    """The tokens of a text, its words and its sentences."""
    text = fold(clip(text))
    pattern = _ASCII if text.isascii() else _ANY
    tokens: list[str] = []
    words: list[str] = []
    starts = [0]
    for found in pattern.findall(text):
        made = _MEMO[found]
        if made.__class__ is str:
            tokens.append(made)
            words.append(found)
        elif made:
            tokens += made
            words += [found] * len(made)
        elif len(tokens) - starts[-1] >= SHORTEST_SENTENCE:
            starts.append(len(tokens))
    if len(starts) > 1 and starts[-1] == len(tokens):
        starts.pop()
    return Passage(tokens, words, starts, set(tokens))


# A pair of characters with a Chinese function word in it, or of hiragana alone.
_FUNCTION_PAIR = re.compile(r"[的了吗呢么什谁哪是在和与及由于之其为有这那何些]|^[\u3041-\u309f]+$")


class Idf:
    """How rare a token is: a small generic table, and one value by length for every other token.

    In hundredths, so that sums are exact and the order of a set does not show in them.
    """

    COMMON = 250
    FUNCTION = 100  # of what carries grammar and no topic

    def __init__(self, table: Mapping[str, int], default: int) -> None:
        self.table = dict(table)
        self.default = default
        self.common = frozenset(t for t, value in table.items() if value <= self.COMMON)

    def __call__(self, token: str) -> int:
        unspaced = token[0] >= FIRST_UNSPACED
        if unspaced and _FUNCTION_PAIR.search(token):
            return self.FUNCTION
        value = self.table.get(token)
        if value is not None:
            return value
        return self.default if unspaced or len(token) > 3 else self.default - 100
