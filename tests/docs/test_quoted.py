"""What the pages quote is there: addresses, records, alerts, targets of make, files, PromQL and YAML."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from otel_ctxscore.config import Config
from otel_ctxscore.config.outlets import Admin
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web.app import application
from tests.deploy.files import PAGES, ROOT, Block, blocks
from tests.services.fixtures import Tool
from tests.web.fakes import FakeService, NoReview
from tools.prometheus_rules import ALERTS
from tools.prometheus_rules.page import records

ALL = (*PAGES, *(ROOT / name for name in ("deploy/prometheus/README.md", "dashboards/README.md")))
OTHERS = {"connectors", "extensions", "receivers", "exporters", "service", "scrape_configs", "rule_files", "processors"}
"""Keys by which a block of YAML is another program's: the Collector's or Prometheus'."""
FOLDERS = ("dashboards", "deploy", "docs", "otel_ctxscore", "scripts", "tests", "tools")
WINDOW = "W|5m|1h|6h|1d"


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def routes() -> set[str]:
    """The addresses that are answered, with `*` for what is named in braces."""
    app = application(Admin(), FakeService(), Metrics(), NoReview())
    known = {resource.canonical for resource in app.router.resources()} | {"/v1/traces", "/v1/logs"}
    return {re.sub(r"\{[^}]*\}", "*", path) for path in known}


ROUTES = routes()


def addresses(page: Path) -> set[str]:
    """Paths under the admin address that a page names, as they stand there."""
    said = text(page)
    found = set(re.findall(r"(?<![\w.])/api/v1/([\w{}/.-]*[\w}])", said))
    found |= set(re.findall(r"`(?:GET|POST|DELETE) ([a-z][\w{}/-]*)[?`]", said))
    whole = set(re.findall(r"`(/[a-z][\w{}/-]*)[?`]", said))
    return {f"/api/v1/{one}" for one in found} | {one for one in whole if one.split("/")[1] in TOP}


TOP = {route.split("/")[1] for route in ROUTES if not route.startswith("/api/")}


def known(path: str) -> bool:
    """Whether something answers there: what is in braces, and an id, stand for any word."""
    steps = re.sub(r"\{[^}]*\}", "*", path).split("/")
    for route in ROUTES:
        wanted = route.split("/")
        if len(steps) == len(wanted) and all(w in ("*", s) for s, w in zip(steps, wanted, strict=True)):
            return True
    return False


@pytest.mark.parametrize("page", ALL, ids=name)
def test_addresses_are_answered(page: Path) -> None:
    assert sorted(path for path in addresses(page) if not known(path)) == []


@pytest.mark.parametrize("page", ALL, ids=name)
def test_records_and_alerts_are_there(page: Path) -> None:
    named = set(re.findall(rf"\bctxscore:((?:segment_)?[a-z_]+(?::(?:{WINDOW}))?)\b", text(page)))
    bare = {re.sub(rf":({WINDOW})$", ":W", one) for one in named} - {"high"}  # the note in a commit of Kafka
    assert bare - set(records()) == set()
    alerts = {rule.name for rule in ALERTS.rules}
    assert set(re.findall(r"\bCtxscore[A-Z]\w+", text(page))) - alerts == set()


def test_each_record_is_described_once() -> None:
    described = re.findall(r"^\| `ctxscore:([a-z_]+(?::W)?)`", text(ROOT / "docs" / "records.md"), re.MULTILINE)
    assert sorted(described) == sorted({one.removeprefix("segment_") for one in records()})


@pytest.mark.parametrize("page", ALL, ids=name)
def test_targets_of_make_are_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text(ROOT / "Makefile"), re.MULTILINE))
    code = "\n".join([*(block.text for block in blocks(page)), *re.findall(r"`([^`\n]+)`", text(page))])
    assert set(re.findall(r"^make ([a-z-]+)", code, re.MULTILINE)) - targets == set()


@pytest.mark.parametrize("page", ALL, ids=name)
def test_files_are_there(page: Path) -> None:
    quoted = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", text(page))
    assert [path for path in quoted if not (ROOT / path).exists()] == []


YAML = [block for page in ALL for block in blocks(page) if block.language in ("yaml", "yml")]


@pytest.mark.parametrize("block", YAML, ids=str)
def test_yaml_is_a_configuration_or_another_programs(block: Block) -> None:
    keys = set(yaml.safe_load(block.text))
    assert keys <= set(Config.model_fields) or keys <= OTHERS


PROMQL = [block for page in ALL for block in blocks(page) if block.language == "promql"]


@pytest.mark.parametrize("page", ALL, ids=name)
def test_promql_says_that_it_is(page: Path) -> None:
    plain = [block for block in blocks(page) if block.language in ("", "text")]
    assert [str(block) for block in plain if re.search(r"\b(rate|increase|sum by|avg by)\b ?\(", block.text)] == []


@pytest.mark.parametrize("block", PROMQL, ids=str)
def test_promql_is_read_by_prometheus(block: Block, promtool: Tool, tmp_path: Path) -> None:
    rules = {"groups": [{"name": "page", "rules": [{"record": "page:expression", "expr": block.text}]}]}
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump(rules), encoding="utf-8")
    checked = promtool("check", "rules", file)
    assert checked.ok, checked.output


def test_the_checks_see_what_is_wrong(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`GET runs/{id}` `/readyz` and `GET run/{id}`, `/runs/{id}/no`, /api/v1/alarm/3")
    wrong = ["/api/v1/alarm/3", "/api/v1/run/{id}", "/runs/{id}/no"]
    assert sorted(path for path in addresses(page) if not known(path)) == wrong
