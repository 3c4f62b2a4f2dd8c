"""The statistics: estimates from sums, the sequential alarm, drift, anchors, labels and the rate of a budget.

Pure values and functions of the standard library. The formulas and what they measured are in STATISTICS; each module
names the part of it that it follows.
"""

from otel_ctxscore.core.stats.alarm import Detector, NullHypothesis, observation, weight_cap
from otel_ctxscore.core.stats.anchors import AnchorWatch, Blame, blame, kept_score
from otel_ctxscore.core.stats.budget import (
    Traffic,
    adaptive_probability,
    judging_probability,
    mean_spread,
    refilled,
)
from otel_ctxscore.core.stats.change import ChangePoint, Contribution, change_point, contributions
from otel_ctxscore.core.stats.difference import Difference, difference, estimate_mean
from otel_ctxscore.core.stats.drift import CELLS, Baseline, Drift, cell, compare, drifted
from otel_ctxscore.core.stats.estimate import Estimate, estimate, estimate_judged, estimate_screened
from otel_ctxscore.core.stats.labels import (
    JudgeRates,
    LabelledQuery,
    Share,
    corrected_precision,
    corrected_share,
    judge_rates,
)
from otel_ctxscore.core.stats.reference import Reference, ReferenceSums
from otel_ctxscore.core.stats.sums import JUDGED_TERMS, SCREENED_TERMS, TERMS, Stage, Sums, TraceTotals, WeightedScore

__all__ = [
    "CELLS",
    "JUDGED_TERMS",
    "SCREENED_TERMS",
    "TERMS",
    "AnchorWatch",
    "Baseline",
    "Blame",
    "ChangePoint",
    "Contribution",
    "Detector",
    "Difference",
    "Drift",
    "Estimate",
    "JudgeRates",
    "LabelledQuery",
    "NullHypothesis",
    "Reference",
    "ReferenceSums",
    "Share",
    "Stage",
    "Sums",
    "TraceTotals",
    "Traffic",
    "WeightedScore",
    "adaptive_probability",
    "blame",
    "cell",
    "change_point",
    "compare",
    "contributions",
    "corrected_precision",
    "corrected_share",
    "difference",
    "drifted",
    "estimate",
    "estimate_judged",
    "estimate_mean",
    "estimate_screened",
    "judge_rates",
    "judging_probability",
    "kept_score",
    "mean_spread",
    "observation",
    "refilled",
    "weight_cap",
]
