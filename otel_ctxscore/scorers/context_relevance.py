"""Context relevance: does what was retrieved answer the query, was it used, and is anything missing?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass, fields, replace
from typing import ClassVar, Literal

from otel_ctxscore.core.model import Context, JudgedBy, Judgement, RagRun, Score
from otel_ctxscore.core.outcomes import Reason, first_reason
from otel_ctxscore.core.version import evaluator_version
from otel_ctxscore.scorers import explanation, numbers
from otel_ctxscore.scorers.grounds import cut_list, incomplete, no_response

WEIGHTS = {"high": 1.0, "medium": 0.7, "low": 0.3, "none": 0.0}
LABELS: numbers.Steps = ((0.9, "excellent"), (0.7, "good"), (0.4, "mixed"), (0.2, "poor"), (0.0, "very_poor"))


@dataclass(frozen=True, slots=True)
class Penalties:
    """What context relevance subtracts: for each highly relevant context that was not used, and for each missing
    piece of information up to a largest sum. All are >= 0, and 0 switches one off."""

    unused_high: float = 0.1
    missing_per_item: float = 0.15
    max_missing: float = 0.5

    def __post_init__(self) -> None:
        for rate in fields(self):
            value = getattr(self, rate.name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{rate.name} must be a number of at least 0, not {value!r}")


@dataclass(frozen=True, slots=True)
class _Parts:
    base: float
    usage_penalty: float
    missing_penalty: float | None

    @property
    def ratio(self) -> float:
        return max(0.0, self.base - self.usage_penalty - (self.missing_penalty or 0.0))


@dataclass(frozen=True, slots=True)
class ContextRelevance:
    """The mean weight of the contexts' levels less the penalties, times `scale`, rounded; one score a run.

    `derived` is for judges that derive levels from probabilities and know nothing of missing information: a
    definition of its own (`context_relevance/derived`) that subtracts no missing penalty. `quote` lets the
    explanation quote documents, notes and missing pieces. The formula is that of Mastra's context relevance scorer,
    divided by the number of contexts.

    >>> from otel_ctxscore import ContextRelevance, Judgement, Verdict
    >>> verdicts = [Verdict(relevance="high", used=True), Verdict(relevance="low", used=False)]
    >>> ContextRelevance().score(Judgement(verdicts, missing=["the price"])).value
    0.5
    """

    name: ClassVar[str] = "context_relevance"
    per: ClassVar[Literal["retrieval", "run"]] = "run"

    scale: float = 1
    penalties: Penalties = Penalties()
    _: KW_ONLY
    derived: bool = False
    quote: bool = False

    def __post_init__(self) -> None:
        numbers.check_scale(self.scale)

    @property
    def definition(self) -> str:
        return "context_relevance/derived" if self.derived else "context_relevance/weighted"

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"relevance", "used"}) | (frozenset() if self.derived else {"missing"})

    def score(self, judgement: Judgement) -> Score:
        """The score of the verdicts, all contexts of one turn."""
        reason = (
            incomplete(judgement, self.needs, len(judgement.verdicts)) if judgement.verdicts else Reason.NO_CONTEXTS
        )
        return self._unscored(reason, judgement.judged_by) if reason else self._scored(judgement, ())

    def score_run(self, run: RagRun, judgement: Judgement) -> list[Score]:
        """One score, over all distinct contexts of the turn. Unscored: no response, a list that is cut, or
        `judge_incomplete`."""
        reason = self.refusal(run) or incomplete(judgement, self.needs, len(run.judged))
        return [self._unscored(reason, judgement.judged_by) if reason else self._scored(judgement, run.judged)]

    def refuse(self, run: RagRun, reason: Reason, judged_by: JudgedBy | None = None) -> list[Score]:
        """The score, unscored: for the run's own reason where it has one, else for `reason`."""
        return [self._unscored(self.refusal(run) or reason, judged_by)]

    def refusal(self, run: RagRun) -> Reason | None:
        """What the run lacks, None where it can be scored."""
        return run.refused or first_reason(reason for reason in (no_response(run), cut_list(run)) if reason)

    def cheap_scores(self, run: RagRun, screened: Judgement) -> list[float | None]:
        """The score of derived levels: a covariate only."""
        derived = replace(self, derived=True)
        return [score.ratio for score in derived.score_run(run, screened)]

    def _version(self, judged_by: JudgedBy | None) -> str:
        return evaluator_version(self.definition, asdict(self.penalties), judged_by)

    def _unscored(self, reason: Reason, judged_by: JudgedBy | None) -> Score:
        return Score(self.name, self.definition, self._version(judged_by), None, unscored=reason, scale=self.scale)

    def _parts(self, judgement: Judgement) -> _Parts:
        weights = [WEIGHTS[verdict.relevance] for verdict in judgement.verdicts if verdict.relevance is not None]
        base = sum(weights) / len(judgement.verdicts)
        usage = len(_unused_high(judgement)) * self.penalties.unused_high
        if self.derived:
            return _Parts(base, usage, None)
        missing = len(judgement.missing or ()) * self.penalties.missing_per_item
        return _Parts(base, usage, min(missing, self.penalties.max_missing))

    def _scored(self, judgement: Judgement, contexts: Sequence[Context]) -> Score:
        parts = self._parts(judgement)
        version = self._version(judgement.judged_by)
        value = numbers.round2(parts.ratio * self.scale)
        return Score(
            self.name,
            self.definition,
            version,
            value,
            label=numbers.label(parts.ratio, LABELS),
            explanation=explanation.composed(
                explanation.levels(judgement.verdicts, contexts),
                self._sum(parts, judgement),
                explanation.scaled(value, self.scale),
                explanation.quotes(judgement, judgement.verdicts, contexts) if self.quote else "",
                explanation.criterion(judgement.judged_by, version),
            ),
            scale=self.scale,
            ratio=parts.ratio,
            base=parts.base,
            usage_penalty=parts.usage_penalty,
            missing_penalty=parts.missing_penalty,
        )

    def _sum(self, parts: _Parts, judgement: Judgement) -> str:
        """How base and penalties made the number, at which rates."""
        rates = self.penalties
        terms = [f"Mean weight {parts.base:.3g}"]
        if unused := _unused_high(judgement):
            where = explanation.positions(unused)
            terms.append(
                f"less {parts.usage_penalty:.3g} for high but unused (position {where}; {rates.unused_high:g} each)"
            )
        if parts.missing_penalty is not None and judgement.missing:
            pieces = "piece" if len(judgement.missing) == 1 else "pieces"
            terms.append(
                f"less {parts.missing_penalty:.3g} for {len(judgement.missing)} missing {pieces} "
                f"({rates.missing_per_item:g} each, at most {rates.max_missing:g})"
            )
        derived = " Levels are derived from probabilities; missing information was not judged." if self.derived else ""
        result = f": {numbers.round2(parts.ratio):g}" if len(terms) > 1 else ", nothing subtracted"
        return f"{', '.join(terms)}{result}.{derived}"


def _unused_high(judgement: Judgement) -> list[int]:
    return [i for i, v in enumerate(judgement.verdicts) if v.relevance == "high" and not v.is_used]
