"""How far a judge agrees with people: kappa, rates, reliability, and where it can be believed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from otel_ctxscore.core.model import YES
from otel_ctxscore.core.stats.labels import JudgeRates, LabelledQuery, judge_rates
from otel_ctxscore.core.stats.quantiles import Z95

BINS = 10
TRUSTED = 0.9
"""Agreement beyond an edge of the band, at least."""
LEAST_BEYOND = 20
"""Verdicts beyond an edge of the band, at least."""


class Pair(NamedTuple):
    """One context: the judge's probability of yes, and what people say."""

    p: float
    human: bool


Query = Sequence[Pair]
"""The contexts of one query. They are alike, so intervals are over queries."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95 % interval. The ends are the value where one query is all there is."""

    value: float
    lower: float
    upper: float

    @classmethod
    def around(cls, value: float, variance: float, low: float, high: float) -> Interval:
        half = Z95 * math.sqrt(max(variance, 0.0))
        return cls(value, max(low, value - half), min(high, value + half))


@dataclass(frozen=True, slots=True)
class Agreement:
    """Yes and no of judge and people. `kappa` is Cohen's, None where neither has more than one word; the rates are
    None with fewer than two queries or with one kind of contexts only."""

    contexts: int
    queries: int
    kappa: Interval | None
    rates: JudgeRates | None

    @property
    def sensitivity(self) -> Interval | None:
        rates = self.rates
        return None if rates is None else Interval.around(rates.sensitivity, rates.var_sensitivity, 0.0, 1.0)

    @property
    def specificity(self) -> Interval | None:
        rates = self.rates
        return None if rates is None else Interval.around(rates.specificity, rates.var_specificity, 0.0, 1.0)


def agreement(queries: Sequence[Query]) -> Agreement:
    """The agreement of verdicts at p >= 0.5."""
    kept = [query for query in queries if query]
    counts = [LabelledQuery.of((pair.human, pair.p >= YES) for pair in query) for query in kept]
    return Agreement(sum(map(len, kept)), len(kept), _kappa_interval(counts), judge_rates(counts))


def kappa(counts: Sequence[LabelledQuery]) -> float | None:
    """Cohen's kappa of two words, None where chance alone agrees always."""
    both = sum(c.true_positives for c in counts)
    neither = sum(c.true_negatives for c in counts)
    positives, negatives = sum(c.positives for c in counts), sum(c.negatives for c in counts)
    n, said = positives + negatives, both + negatives - neither
    chance = (positives * said + negatives * (n - said)) / (n * n) if n else 1.0
    return ((both + neither) / n - chance) / (1 - chance) if chance < 1.0 else None


def _kappa_interval(counts: Sequence[LabelledQuery]) -> Interval | None:
    """By the jackknife over queries."""
    value, m = kappa(counts), len(counts)
    if value is None:
        return None
    left_out = [kappa([*counts[:place], *counts[place + 1 :]]) for place in range(m)] if m > 1 else []
    known = [one for one in left_out if one is not None]
    mean = math.fsum(known) / len(known) if known else value
    variance = (m - 1) / m * math.fsum((one - mean) ** 2 for one in known)
    return Interval.around(value, variance, -1.0, 1.0)


def quadratic_kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa of ranks with squared distances as weights; None where there is no spread."""
    n = len(pairs)
    seen = math.fsum((a - b) ** 2 for a, b in pairs)
    expected = math.fsum((a - b) ** 2 for a, _ in pairs for _, b in pairs) / n if n else 0.0
    return 1 - seen / expected if expected > 0 else None


@dataclass(frozen=True, slots=True)
class Bin:
    """Contexts whose probability lies in [low, high): how many, their mean probability and the share that people call
    yes. The last bin holds 1 too."""

    low: float
    high: float
    n: int
    mean: float
    share: float


def reliability(pairs: Sequence[Pair]) -> list[Bin]:
    """The bins that hold a context."""
    cells: list[list[Pair]] = [[] for _ in range(BINS)]
    for pair in pairs:
        cells[min(int(pair.p * BINS), BINS - 1)].append(pair)
    return [_bin(place, cell) for place, cell in enumerate(cells) if cell]


def _bin(place: int, cell: Sequence[Pair]) -> Bin:
    n = len(cell)
    mean, share = math.fsum(pair.p for pair in cell) / n, sum(pair.human for pair in cell) / n
    return Bin(place / BINS, (place + 1) / BINS, n, mean, share)


def calibration_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error (ECE): the mean distance of probability and share, by contexts."""
    n = sum(cell.n for cell in bins)
    return math.fsum(cell.n * abs(cell.mean - cell.share) for cell in bins) / n if n else 0.0


def log_loss(pairs: Sequence[Pair]) -> float:
    """Mean surprise in nats: what a calibration makes smaller. Probabilities are kept a millionth from 0 and 1."""
    kept = [(min(max(pair.p, 1e-6), 1 - 1e-6), pair.human) for pair in pairs]
    return -math.fsum(math.log(p if human else 1 - p) for p, human in kept) / len(kept) if kept else 0.0


@dataclass(frozen=True, slots=True)
class Band:
    """Between `low` and `high` the judge is unsure. At most `low` people said no, at least `high` they said yes, each
    in at least .9 of at least 20 cases; 0 and 1 where no edge does. `open_queries`: the share of queries with a
    context inside, which a cascade sends on."""

    low: float
    high: float
    open_queries: float


def band(queries: Sequence[Query]) -> Band | None:
    """The narrowest such band. None for a judge that gives no probabilities."""
    pairs = [pair for query in queries for pair in query]
    if len({pair.p for pair in pairs} - {0.0, 1.0}) < 2:
        return None
    low = _edge(sorted(pair for pair in pairs if pair.p < YES), lambda pair: not pair.human)
    high = _edge(sorted((pair for pair in pairs if pair.p >= YES), reverse=True), lambda pair: pair.human)
    low, high = 0.0 if low is None else low, 1.0 if high is None else high
    inside = sum(any(low < pair.p < high for pair in query) for query in queries)
    return Band(low, high, inside / len(queries))


def _edge(ordered: Sequence[Pair], agrees: Callable[[Pair], bool]) -> float | None:
    """The probability nearest to a half up to which, from the far end, people agree often enough."""
    found, right = None, 0
    for n, pair in enumerate(ordered, 1):
        right += agrees(pair)
        is_last = n == len(ordered) or ordered[n].p != pair.p
        if is_last and n >= LEAST_BEYOND and right >= TRUSTED * n:
            found = pair.p
    return found
