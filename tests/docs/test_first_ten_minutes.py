"""docs/first-ten-minutes.md, step by step, as it stands there; only addresses are those of this test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.deploy.files import DEPLOY, ROOT
from tests.services.fixtures import StartPrometheus
from tests.services.process import wait_until
from tests.serving import Serving

PAGE = (ROOT / "docs" / "first-ten-minutes.md").read_text(encoding="utf-8")
RULES = ("recording.yml", "alerting.yml")
DEFAULTS = {"grpc": "127.0.0.1:4317", "admin": "127.0.0.1:9464"}


def section(heading: str) -> str:
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    return found[1]


def block(heading: str, language: str, number: int = 0) -> str:
    return list[str](re.findall(rf"```{language}\n(.*?)```", section(heading), re.DOTALL))[number]


class Reader:
    """Somebody who follows the page in a folder of his own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.service: Serving | None = None
        (folder / "app.py").write_text(block("An application with traces", "python"), encoding="utf-8")
        (folder / "config.yaml").write_text(block("Run the service", "yaml"), encoding="utf-8")

    def does(self, commands: str) -> str:
        """What the commands print; they succeed."""
        if self.service is not None:
            commands = commands.replace(DEFAULTS["grpc"], self.service.grpc)
            commands = commands.replace(DEFAULTS["admin"], self.service.admin)
            commands = re.sub(r"(?<=otel-ctxscore )(alarms|runs)", rf"\1 --url http://{self.service.admin}", commands)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=self.folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


@pytest.mark.slow
def test_the_application_is_explained_and_scored(reader: Reader) -> None:
    reader.does(block("An application with traces", "sh"))
    explained = reader.does(block("See what is read", "sh"))
    assert explained.count("can be judged, read as openinference") == 20
    shown = block("See what is read", "console").splitlines()
    assert [shape(line) for line in shown] == [shape(line) for line in explained.splitlines()[: len(shown)]]
    assert "scored" in reader.does(block("See what is read", "sh", 1))


def shape(line: str) -> str:
    """A line of `explain` without what differs from trace to trace."""
    return re.sub(r"[0-9a-f]{32}|[0-9a-f]{16}|“[^”]*”", "_", line)


@pytest.mark.slow
def test_the_configuration_passes_check(reader: Reader) -> None:
    checked, served = block("Run the service", "sh").splitlines()
    reader.does(checked)
    assert served == "otel-ctxscore serve -c config.yaml"


def test_a_fault_is_alarmed_in_the_service_and_in_prometheus(
    reader: Reader, tmp_path: Path, start_prometheus: StartPrometheus
) -> None:
    config = yaml.safe_load((tmp_path / "config.yaml").read_text(encoding="utf-8"))
    with Serving(tmp_path / "service", config) as service:
        reader.service = service
        prometheus = start_prometheus([service.admin], rules=[hurried(name, tmp_path) for name in RULES])
        said = reader.does(block("Run the service", "sh", 1))
        assert re.search(r'ctxscore_score_count\{.*service="handbook".*\} 200\.0', said)
        assert " quiet " in reader.does("otel-ctxscore alarms")
        mean = block("Prometheus and Grafana", "promql")
        reader.does(block("Prometheus and Grafana", "sh", 1).replace("--questions 600", "--questions 60"))
        [now] = wait_until(lambda: prometheus.query(mean) or None, 60, "the mean of the page")
        assert 0.7 < float(now["value"][1]) < 1
        assert "handbook" in reader.does(block("Break it", "sh").replace("--pause 0.1", "--pause 0.01"))
        listed = reader.does("otel-ctxscore alarms")
        assert " alarm " in listed
        wait_until(lambda: "CtxscoreAlarm" in alerts(prometheus.alerts()) or None, 30, "the alert")
        number = re.search(r"\b[0-9a-f]{10}\b(?= +handbook)", listed)
        assert number is not None
        shown = re.search(
            r"mean context_precision +(\S+).*?  +(\S+)", reader.does(f"otel-ctxscore alarms show {number[0]}")
        )
        assert shown is not None
        before, after = map(float, shown.groups())
        assert before > 0.85 > 0.6 > after, "good runs and bad ones of one hour are told apart"
        reader.does(block("Break it", "sh", 1).replace(" ID", f" {number[0]}"))
        assert " quiet " in reader.does("otel-ctxscore alarms")


def hurried(name: str, folder: Path) -> Path:
    """A shipped file of rules that are looked at each second, not each minute."""
    rules = yaml.safe_load((DEPLOY / "prometheus" / name).read_text(encoding="utf-8"))
    for group in rules["groups"]:
        group["interval"] = "1s"
    file = folder / name
    file.write_text(yaml.safe_dump(rules), encoding="utf-8")
    return file


def alerts(found: list[dict[str, dict[str, str]]]) -> set[str]:
    """The names of the alerts that are pending or fire."""
    return {alert["labels"]["alertname"] for alert in found}
