"""The mean with its interval as recording rules: the formulas of `otel_ctxscore.core.stats.estimate` over any window.

Every piece that is used twice is a record of its own, so that each rule can be checked by itself against
docs/statistics.md. No rule divides by what may be 0 and none gives NaN: a series without weight is simply not there.
"""

from __future__ import annotations

from dataclasses import dataclass

from otel_ctxscore.core.stats.estimate import FLAT, LOW_N_EFF, MIN_N_EFF
from otel_ctxscore.core.stats.quantiles import Z95
from otel_ctxscore.core.stats.sums import TERMS
from otel_ctxscore.telemetry import catalogue as c
from tools.prometheus_rules.rule import Record
from tools.prometheus_rules.series import SERIES, increase, names, record


@dataclass(frozen=True, slots=True)
class Family:
    """Estimator sums of one kind: those of services, or those of their segments. `labels` tell series apart."""

    metric: c.Metric
    prefix: str
    labels: tuple[str, ...]


SERVICES = Family(c.ESTIMATOR, "", SERIES)
SEGMENTS = Family(c.SEGMENT_ESTIMATOR, "segment_", ("service", "segment", "value", "scorer", "version"))

_T = [(Z95**3 + Z95) / 4, (5 * Z95**5 + 16 * Z95**3 + 3 * Z95) / 96]
_T += [(3 * Z95**7 + 19 * Z95**5 + 17 * Z95**3 - 15 * Z95) / 384]
_V = "({estimate_n_eff} - 1)"
STUDENT = f"({Z95} + {_T[0]!r} / {_V} + {_T[1]!r} / {_V} ^ 2 + {_T[2]!r} / {_V} ^ 3)"
"""Student's 95 % point at n_eff - 1 degrees of freedom, see `quantiles.student_t95`."""

MEANS = {
    "estimate_n_eff": "1 / ({judged_ww} > 0)",
    "estimate_cff": "{judged_wwff} - 2 * {judged_f} * {judged_wwf} + {judged_f} ^ 2 * {judged_ww}",
    "estimate_cyf": """
{judged_wwyf} - {judged_y} * {judged_wwf} - {judged_f} * {judged_wwy} + {judged_y} * {judged_f} * {judged_ww}""",
    "estimate_lambda": f"""
clamp({{estimate_cyf}} / ({{estimate_cff}} > {FLAT:g} * {{judged_wwff}}), 0, 1) and {{screened_f}}
or
0 * {{judged_y}}""",
    "estimate_mean": """
clamp({judged_y} + ({estimate_lambda} * ({screened_f} - {judged_f}) or 0 * {judged_y}), 0, 1) >= 0""",
}
"""Mean and what it is made of. `lambda` is 0 where no cheap score was screened, or where it says nothing."""

HALF_RUNS = {
    "half_y": "({judged_y} + {judged_ww} / 2) / (1 + {judged_ww})",
    "half_cyf": """
{judged_wwyf} - {half_y} * {judged_wwf} - {judged_f} * {judged_wwy} + {half_y} * {judged_f} * {judged_ww}""",
    "half_lambda": f"""
clamp({{half_cyf}} / ({{estimate_cff}} > {FLAT:g} * ({{judged_wwff}} + ({{judged_f}} * {{judged_ww}}) ^ 2)), 0, 1)
  and {{screened_f}}
or
0 * {{judged_y}}""",
    "half_mean": "{half_y} + ({half_lambda} * ({screened_f} - {judged_f}) or 0 * {judged_y})",
    "half_cyy": """
{judged_wwyy} + {judged_ww} ^ 2 / 2
  - 2 * {half_y} * ({judged_wwy} + {judged_ww} ^ 2 / 2)
  + {half_y} ^ 2 * {judged_ww} * (1 + {judged_ww})""",
    "half_variance": """
clamp_min({half_cyy} - 2 * {half_lambda} * {half_cyf} + {half_lambda} ^ 2 * {estimate_cff}, 0) / (1 + {judged_ww}) ^ 2
  + (
    {half_lambda} ^ 2
      * clamp_min({screened_wwff} - 2 * {screened_f} * {screened_wwf} + {screened_f} ^ 2 * {screened_ww}, 0)
    or
    0 * {judged_y}
  )""",
    "half_centre": """
({half_mean} > 0.5 / ({estimate_n_eff} + 1)) < 1 - 0.5 / ({estimate_n_eff} + 1)
or
0.5 / ({estimate_n_eff} + 1) >= {half_mean}
or
1 - 0.5 / ({estimate_n_eff} + 1) <= {half_mean}""",
}
"""The same with half a run that scored 0 and half a run that scored 1 added. With e = ww/w^2 of the judged traces, the
weight becomes 1 + e times, n_eff grows by 1, and the mean of f and its (co)variances but for the divisor (1 + e)^2
stay as they are: so `half_cyf` and `half_cyy` are still to be divided by it, and `half_lambda` needs no division.
`half_centre` is the mean kept half a run away from 0 and 1."""

INTERVAL = {
    "half_width": f"""
(
  {STUDENT}
    * sqrt({{half_variance}} * ({{estimate_n_eff}} + 1) / {{estimate_n_eff}})
    / ({{half_centre}} * (1 - {{half_centre}}))
  >= 0
)
  and {{estimate_n_eff}} >= {MIN_N_EFF:g}
  unless on ({names(SERIES)}) {{estimate_truncated}} == 1""",
    "estimate_lower": """
{half_centre} / ({half_centre} + (1 - {half_centre}) * exp({half_width})) <= {estimate_mean}
or
{estimate_mean} and {half_width}""",
    "estimate_upper": """
{half_centre} / ({half_centre} + (1 - {half_centre}) * exp(-{half_width})) >= {estimate_mean}
or
{estimate_mean} and {half_width}""",
}
"""The interval, symmetric on the logit scale; `half_width` is on that scale. It always holds the mean."""


def estimate_rules(family: Family, window: str) -> list[Record]:
    """All rules of one family and window, each after those that it reads."""
    sums = Record(
        _name(family, "estimator_sum", window), increase(family.metric, window, (*family.labels, "stage", "term"))
    )
    moments, formulas = _moments(family, window), {**MEANS, **_flags(window, family), **HALF_RUNS, **INTERVAL}
    known = {piece: _name(family, piece, window) for piece in (*moments, *formulas)}
    shown = {"estimate_truncated": record("estimate_truncated", window), **known}
    expressions = {**moments, **{piece: text.format_map(shown) for piece, text in formulas.items()}}
    return [sums, *(Record(known[piece], expression) for piece, expression in expressions.items())]


def _name(family: Family, piece: str, window: str) -> str:
    return record(family.prefix + piece, window)


def _moments(family: Family, window: str) -> dict[str, str]:
    """The weight of each stage, and its terms over the weight (y, f) or over its square (the rest)."""

    def term(stage: str, name: str) -> str:
        return f'{_name(family, "estimator_sum", window)}{{stage="{stage}", term="{name}"}}'

    by_weight = {"wy": "y", "wf": "f"}
    moments = {}
    for stage, terms in TERMS.items():
        weight = _name(family, f"{stage}_w", window)
        moments[f"{stage}_w"] = f"sum without (stage, term) ({term(stage, 'w')}) > 0"
        for name in terms:
            divided = f"{term(stage, name)} / ignoring (stage, term) {weight}"
            if name in by_weight:
                moments[f"{stage}_{by_weight[name]}"] = divided
            elif name not in ("n", "w"):
                moments[f"{stage}_{name}"] = f"{divided} / {weight}"
    return moments


def _flags(window: str, family: Family) -> dict[str, str]:
    """Whether the estimate rests on little, and whether the budget's fuse blew in the window: services only."""
    if family is SEGMENTS:
        return {}
    blown = f"max(1 - min_over_time({c.BUDGET_OPEN.full_name}[{window}]))"
    return {
        "estimate_low_n": f"{{estimate_n_eff}} < bool {LOW_N_EFF:g}",
        "estimate_truncated": f"0 * {{estimate_n_eff}} + on () group_left () ({blown} or vector(0))",
    }
