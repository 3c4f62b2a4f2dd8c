"""The example configurations pass `otel-ctxscore check`, and the Collector's own check passes those of Collectors."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from otel_ctxscore.cli import group
from tests.deploy.files import CONFIGURATIONS, DEPLOY, ROOT, with_secrets
from tests.services import otelcol
from tests.services.fixtures import Tool, need


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_an_example_is_valid(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    file = tmp_path / "config.yaml"
    file.write_text(with_secrets(path.read_text(encoding="utf-8"), tmp_path), encoding="utf-8")
    ended = CliRunner().invoke(group, ["check", str(file), "--rate", "60"])
    assert ended.exit_code == 0, ended.output
    assert "note:" not in ended.output


@pytest.mark.parametrize("name", ["collector.yaml", "compose/collector.yaml"])
def test_the_collector_takes_its_configuration(name: str, services_folder: Path) -> None:
    need("collector")
    checked = otelcol.validate(DEPLOY / name)
    assert checked.ok, checked.output


def test_the_collector_refuses_a_wrong_one(services_folder: Path, tmp_path: Path) -> None:
    need("collector")
    wrong = (DEPLOY / "collector.yaml").read_text(encoding="utf-8").replace("partition_traces_by_id", "partition_by")
    (tmp_path / "wrong.yaml").write_text(wrong, encoding="utf-8")
    assert "partition_by" in otelcol.validate(tmp_path / "wrong.yaml").output


def test_the_load_balancing_variant_says_that_it_was_not_run() -> None:
    text = (DEPLOY / "collector-loadbalancing.yaml").read_text(encoding="utf-8")
    assert "NOT RUN AND NOT VALIDATED" in text


def test_prometheus_takes_the_configuration_of_compose(promtool: Tool, tmp_path: Path) -> None:
    text = (DEPLOY / "compose" / "prometheus.yml").read_text(encoding="utf-8")
    file = tmp_path / "prometheus.yml"
    file.write_text(text.replace("/etc/prometheus/rules", str(DEPLOY / "prometheus")), encoding="utf-8")
    checked = promtool("check", "config", file)
    assert checked.ok, checked.output
    assert f"{ROOT}" in checked.output  # the rules were found and read
