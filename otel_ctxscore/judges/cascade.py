"""`cascade`: the LLM judges the runs that the local judge leaves open, and a random share of the rest.

It gives every run a good verdict. For a mean it is no cheaper than `sampled`: the runs outside the band that are
judged weigh by the inverse of their share.
"""

from __future__ import annotations

from otel_ctxscore.core.model import Judgement
from otel_ctxscore.judges.drawing import TwoJudges
from otel_ctxscore.ports import Judge

AUTO_BAND = (0.40, 0.87)
"""Beyond these labels of data sets that the local judge had not seen agree with it in at least 85 % of cases on either
side, as `tools/judge/REPORT.md` measures. For 90 % it is (0.09, 0.92), which leaves most lists open."""


class CascadeJudge(TwoJudges):
    """Runs with any context in the open `band` of probabilities go to the LLM whole, of the others a share `rate`."""

    def __init__(
        self,
        local: Judge,
        llm: Judge,
        *,
        band: tuple[float, float] = AUTO_BAND,
        rate: float = 0.05,
        salt: str = "",
    ) -> None:
        super().__init__(local, llm, salt=salt)
        self._low, self._high = band
        self._rate = rate

    def probability(self, screened: Judgement) -> float:
        chances = [verdict.p_useful for verdict in screened.verdicts]
        is_open = any(p is None or self._low < p < self._high for p in chances)
        return 1.0 if is_open else self._rate
