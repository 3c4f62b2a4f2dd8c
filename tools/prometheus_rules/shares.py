"""Shares of what was counted: coverage, empty retrievals, bad runs."""

from __future__ import annotations

from otel_ctxscore.telemetry import catalogue as c
from tools.prometheus_rules.rule import Record
from tools.prometheus_rules.series import SERIES, gauge, increase, names, record

FAST, SLOW = 14.4, 6
"""Burn rates that page: 2 % of a month's budget within an hour, and 5 % within six (Site Reliability Workbook, 5)."""

_BUDGET = record("bad_budget")


def share_rules(window: str) -> list[Record]:
    """Counts and shares in a window. A share of nothing is not there."""
    values, unscored, asked = (record(name, window) for name in ("values", "unscored", "asked"))
    retrievals = record("retrievals", window)
    scored = ("service", "scorer")
    empty = increase(c.RETRIEVALS, window, ("service",), 'result="empty"')
    bad = increase(c.BAD_WEIGHT, window, SERIES)
    return [
        Record(values, increase(c.SCORE, window, scored, suffix="_count")),
        Record(unscored, increase(c.UNSCORED, window, scored)),
        Record(asked, f"{values} + {unscored}\nor\n{values}\nor\n{unscored}"),
        Record(record("coverage", window), f"({values} or 0 * {asked}) / ({asked} > 0)"),
        Record(retrievals, increase(c.RETRIEVALS, window, ("service",))),
        Record(record("empty_share", window), f"{empty} / ({retrievals} > 0)"),
        Record(
            record("bad_share", window),
            f"{bad} / (sum by ({names(SERIES)}) ({record('score_weight', window)}) > 0)",
        ),
    ]


def target_rules() -> list[Record]:
    """Targets over all replicas, and the share of bad runs they leave room for: 1 - target, what a mean of `target`
    allows where runs are either perfect or worth nothing. A wide budget cannot burn 14.4 times over, so the limit
    is at most half of the way (fast), or a quarter (slow), from the budget to 1."""
    return [
        Record(record("target"), gauge(c.TARGET_RATIO, SERIES)),
        Record(_BUDGET, f"1 - {record('target')}"),
        Record(record("bad_limit_fast"), _limit(FAST, 0.5)),
        Record(record("bad_limit_slow"), _limit(SLOW, 0.25)),
    ]


def _limit(burn: float, part: float) -> str:
    most = f"{_BUDGET} + {part} * (1 - {_BUDGET})"
    return f"{burn:g} * {_BUDGET} <= {most}\nor\n{most}"
