"""What the relevance model sees: how well each context covers the query, alone and beside the others.

Every feature is a share or a difference of shares. Left out on purpose, because they tell the data set or the
retriever and not the relevance: lengths of query and context, number and position of contexts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from otel_ctxscore.judges.text import Idf, Passage, read

MAX_TERMS = 48  # of a query: its rarest are kept
STOP_IDF = 130  # a query term below this is matched only if the query has no other
MAX_WINDOWS = 200  # of a context in which nearness is looked for
LEAST_WEIGHT = 0.5
FAMILIAR = 0.2  # share of common words from which a query is in a language the token table knows
LOCAL_FREQUENCY = {True: 1.5, False: 3.0}  # by that; see `reweigh`
PREFIX = 5  # letters that two forms of a word share

# name: direction in which the probability may move.
RELEVANCE: dict[str, int] = {
    "soft": 1, "best": 1, "pair": 1, "head": 1,  # query terms, weighted: all, best sentence, best two, first 20 tokens
    "bm25": 1, "bigram": 1, "near": 1,  # term frequency, terms in the query's order, best 12 tokens
    "rare": 1, "rare_best": 1,  # of the three rarest terms: in the context, in its best sentence
    "names": 1, "numbers": 1,  # of the query's names and numbers; .5: it has none
    "answer": 1,  # best sentence that holds the kind of thing the question asks for
    "density": 1, "mass": 1,  # matches per token, weight of the matches; both saturate
    "feedback": 1,  # words in common with the other contexts that match the query
    "score": 1,  # mean of soft, best, bm25 and bigram; compared with the other contexts:
    "sib_score": -1, "gap_score": 1, "over_mean": 1,  # the best other, the distance to it and to the mean
}  # fmt: skip


class Query(NamedTuple):
    """The query's terms, numbered; a set of terms is an integer with their bits set."""

    terms: list[str]
    weights: list[float]
    ids: dict[str, int]
    prefixes: dict[str, int]
    pairs: dict[tuple[int, int], float]
    rare: int
    names: int
    numbers: int
    asks: str
    total: float
    familiar: bool


_NAME_ASK = re.compile(r"\b(who|whom|whose)\b|谁|誰", re.I)
_PLACE_ASK = re.compile(r"\b(where|which (?:city|country|state|place|company|team))\b|哪里|どこ", re.I)
_TIME_ASK = re.compile(r"\b(when|what (?:year|date|day)|which year)\b|何年|いつ|哪一?年|何时", re.I)
_COUNT_ASK = re.compile(r"\b(how (?:many|much|old|long|far|tall|big|often|large))\b|多少|几|何人|いくつ", re.I)
_YEAR = re.compile(r"1\d{3}$|20\d\d$")


def asked(query: str) -> str:
    """The kind of answer a question asks for: a name, a time, a number, or "" where it is not told."""
    if _TIME_ASK.search(query):
        return "time"
    if _COUNT_ASK.search(query):
        return "number"
    return "name" if _NAME_ASK.search(query) or _PLACE_ASK.search(query) else ""


def analyse(query: str, idf: Idf) -> Query:
    """Number the terms of a query and weigh them."""
    passage = read(query)
    weight = {t: idf(t) for t in dict.fromkeys(passage.tokens)}
    kept = {t: w for t, w in weight.items() if w >= STOP_IDF} or weight
    terms = sorted(kept, key=lambda t: (-kept[t], t))[:MAX_TERMS]
    index = {t: i for i, t in enumerate(terms)}
    order = [index[t] for t in passage.tokens if t in index]
    weights = [kept[t] / 100 for t in terms]
    pairs = {(a, b): (weights[a] + weights[b]) / 2 for a, b in pairwise(order) if a != b}
    first = passage.words[0] if passage.words else ""
    names = numbers = 0
    for token, word in zip(passage.tokens, passage.words, strict=True):
        if token in index and word[0].isdigit():
            numbers |= 1 << index[token]
        elif token in index and word[0].isupper() and word is not first:
            names |= 1 << index[token]
    return Query(
        terms,
        weights,
        index,
        _prefixes(index),
        pairs,
        (1 << min(3, len(terms))) - 1,
        names,
        numbers,
        asked(query),
        sum(weights) or 1.0,
        sum(t in idf.common for t in passage.tokens) >= FAMILIAR * len(passage.tokens),
    )


def _prefixes(index: dict[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for term, i in index.items():
        if len(term) >= PREFIX and not term[0].isdigit():
            found.setdefault(term[:PREFIX], i)
    return found


class Coverage:
    """Weighted share of the query's terms in a bit set, remembered."""

    def __init__(self, query: Query) -> None:
        self.weights, self.total = query.weights, query.total
        self.known: dict[int, float] = {0: 0.0}

    def __call__(self, mask: int) -> float:
        value = self.known.get(mask)
        if value is None:
            value = self.known[mask] = self.sum(mask) / self.total
        return value

    def sum(self, mask: int) -> float:
        total, rest = 0.0, mask
        while rest:
            low = rest & -rest
            total += self.weights[low.bit_length() - 1]
            rest ^= low
        return total


class Hits(NamedTuple):
    """Where the terms of a query stand in one context."""

    positions: list[int]
    terms: list[int]
    exact: int
    soft: int
    by_sentence: list[int]


def locate(query: Query, passage: Passage) -> Hits:
    """Find the query's terms in a context, by stem and, failing that, by their first letters."""
    table, vocabulary = query.ids, passage.vocabulary
    exact = 0
    for term in vocabulary.intersection(table):
        exact |= 1 << table[term]
    extra = {t: i for t in vocabulary if (i := query.prefixes.get(t[:PREFIX])) is not None and not exact >> i & 1}
    if extra:
        table = {**table, **extra}
    positions = [p for p, t in enumerate(passage.tokens) if t in table]
    terms = [table[passage.tokens[p]] for p in positions]
    return Hits(positions, terms, exact, exact | _mask(extra.values()), _by_sentence(positions, terms, passage.starts))


def _mask(terms: Iterable[int]) -> int:
    mask = 0
    for i in terms:
        mask |= 1 << i
    return mask


def reweigh(query: Query, hits: Sequence[Hits], idf: Idf) -> Query:
    """Lower the weight of a term outside the token table by the logarithm of how many contexts have it.

    In a language that the table does not know this alone tells the frequent words from the rare: it counts double.
    """
    weights, rate = list(query.weights), LOCAL_FREQUENCY[query.familiar]
    for i, term in enumerate(query.terms):
        found = 0 if term in idf.table else sum(h.exact >> i & 1 for h in hits)
        if found > 1:
            weights[i] = max(LEAST_WEIGHT, weights[i] - rate * math.log(found))
    pairs = {(a, b): (weights[a] + weights[b]) / 2 for a, b in query.pairs}
    return query._replace(weights=weights, pairs=pairs, total=math.fsum(weights) or 1.0)


def _by_sentence(positions: Sequence[int], terms: Sequence[int], starts: Sequence[int]) -> list[int]:
    """The terms of each sentence."""
    masks = [0] * len(starts)
    sentence, last = 0, len(starts) - 1
    for position, term in zip(positions, terms, strict=True):
        while sentence < last and position >= starts[sentence + 1]:
            sentence += 1
        masks[sentence] |= 1 << term
    return masks


def ratio(part: int, whole: int, cover: Coverage, empty: float) -> float:
    return cover(part & whole) / cover(whole) if whole else empty


def bm25(query: Query, hits: Hits, length: int) -> float:
    """BM25's saturated term frequency (k1 1.2, b .75, mean length 120) as a share of its maximum."""
    k = 1.2 * (0.25 + 0.75 * length / 120)
    counts: dict[int, int] = {}
    for t in hits.terms:
        counts[t] = counts.get(t, 0) + 1
    return sum(query.weights[t] * n / (n + k) for t, n in counts.items()) / query.total


def window(hits: Hits, cover: Coverage, width: int) -> float:
    """Best coverage by `width` tokens in a row that begin with one of the first hits."""
    positions, terms = hits.positions, hits.terms
    masks = set()
    for i in range(min(len(positions), MAX_WINDOWS)):
        mask, end = 0, positions[i] + width
        for j in range(i, min(i + width, len(positions))):
            if positions[j] >= end:
                break
            mask |= 1 << terms[j]
        masks.add(mask)
    return max(map(cover, masks), default=0.0)


def bigrams(query: Query, hits: Hits) -> float:
    """Weighted share of the query's neighbouring terms that stand in that order within three tokens."""
    if not query.pairs:
        return 0.0
    found = set()
    positions, terms = hits.positions, hits.terms
    for i in range(len(positions) - 1):
        if positions[i + 1] - positions[i] <= 3:
            found.add((terms[i], terms[i + 1]))
    total = sum(query.pairs.values())
    return sum(w for pair, w in query.pairs.items() if pair in found) / total


def answers(query: Query, passage: Passage, hits: Hits, cover: Coverage) -> float:
    """Coverage by the best sentence that also holds what is asked for: a name, a time or a number."""
    best = 0.0
    ends = [*passage.starts[1:], len(passage.tokens)]
    for i, mask in enumerate(hits.by_sentence):
        value = cover(mask)
        if value > best and _holds(query, passage, passage.starts[i], ends[i]):
            best = value
    return best


def _holds(query: Query, passage: Passage, start: int, end: int) -> bool:
    words, tokens, index = passage.words, passage.tokens, query.ids
    if query.asks == "name":
        return any(words[i][0].isupper() and tokens[i] not in index for i in range(start + 1, end))
    if query.asks == "time":
        return any(_YEAR.match(words[i]) is not None and tokens[i] not in index for i in range(start, end))
    if query.asks == "number":
        return any(words[i][0].isdigit() and tokens[i] not in index for i in range(start, end))
    return True


Row = dict[str, float]


def alone(query: Query, passage: Passage, hits: Hits, cover: Coverage) -> Row:
    """What one context shows by itself."""
    masks = hits.by_sentence
    best = max(masks, key=cover)
    pair = max((cover(a | b) for a, b in pairwise(masks)), default=cover(best))
    length = len(passage.tokens)
    soft = cover(hits.soft)
    row = {
        "soft": soft,
        "best": cover(best),
        "pair": max(pair, cover(best)),
        "head": cover(_mask(t for p, t in zip(hits.positions, hits.terms, strict=True) if p < 20)),
        "bm25": bm25(query, hits, length),
        "bigram": bigrams(query, hits),
        "near": window(hits, cover, 12),
        "rare": ratio(hits.soft, query.rare, cover, 0.0),
        "rare_best": ratio(best, query.rare, cover, 0.0),
        "names": ratio(hits.soft, query.names, cover, 0.5),
        "numbers": ratio(hits.exact, query.numbers, cover, 0.5),
        "answer": answers(query, passage, hits, cover),
        "density": min(1.0, 5 * len(hits.positions) / (length + 20)),
        "mass": soft * query.total / (soft * query.total + 12.0),
    }
    row["score"] = (row["soft"] + row["best"] + row["bm25"] + row["bigram"]) / 4
    return row


def feedback(passages: Sequence[Passage], rows: Sequence[Row], query: Query, idf: Idf) -> list[float]:
    """Weighted share of a context's rarer words outside the query that the other contexts have.

    Each other context counts by the cube of its score, in whole millionths so that the sums are exact.
    """
    weights = [round(1e6 * row["score"] ** 3) for row in rows]
    known = idf.common.union(query.ids)
    rare = [p.vocabulary - known for p in passages]
    total: dict[str, int] = {}
    for weight, values in zip(weights, rare, strict=True):
        for t in values:
            total[t] = total.get(t, 0) + weight
    everything = sum(weights)
    return [_shared(v, w, total, everything - w, idf) for v, w in zip(rare, weights, strict=True)]


def _shared(values: set[str], own: int, total: dict[str, int], others: int, idf: Idf) -> float:
    if not values or others <= 0:
        return 0.0
    found, mass, get, default = 0, 0, idf.table.get, idf.default
    for t in values:
        value = get(t, default)
        mass += value
        found += value * (total[t] - own)
    return found / others / mass


PRIOR_SCORE, PRIOR_COUNT = 0.3, 2  # a list's mean score counts as if it had two more contexts of this score


def together(rows: list[Row]) -> None:
    """Add what compares a context with the others of its list; nothing depends on their order.

    A list of one context has no other: its distances are damped so that it does not stand out by being alone.
    """
    n = len(rows)
    scores = [r["score"] for r in rows]
    total, (first, second) = math.fsum(scores), _two_best(scores)
    for row, score in zip(rows, scores, strict=True):
        other = second if score == first else first
        row["sib_score"] = other if n > 1 else 0.5 * score
        row["gap_score"] = (n - 1) / (n + 2) * (score - other)
        mean = (total - score + PRIOR_COUNT * PRIOR_SCORE) / (n - 1 + PRIOR_COUNT)
        row["over_mean"] = score - mean


def _two_best(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values, reverse=True)
    return ordered[0], ordered[1] if len(ordered) > 1 else 0.0


def relevance_rows(query: str, passages: Sequence[Passage], idf: Idf) -> list[list[float]]:
    """One row a context, in the order of RELEVANCE."""
    analysed = analyse(query, idf)
    hits = [locate(analysed, p) for p in passages]
    analysed = reweigh(analysed, hits, idf)
    cover = Coverage(analysed)
    rows = [alone(analysed, p, h, cover) for p, h in zip(passages, hits, strict=True)]
    together(rows)
    for row, value in zip(rows, feedback(passages, rows, analysed, idf), strict=True):
        row["feedback"] = value
    return [[row[name] for name in RELEVANCE] for row in rows]
