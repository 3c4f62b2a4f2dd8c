"""Series, expectations and files for `promtool test rules`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from otel_ctxscore.core.stats import CELLS, JUDGED_TERMS, cell
from otel_ctxscore.telemetry import catalogue as c
from tools.prometheus_rules.alerts import alerts
from tools.prometheus_rules.series import record

Firing = Mapping[str, str]
SCORER = {"scorer": "context_precision", "version": "v1"}
SEVERITY = {alert.name: alert.labels["severity"] for alert in alerts()}


@dataclass(frozen=True, slots=True)
class Phase:
    """Minutes with the same traffic: runs a minute, all with this score; how many more are left unscored or find
    nothing. `restart`: the counters begin at 0 again with this phase."""

    minutes: int
    runs: int = 0
    score: float = 0.875
    unscored: int = 0
    empty: int = 0
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """Series as promtool reads them, and all alerts that fire at some minutes."""

    name: str
    series: Mapping[str, str]
    firing: Mapping[int, Sequence[Firing]] = field(default_factory=dict)


def selector(name: str, labels: Mapping[str, str]) -> str:
    """A series as PromQL writes it."""
    return name + "{" + ", ".join(f'{label}="{value}"' for label, value in labels.items()) + "}"


def alert(name: str, **labels: str) -> Firing:
    """A firing alert; `service` alone stands for the series of its scorer."""
    scored = (
        SCORER if labels.keys() == {"service"} and name not in ("CtxscoreNoData", "CtxscoreEmptyRetrievals") else {}
    )
    if name == "CtxscoreUnscored":
        scored = {"scorer": SCORER["scorer"]}
    return {"alertname": name, "alertstate": "firing", "severity": SEVERITY[name], **scored, **labels}


def series(metric: c.Metric, values: str, suffix: str = "", **labels: str) -> dict[str, str]:
    """One input series."""
    return {selector(metric.full_name + suffix, labels): values}


ALIVE = series(c.CLOSED_TRACES, "0+1x4000", closed="root_seen")
"""What every process shows."""


def steps(phases: Sequence[Phase], gains: Sequence[float]) -> str:
    """A counter that gains so much a minute in each phase, as promtool writes it."""
    total, parts = 0.0, ["0"]
    for phase, gain in zip(phases, gains, strict=True):
        total = 0.0 if phase.restart else total + gain
        parts.append(f"{total:g}+{gain:g}x{phase.minutes - 1}")
        total += gain * (phase.minutes - 1)
    return " ".join(parts)


def service(name: str, *phases: Phase, target: float = 0.8) -> dict[str, str]:
    """All that a service with one judge shows. Scores are eighths, so that sums are exact."""
    labels = {"service": name, **SCORER}
    found: dict[str, str] = series(c.TARGET_RATIO, f"{target}x{sum(phase.minutes for phase in phases)}", **labels)
    by_term = {"n": 0, "w": 0, "ww": 0, "wy": 1, "wwy": 1, "wwyy": 2}
    for term in JUDGED_TERMS:
        power = by_term.get(term)
        gains = [0.0 if power is None else phase.runs * phase.score**power for phase in phases]
        found |= series(c.ESTIMATOR, steps(phases, gains), **labels, stage="judged", term=term)
    for place, bucket in enumerate(CELLS):
        gains = [phase.runs * (cell(phase.score) == place) for phase in phases]
        found |= series(c.SCORE_WEIGHT, steps(phases, gains), **labels, bucket=bucket)
    bad = [phase.runs * (phase.score < 0.5) for phase in phases]
    found |= series(c.BAD_WEIGHT, steps(phases, bad), **labels)
    found |= series(c.SCORE, steps(phases, [phase.runs for phase in phases]), "_count", **labels, tier="local")
    reason = {"service": name, "scorer": SCORER["scorer"], "reason": "judge_unreadable"}
    found |= series(c.UNSCORED, steps(phases, [phase.unscored for phase in phases]), **reason)
    some = [phase.runs + phase.unscored for phase in phases]
    found |= series(c.RETRIEVALS, steps(phases, some), service=name, result="some")
    return found | series(c.RETRIEVALS, steps(phases, [phase.empty for phase in phases]), service=name, result="empty")


def recorded(name: str, window: str, values: str, **labels: str) -> dict[str, str]:
    """The series of a record."""
    return {selector(record(name, window), labels): values}


def values(hourly: str) -> dict[str, str]:
    """How many values the last hour had, by minute."""
    return recorded("values", "1h", hourly, service="shop", scorer=SCORER["scorer"])


def scenario_file(scenarios: Iterable[Scenario], rules: Sequence[str], every: str) -> str:
    """The text of a test file: the rules of these files, evaluated as often as stated."""
    content = {
        "rule_files": list(rules),
        "evaluation_interval": every,
        "tests": [_test(scenario) for scenario in scenarios],
    }
    head = "# Made by `make generate` from tools/prometheus_rules/scenarios.py.\n"
    return head + yaml.safe_dump(content, sort_keys=False, width=1000)


def _test(scenario: Scenario) -> dict[str, object]:
    checks = [
        {
            "expr": 'ALERTS{alertstate="firing"}',
            "eval_time": f"{minute}m",
            "exp_samples": [{"labels": selector("ALERTS", one), "value": 1} for one in firing],
        }
        for minute, firing in scenario.firing.items()
    ]
    inputs = [{"series": name, "values": values} for name, values in scenario.series.items()]
    return {"name": scenario.name, "interval": "1m", "input_series": inputs, "promql_expr_test": checks}
