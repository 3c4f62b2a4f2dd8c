"""Drift as recording rules: PSI over the pinned groups with its floor, and KS. Python's are `core.stats.drift`."""

from __future__ import annotations

from otel_ctxscore.core.stats.drift import CELLS, MIN_N_EFF, POINTS
from otel_ctxscore.core.stats.quantiles import kolmogorov
from otel_ctxscore.telemetry import catalogue as c
from tools.prometheus_rules.rule import Record
from tools.prometheus_rules.series import SERIES, gauge, increase, names, record

_BY = f"by ({names(SERIES)})"
_ON = f"on ({names(SERIES)}) group_left ()"
_SHARE, _N = record("baseline_share"), record("baseline_n_eff")
_GROUPS, _OLD = record("baseline_groups"), record("baseline_group_share")


def baseline_rules() -> list[Record]:
    """What was pinned, over all replicas: shares of the cells, effective number, number of groups, smoothed shares."""
    grouped = f"sum by ({names(SERIES)}, group) ({_SHARE})"
    return [
        Record(_SHARE, gauge(c.BASELINE_SHARE, (*SERIES, "bucket", "group"))),
        Record(_N, f"{gauge(c.BASELINE_N_EFF, SERIES)} > 0"),
        Record(_GROUPS, f"count {_BY} (count by ({names(SERIES)}, group) ({_SHARE})) >= 2"),
        Record(_OLD, _smoothed(grouped, _N)),
    ]


def drift_rules(window: str) -> list[Record]:
    """Shares of the cells in a window, and how they differ from the baseline. Nothing below 100 effective runs."""
    weight, share = record("score_weight", window), record("score_share", window)
    new, shift = record("group_share", window), record("share_shift", window)
    n = f"({record('estimate_n_eff', window)} >= {MIN_N_EFF:g})"
    noise = f"(1 / {n} + 1 / {_N} and {_GROUPS})"
    cell = f"on ({names(SERIES)}, bucket)"
    grouped = f"sum by ({names(SERIES)}, group) (0 * {_SHARE} + {cell} group_left () {share})"
    return [
        Record(weight, increase(c.SCORE_WEIGHT, window, (*SERIES, "bucket"))),
        Record(share, f"{weight} / {_ON} (sum {_BY} ({weight}) > 0)"),
        Record(new, _smoothed(grouped, n)),
        Record(record("psi", window), f"sum {_BY} (({new} - {_OLD}) * ln({new} / {_OLD}))"),
        Record(record("psi_floor", window), f"{gauge(c.DRIFT_FLOOR, (*SERIES, 'level'))} * {_ON} {noise}"),
        Record(shift, f"{share} - {cell} max by ({names(SERIES)}, bucket) ({_SHARE}) and on ({names(SERIES)}) {noise}"),
        Record(record("ks", window), f"max {_BY} (abs(\n{_cumulated(shift)}\n))"),
        Record(record("ks_floor", window), f"{kolmogorov(POINTS[0])!r} * sqrt({noise})"),
    ]


def _smoothed(share: str, n: str) -> str:
    """Shares of groups with half a run added to each."""
    return f"({share} * {_ON} {n} + 0.5) / {_ON} ({n} + 0.5 * {_GROUPS})"


def _cumulated(shift: str) -> str:
    """Differences of the two distribution functions, at the upper end of each cell but the last."""
    parts = []
    for place in range(1, len(CELLS)):
        upto = "|".join(cell.replace(".", "[.]") for cell in CELLS[:place])
        total = f'sum {_BY} ({shift}{{bucket=~"{upto}"}})'
        parts.append(f'  label_replace({total}, "upto", "{CELLS[place - 1]}", "", "")')
    return "\n  or\n".join(parts)
