"""The alerts: their tests pass under promtool, each is seen firing and resolved, and each says where to look."""

from __future__ import annotations

import re

import pytest

from tests.services.fixtures import Tool
from tests.tools.prometheus_rules.replicas import SHIPPED
from tools.prometheus_rules import ALERTS, RULES
from tools.prometheus_rules.promtool import Scenario
from tools.prometheus_rules.rule import Alert
from tools.prometheus_rules.scenarios import alarm, days, quality, scenario_files, service_health, traffic

DOCS = SHIPPED.parents[1] / "docs"
SCENARIOS = [*alarm(), *days(), *quality(), *service_health(), *traffic()]


def firing(scenario: Scenario, name: str) -> list[bool]:
    """Whether the alert fires, at each minute that the scenario looks at."""
    return [any(one["alertname"] == name for one in alerts) for _, alerts in sorted(scenario.firing.items())]


@pytest.mark.parametrize("file", scenario_files())
@pytest.mark.trouble("C41")
def test_scenarios_under_promtool(promtool: Tool, file: str) -> None:
    check = promtool("test", "rules", SHIPPED / "tests" / file, timeout=400)
    assert check.ok, check.output


@pytest.mark.parametrize("alert", ALERTS.rules, ids=lambda alert: alert.as_dict()["alert"])
@pytest.mark.trouble("C41")
def test_every_alert_is_seen_silent_then_firing_then_resolved(alert: Alert) -> None:
    seen = [firing(scenario, alert.name) for scenario in SCENARIOS]
    assert any(True in one for one in seen)
    assert any(not any(one) for one in seen)
    assert any(one[0] is False and True in one for one in seen)
    assert any(True in one and one[-1] is False for one in seen)


@pytest.mark.parametrize("alert", ALERTS.rules, ids=lambda alert: alert.as_dict()["alert"])
def test_every_alert_waits_and_says_where_to_look(alert: Alert) -> None:
    assert re.fullmatch(r"[1-9]\d*m", alert.wait)
    assert alert.labels["severity"] in ("page", "ticket")
    url, _, section = alert.annotations["runbook_url"].partition("#")
    assert url.endswith("/docs/runbook.md")
    headings = re.findall(r"^## (\w+)$", (DOCS / "runbook.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert section in [heading.lower() for heading in headings]
    board = alert.annotations["dashboard_url"].removeprefix("/d/ctxscore-").partition("?")[0]
    assert (SHIPPED.parents[1] / "dashboards" / f"{board}.json").exists()
    assert alert.annotations["summary"]
    assert alert.annotations["description"].endswith(".")


def test_files_are_valid(promtool: Tool) -> None:
    for name in RULES:
        check = promtool("check", "rules", "--lint-fatal", SHIPPED / name)
        assert check.ok, check.output
    check = promtool("check", "config", SHIPPED / "prometheus.yml")
    assert check.ok, check.output


@pytest.mark.parametrize(("severity", "receiver"), [("page", "pager"), ("ticket", "tickets")])
def test_alertmanager_routes_by_severity(amtool: Tool, severity: str, receiver: str) -> None:
    config = SHIPPED / "alertmanager.yml"
    assert amtool("check-config", config).ok
    labels = ["alertname=CtxscoreAlarm", f"severity={severity}"]
    assert amtool("config", "routes", "test", f"--config.file={config}", *labels).output.split()[-1] == receiver
