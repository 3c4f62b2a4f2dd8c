"""Context precision: are the useful contexts ranked first? Average precision of one ranked list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_ctxscore.core.model import Judgement, RagRun
from otel_ctxscore.ports import Scorer
from otel_ctxscore.scorers import explanation, numbers
from otel_ctxscore.scorers.expectation import expected_average_precision
from otel_ctxscore.scorers.grounds import incomplete
from otel_ctxscore.scorers.ranked import RankedList, RankedScorer, ranked_lists
from otel_ctxscore.scorers.relatives import HitRate, ReciprocalRank, ShareUseful

LABELS: numbers.Steps = ((0.9, "excellent"), (0.7, "good"), (0.4, "mixed"), (0.01, "poor"), (0.0, "none_relevant"))


def average_precision(useful: Sequence[bool]) -> float:
    """The mean, over the useful positions, of the share of useful contexts down to there; 0 where none is useful.

    `[True, False, True, False]` gives (1/1 + 2/3) / 2. The formula is that of Mastra's context precision scorer.
    """
    places = [place for place, is_useful in enumerate(useful) if is_useful]
    total = sum(seen / (place + 1) for seen, place in enumerate(places, start=1))
    return total / len(places) if places else 0.0


@dataclass(frozen=True, slots=True)
class ContextPrecision(RankedScorer):
    """Average precision of each ranked list, times `scale`, rounded to two decimals.

    >>> from otel_ctxscore import ContextPrecision, Judgement, Verdict
    >>> ContextPrecision().score(Judgement([Verdict(useful=u) for u in (True, False, True, False)])).value
    0.83
    """

    name = "context_precision"
    definition = "context_precision/ap"

    @property
    def relatives(self) -> Sequence[Scorer]:
        """Hit rate, reciprocal rank and share useful, all in 0..1 whatever the scale."""
        return HitRate(quote=self.quote), ReciprocalRank(quote=self.quote), ShareUseful(quote=self.quote)

    def cheap_scores(self, run: RagRun, screened: Judgement) -> list[float | None]:
        """The average precision that the probabilities of a cheaper judge let expect, for each list."""
        whole = incomplete(screened, self.needs, len(run.judged)) is None
        return [_expected(ranked, screened) if whole else None for ranked in ranked_lists(run)]

    def ratio(self, useful: Sequence[bool]) -> float:
        return average_precision(useful)

    def label(self, ratio: float) -> str:
        return numbers.label(ratio, LABELS)

    def reasoning(self, useful: Sequence[bool], ratio: float) -> str:
        return explanation.precision_steps(useful, ratio)


def _expected(ranked: RankedList, screened: Judgement) -> float | None:
    if ranked.refused is not None:
        return None
    return expected_average_precision([screened.verdicts[place].p_useful or 0.0 for place in ranked.places])
