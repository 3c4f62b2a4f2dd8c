"""From the demo's regression to a page: the real demo, Prometheus with the shipped alert, and Alertmanager."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.services.alertmanager import Alertmanager
from tests.services.fixtures import StartPrometheus
from tests.services.process import wait_until

ALERTING = Path(__file__).parents[1] / "deploy" / "prometheus" / "alerting.yml"


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Path]:
    """What a running `demo --keep` has written so far."""
    said = tmp_path / "said"
    with said.open("wb") as out:
        command = [sys.executable, "-u", "-m", "otel_ctxscore", "demo", "--keep"]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    yield said
    process.send_signal(signal.SIGINT)
    process.wait(30)


def shipped_alarm(folder: Path) -> Path:
    """The shipped rule of the alarm, firing after a second instead of a minute: the demo's hours are shorter too."""
    groups = yaml.safe_load(ALERTING.read_text())["groups"]
    [rule] = [rule for group in groups for rule in group["rules"] if rule.get("alert") == "CtxscoreAlarm"]
    file = folder / "alarm.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "alarm", "rules": [{**rule, "for": "1s"}]}]}))
    return file


def test_the_demos_regression_reaches_alertmanager_and_its_exemplars_a_trace(
    demo: Path, tmp_path: Path, start_prometheus: StartPrometheus, alertmanager: Alertmanager
) -> None:
    pages = wait_until(
        lambda: re.findall(r"http://(127\.0\.0\.1:\d+) ", demo.read_text()) or None, 60, "the demo's pages"
    )
    prometheus = start_prometheus(pages, rules=[shipped_alarm(tmp_path)], alertmanager=alertmanager.address)

    def fault() -> bool | None:
        assert not alertmanager.alerts(), "no alert before the fault"
        return "FAULT" in demo.read_text() or None

    wait_until(fault, 90, "the fault")
    alerts = wait_until(lambda: alertmanager.alerts() or None, 60, "the alert in Alertmanager")
    assert {alert["labels"]["alertname"] for alert in alerts} == {"CtxscoreAlarm"}
    assert alerts[0]["labels"]["service"] == "docs-assistant"
    assert "has fallen" in alerts[0]["annotations"]["summary"]
    wait_until(lambda: re.search(r"trace +([0-9a-f]{32})", demo.read_text()), 60, "the worst run")
    exemplars = prometheus.exemplars('ctxscore_score_bucket{scorer="context_precision"}')
    assert all(re.fullmatch("[0-9a-f]{32}", one["labels"]["trace_id"]) for one in exemplars)
    assert exemplars
