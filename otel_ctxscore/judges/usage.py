"""What the model of textual use sees: how much of a response stands in each context.

It compares words, so it tells use of a text, not whether the text supports what is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from otel_ctxscore.judges.text import Idf, Passage, fold, read

MAX_RESPONSE_TOKENS = 600
MAX_RESPONSE_SENTENCES = 12
LONGEST_RUN = 25
SHORT_REFUSAL = 250  # characters; a longer response that begins with an apology still says something

# name: direction in which the probability may move.
USED: dict[str, int] = {
    "cov": 1, "scov": 1, "new": 1, "new_best": 1, "names": 1, "numbers": 1, "run": 1, "gram4": 1, "whole": 1,
    "short": 0, "unique": 1, "aligned": 1, "winner": 1, "sib_new": -1, "sib_names": -1, "gap_new": 1,
}  # fmt: skip
Row = dict[str, float]

_REFUSAL = re.compile(
    r"\b(i|we) (do not|don't|don’t|did not|didn't) (have|know|find)|\b(can ?not|can't|can’t|could not|couldn't) "
    r"(answer|find|determine|provide)|\bno (relevant )?(information|answer)\b|\bnot (mentioned|provided|specified)\b"
    r"|\bunable to\b|\bsorry\b|\bunanswerable\b|無法|无法回答|抱歉|わかりません|見つかりません|申し訳",
    re.I,
)
_SPACES = re.compile(r"\s+")


def is_refusal(response: str) -> bool:
    """Whether a response says that it has no answer."""
    return len(response) < SHORT_REFUSAL and _REFUSAL.search(response) is not None


class Response:
    """The response's tokens that the query lacks, its sentences, names, numbers and runs of tokens."""

    def __init__(self, query: Passage, response: str, idf: Idf) -> None:
        passage = read(response)
        tokens = passage.tokens[:MAX_RESPONSE_TOKENS]
        known = set(query.tokens)
        self.verbatim = plain(response).strip(" .")
        self.tokens = tokens
        self.weight = {t: idf(t) for t in tokens}
        self.total = sum(self.weight.values()) or 1
        self.new = {t for t in self.weight if t not in known}
        self.new_total = sum(self.weight[t] for t in self.new)
        self.bigrams = set(pairwise(tokens))
        self.fours = set(zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False))
        marked = list(zip(tokens, passage.words, strict=False))
        self.names = {t for t, w in marked[1:] if w[0].isupper() and t in self.new}
        self.numbers = {t for t, w in marked if w[0].isdigit() and t in self.new}
        self.sentences = self._sentences(passage.starts)

    def _sentences(self, starts: Sequence[int]) -> list[tuple[set[str], int]]:
        """The tokens of each sentence with their weight."""
        ends = [*starts[1:], len(self.tokens)]
        parts = [set(self.tokens[a:b]) for a, b in zip(starts, ends, strict=True)][:MAX_RESPONSE_SENTENCES]
        return [(part, self.sum(part)) for part in parts if part]

    def sum(self, tokens: set[str]) -> int:
        """Weight of tokens of the response."""
        return sum(map(self.weight.__getitem__, tokens))


def plain(text: str) -> str:
    """Text with case, accents and the width of white space made equal."""
    return _SPACES.sub(" ", fold(text).lower())


def share(found: set[str], wanted: set[str], empty: float) -> float:
    """Share of what is wanted that is found; `empty` where nothing is wanted."""
    return len(found & wanted) / len(wanted) if wanted else empty


def longest_run(tokens: Sequence[str], bigrams: set[tuple[str, str]], common: bool) -> int:
    """Tokens in the longest stretch of a context whose every neighbouring pair stands in the response."""
    best = current = 0
    for pair in pairwise(tokens):
        if pair in bigrams:
            current += 1
            if current > best:
                best = current
        else:
            current = 0
    return best + 1 if best or common else 0


def alone(response: Response, passage: Passage, text: str) -> tuple[Row, set[str], list[float]]:
    """What one context shares with the response: features, the new tokens found, coverage of each sentence."""
    found = passage.vocabulary & response.weight.keys()
    new = found & response.new
    sentences = hit_sentences(passage, found)
    new_cov = response.sum(new) / response.new_total if response.new else 0.5
    run = longest_run(passage.tokens, response.bigrams, bool(found))
    aligned = [best_overlap(part, total, sentences, response) for part, total in response.sentences]
    four = _fours(passage.tokens, response, run, new_cov)
    row = {
        "cov": response.sum(found) / response.total,
        "scov": max((response.sum(p & found) / t for p, t in response.sentences if t), default=0.0),
        "new": new_cov,
        "new_best": best_overlap(response.new, response.new_total, sentences, response) if response.new else 0.5,
        "names": share(found, response.names, 0.5),
        "numbers": share(found, response.numbers, 0.5),
        "run": min(LONGEST_RUN, run) / LONGEST_RUN,
        "gram4": four,
        "whole": float(_verbatim(response, text, run)),
        "short": float(len(response.tokens) < 6),
        "aligned": max(aligned, default=0.0),
    }
    return row, new, aligned


def _verbatim(response: Response, text: str, run: int) -> bool:
    """Whether the whole response stands in the context; looked for only where its tokens allow it."""
    wanted = response.verbatim
    return bool(wanted) and (run >= len(response.tokens) or len(wanted) < 12) and wanted in plain(text)


def hit_sentences(passage: Passage, found: set[str]) -> list[set[str]]:
    """What each sentence of a context shares with the response."""
    if not found:
        return []
    tokens = passage.tokens
    ends = [*passage.starts[1:], len(tokens)]
    parts = [found.intersection(tokens[a:b]) for a, b in zip(passage.starts, ends, strict=True)]
    return [p for p in parts if p]


def best_overlap(part: set[str], total: int, sentences: Sequence[set[str]], response: Response) -> float:
    """Largest weighted share of `part` that one sentence of the context has."""
    if not total or not sentences:
        return 0.0
    return max(response.sum(part & s) for s in sentences) / total


def _fours(tokens: Sequence[str], response: Response, run: int, short: float) -> float:
    """Share of the response's runs of four tokens; for a shorter response that of its new tokens."""
    if not response.fours:
        return short
    if run < 4:
        return 0.0
    found = response.fours.intersection(zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False))
    return len(found) / len(response.fours)


def together(rows: list[Row], new: Sequence[set[str]], aligned: Sequence[list[float]], response: Response) -> None:
    """Add what compares a context with the others of its list."""
    counts: dict[str, int] = {}
    for tokens in new:
        for t in tokens:
            counts[t] = counts.get(t, 0) + 1
    top = [max(column) for column in zip(*aligned, strict=True)]
    for key in ("new", "names"):
        ordered = sorted((r[key] for r in rows), reverse=True)
        second = ordered[1] if len(ordered) > 1 else 0.0
        for row in rows:
            row["sib_" + key] = second if row[key] == ordered[0] else ordered[0]
    for row, tokens, part in zip(rows, new, aligned, strict=True):
        row["gap_new"] = row["new"] - row["sib_new"]
        row["unique"] = response.sum({t for t in tokens if counts[t] == 1}) / max(1, response.new_total)
        won = sum(a >= t and a > 0.3 for a, t in zip(part, top, strict=True))
        row["winner"] = won / len(part) if part else 0.0


def used_rows(
    query: Passage, passages: Sequence[Passage], contexts: Sequence[str], response: str, idf: Idf
) -> list[list[float]]:
    """One row a context, in the order of USED."""
    read_response = Response(query, response, idf)
    found = [alone(read_response, p, t) for p, t in zip(passages, contexts, strict=True)]
    rows = [row for row, _, _ in found]
    if rows:
        together(rows, [new for _, new, _ in found], [a for _, _, a in found], read_response)
    return [[row[name] for name in USED] for row in rows]
