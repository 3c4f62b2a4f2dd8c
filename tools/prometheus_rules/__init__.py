"""Prometheus rules, built from the metric catalogue and from the constants of the statistics.

`python -m tools.generate` writes them to deploy/prometheus/.
"""

from __future__ import annotations

from tools.prometheus_rules.alerts import alerts
from tools.prometheus_rules.drift import baseline_rules, drift_rules
from tools.prometheus_rules.estimates import SEGMENTS, SERVICES, estimate_rules
from tools.prometheus_rules.rule import Group, Record, rules_file
from tools.prometheus_rules.series import WINDOWS
from tools.prometheus_rules.shares import share_rules, target_rules

_HEAD = "Made by `make generate` from tools/prometheus_rules. Formulas: docs/statistics.md."


def recording_groups() -> list[Group]:
    """All recording rules: one group for what has no window, and one a window."""
    fixed = Group("ctxscore-pinned", "1m", (*baseline_rules(), *target_rules()))
    return [fixed, *(Group(f"ctxscore-{window}", every, _windowed(window)) for window, every in WINDOWS.items())]


def recording_file() -> str:
    """The text of deploy/prometheus/recording.yml."""
    return rules_file(_HEAD, recording_groups())


def alerting_file() -> str:
    """The text of deploy/prometheus/alerting.yml."""
    return rules_file(_HEAD + " What to do: docs/runbook.md.", [Group("ctxscore-alerts", "1m", tuple(alerts()))])


def _windowed(window: str) -> tuple[Record, ...]:
    estimates = (*estimate_rules(SERVICES, window), *estimate_rules(SEGMENTS, window))
    return (*estimates, *drift_rules(window), *share_rules(window))
