"""What a page shows of long texts: their beginning, how much more there is, and the sentence that the verdict is
about, wherever it stands."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from otel_ctxscore.core.unseen import fitting

FOLDED = 400
"""Characters up to which a context stands open among others."""
MOST, LEAST = 3000, 300
"""Characters of one text that a page shows: fewer of each where there are many, but not below the second."""
TOGETHER = 100_000
"""Characters of all contexts of a page, as long as there is the least of each."""
WHOLE = 200_000
"""Characters of a text that is asked for whole; beyond, the API has it."""
READ = 200_000
"""Characters of a text in which a sentence is looked for."""
WORDS = 24
"""Words that are looked for: those with a number, and the longest."""
COMMON = 300
"""Times that a text may hold a word that tells anything."""
SENTENCE = 400
"""Characters of a sentence that are shown, at most: half of them before what is looked for, half from there on."""

_END = re.compile(r"[.!?](?=\s|$)|[。！？\n]")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]{3,}")  # scripts without spaces: by character
_QUOTED = re.compile(r"“([^“”]{8,})”|\"([^\"]{8,})\"|«([^«»]{8,})»|「([^「」]{4,})」")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text beyond what is shown of it: `at` is where it begins, in characters from 0; `quoted` whether
    a note quotes it, else it shares most with query and response."""

    text: str
    at: int
    quoted: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`begins` is what a page shows of a text, `more` the characters that follow. `whole`: it was asked for whole;
    `folded`: it is too long to stand open among others. `sentence` is that of the rest which the verdict is about."""

    begins: str
    more: int = 0
    whole: bool = False
    folded: bool = False
    sentence: Sentence | None = None


def room_of_each(texts: int) -> int:
    """Characters of each of so many texts."""
    return max(LEAST, min(MOST, TOGETHER // max(texts, 1)))


def excerpt(text: str, room: int, *, whole: bool = False) -> Excerpt:
    """The beginning of a text, as much as fits."""
    length = fitting(text, WHOLE if whole else room)
    return Excerpt(text[:length], len(text) - length, whole, folded=len(text) > FOLDED)


def words(*texts: str | None) -> list[str]:
    """What a sentence is looked for by: the words of query and response that tell most."""
    found = {word.lower() for text in texts for word in _WORD.findall((text or "")[:MOST])}
    return sorted(found, key=lambda word: (-any(map(str.isdigit, word)), -len(word), word))[:WORDS]


def sentence_at_issue(
    text: str, visible: int, about: Collection[str], notes: Iterable[str], read: int = READ
) -> Sentence | None:
    """The sentence beyond the `visible` beginning that a note quotes, or else, of the first `read` characters, the one
    that shares most with `about`; None where it is visible or there is none."""
    for note in notes:
        for found in _QUOTED.finditer(note):
            quote = next(part for part in found.groups() if part).strip(" .…")
            at = text.find(quote) if quote else -1
            if at >= 0:
                return _sentence(text, at, quoted=True) if at >= visible else None
    best = _nearest(text[:read], about)
    return _sentence(text, best, quoted=False) if best is not None and best >= visible else None


def _nearest(text: str, about: Collection[str]) -> int | None:
    """Where the sentence that holds most of the words in `about` has the first of them, rare ones counting more."""
    flat = text.lower() if len(text.lower()) == len(text) else text
    hits = sorted((at, word) for word in about for at in _places(flat, word))
    times = Counter(word for _, word in hits)
    best, most = None, 0.0
    first, before, together, seen = 0, 0, 0.0, set[str]()
    for at, word in hits:
        if not seen or at - first > SENTENCE or _END.search(flat, before, at):
            first, together, seen = at, 0.0, set()
        if word not in seen:
            seen.add(word)
            together += math.log(1 + len(hits) / times[word])
        if together > most:
            best, most = first, together
        before = at
    return best


def _places(text: str, word: str) -> Iterator[int]:
    """Where a word stands by itself; nowhere if it is everywhere."""
    at = text.find(word) if text.count(word) <= COMMON else -1
    while at >= 0:
        if len(word) == 1 or not (text[at - 1 : at].isalnum() or text[at + len(word) : at + len(word) + 1].isalnum()):
            yield at
        at = text.find(word, at + 1)


def _sentence(text: str, at: int, *, quoted: bool) -> Sentence:
    earliest, latest = max(0, at - SENTENCE // 2), min(len(text), at + SENTENCE // 2)
    begin = max((end.end() for end in _END.finditer(text, earliest, at)), default=earliest)
    ends = _END.search(text, at, latest)
    whole = text[begin : ends.end() if ends else latest]
    before = "…" if begin == earliest > 0 else ""
    after = "…" if ends is None and latest < len(text) else ""
    return Sentence(f"{before}{whole.strip()}{after}", begin + len(whole) - len(whole.lstrip()), quoted)
