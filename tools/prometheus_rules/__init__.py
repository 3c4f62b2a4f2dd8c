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

ALERTS = Group("ctxscore-alerts", "1m", tuple(alerts()))
_HEAD = "Made by `make generate` from tools/prometheus_rules. Formulas: docs/statistics.md."


def recording_groups() -> list[Group]:
    """Records of services: one group for what has no window, and one a window."""
    fixed = Group("ctxscore-pinned", "1m", (*baseline_rules(), *target_rules()))
    return [fixed, *(Group(f"ctxscore-{window}", every, _windowed(window)) for window, every in WINDOWS.items())]


def segment_groups() -> list[Group]:
    """Records of segments, one group a window; they read whether a window is truncated from the services' records."""
    return [
        Group(f"ctxscore-segments-{window}", every, tuple(estimate_rules(SEGMENTS, window)))
        for window, every in WINDOWS.items()
    ]


def _windowed(window: str) -> tuple[Record, ...]:
    return (*estimate_rules(SERVICES, window), *drift_rules(window), *share_rules(window))


RULES = {
    "recording.yml": lambda: rules_file(_HEAD, recording_groups()),
    "recording_segments.yml": lambda: rules_file(_HEAD + " For `segments`.", segment_groups()),
    "alerting.yml": lambda: rules_file(_HEAD + " What to do: docs/runbook.md.", [ALERTS]),
}
"""The files of deploy/prometheus, and what makes each."""
