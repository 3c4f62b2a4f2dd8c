"""Scores of one ranked list: which lists a run has, and what all scorers of a list have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

from otel_ctxscore.core.model import Context, JudgedBy, Judgement, RagRun, Retrieval, Score, Verdict
from otel_ctxscore.core.outcomes import Reason, first_reason
from otel_ctxscore.core.version import evaluator_version
from otel_ctxscore.scorers import explanation
from otel_ctxscore.scorers.grounds import cut_list, incomplete
from otel_ctxscore.scorers.numbers import check_scale, round2


@dataclass(frozen=True, slots=True)
class RankedList:
    """A list that gets a score: `places` are the indexes in `run.judged` in rank order, empty where it is refused.

    `retrieval` is the index in `run.retrievals`, None for the merged list of the turn.
    """

    retrieval: int | None
    places: Sequence[int] = ()
    contexts: Sequence[Context] = ()
    refused: Reason | None = None


def ranked_lists(run: RagRun) -> list[RankedList]:
    """The lists that are scored apart: each retrieval, all merged in order of first appearance, or the last one."""
    if not run.retrievals:
        return [RankedList(None, refused=run.refused)]
    if run.precision_over == "merge":
        return [_merged(run)]
    own = [_own(run, index, retrieval) for index, retrieval in enumerate(run.retrievals)]
    return own if run.precision_over == "each" else own[-1:]


def _own(run: RagRun, index: int, retrieval: Retrieval) -> RankedList:
    no_query = None if (run.query or "").strip() else run.refused
    refused = no_query or retrieval.refused or (None if retrieval.ranked else Reason.UNRANKED)
    if refused:
        return RankedList(index, refused=refused)
    return RankedList(index, run.places(retrieval), retrieval.contexts)


def _merged(run: RagRun) -> RankedList:
    joined = any(retrieval.refused is None and not retrieval.ranked for retrieval in run.retrievals)
    refused = run.refused or cut_list(run) or (Reason.UNRANKED if joined else None)
    return RankedList(None, refused=refused) if refused else RankedList(None, range(len(run.judged)), run.judged)


@dataclass(frozen=True, slots=True)
class RankedScorer(ABC):
    """A scorer of one ranked list of useful and useless contexts; one score a list. `quote` lets the explanation
    quote documents and notes."""

    name: ClassVar[str]
    definition: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset({"useful"})
    per: ClassVar[Literal["retrieval", "run"]] = "retrieval"

    scale: float = 1
    _: KW_ONLY
    quote: bool = False

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def score(self, judgement: Judgement) -> Score:
        """The score of the verdicts as one ranked list."""
        reason = (
            incomplete(judgement, self.needs, len(judgement.verdicts)) if judgement.verdicts else Reason.NO_CONTEXTS
        )
        everything = RankedList(None, range(len(judgement.verdicts)), refused=reason)
        return self._score(everything, judgement, judgement.judged_by)

    def score_run(self, run: RagRun, judgement: Judgement) -> list[Score]:
        """A score a list. Unscored: the list's own reason, or `judge_incomplete`."""
        wrong = incomplete(judgement, self.needs, len(run.judged))
        if wrong:
            return self.refuse(run, wrong, judgement.judged_by)
        return [self._score(ranked, judgement, judgement.judged_by) for ranked in ranked_lists(run)]

    def refuse(self, run: RagRun, reason: Reason, judged_by: JudgedBy | None = None) -> list[Score]:
        """All lists unscored: each for its own reason where it has one, else for `reason`."""
        lists = [RankedList(ranked.retrieval, refused=ranked.refused or reason) for ranked in ranked_lists(run)]
        return [self._score(ranked, None, judged_by) for ranked in lists]

    def refusal(self, run: RagRun) -> Reason | None:
        """The first reason of all lists, None where any list can be scored."""
        reasons = [ranked.refused for ranked in ranked_lists(run)]
        return None if None in reasons else first_reason(reason for reason in reasons if reason)

    def _score(self, ranked: RankedList, judgement: Judgement | None, judged_by: JudgedBy | None) -> Score:
        version = evaluator_version(self.definition, {}, judged_by)
        blank = Score(self.name, self.definition, version, None, scale=self.scale, retrieval=ranked.retrieval)
        if ranked.refused is not None or judgement is None:
            return replace(blank, unscored=ranked.refused)
        verdicts = [judgement.verdicts[place] for place in ranked.places]
        useful = [verdict.is_useful is True for verdict in verdicts]
        ratio = self.ratio(useful)
        value = round2(ratio * self.scale)
        said = explanation.composed(
            explanation.useful_contexts(useful, ranked.contexts),
            self.reasoning(useful, ratio),
            explanation.scaled(value, self.scale),
            self._quotes(judgement, verdicts, ranked.contexts),
            explanation.criterion(judged_by, version),
        )
        return replace(blank, value=value, label=self.label(ratio), explanation=said, ratio=ratio)

    def _quotes(self, judgement: Judgement, verdicts: Sequence[Verdict], contexts: Sequence[Context]) -> str:
        return explanation.quotes(judgement, verdicts, contexts) if self.quote else ""

    @abstractmethod
    def ratio(self, useful: Sequence[bool]) -> float:
        """The number of a list that is not empty, in 0..1."""

    @abstractmethod
    def label(self, ratio: float) -> str | None:
        """The word for a number, None where the number needs none."""

    @abstractmethod
    def reasoning(self, useful: Sequence[bool], ratio: float) -> str:
        """How the verdicts made the number, in a sentence."""
