"""Every name on a board and in a rule is known, and a board needs nothing of the Grafana it was built with."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from otel_ctxscore.telemetry.catalogue import CATALOGUE, Metric
from tests.dashboards.boards import BOARDS, FOLDER, expressions, label_values
from tests.promql import names
from tools.prometheus_rules import ALERTS, recording_groups, segment_groups
from tools.prometheus_rules.rule import Record

SCRAPED = {"instance", "job"}
MADE = {"le", "upto", "alertname", "alertstate", "severity"}
"""Labels that a rule, a histogram or Prometheus itself adds."""
RULES = [rule for group in (*recording_groups(), *segment_groups()) for rule in group.rules]
RECORDS = {rule.name for rule in RULES if isinstance(rule, Record)}
LABELS = {name for metric in CATALOGUE for name in metric.label_names} | SCRAPED | MADE


def series_names(metric: Metric) -> list[str]:
    """The names a metric is scraped under."""
    suffixes = ("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",)
    return [metric.full_name + suffix for suffix in suffixes]


SERIES = {name: metric for metric in CATALOGUE for name in series_names(metric)}
RULE_EXPRESSIONS = {rule.name: rule.expression for rule in (*RULES, *ALERTS.rules)}
BOARD_EXPRESSIONS = {
    f"{name}: {title}: {place}": expression
    for name, board in BOARDS.items()
    for place, (title, expression) in enumerate(expressions(board))
}


def unknown(expression: str) -> set[str]:
    """What an expression names and nobody provides."""
    found = names(expression)
    assert found.selectors
    wrong = set(found.clauses - LABELS)
    for name, labels in found.selectors:
        if name in SERIES:
            wrong |= set(labels) - set(SERIES[name].label_names) - SCRAPED - MADE
        elif name in RECORDS or name == "ALERTS":
            wrong |= set(labels) - LABELS
        else:
            wrong.add(name)
    return wrong


def test_names_are_found_in_an_expression() -> None:
    found = names('sum by (a, le) (rate(ctxscore_x_total{b=~"by (c)",d="}"}[5m])) / on (e) ctxscore:y:5m{}')
    assert found.selectors == (("ctxscore_x_total", ("b", "d")), ("ctxscore:y:5m", ()))
    assert found.clauses == {"a", "le", "e"}
    assert unknown('sum by (nothing) (ctxscore_traces_total{scorer="p"}) + ctxscore_y') == {
        "nothing",
        "scorer",
        "ctxscore_y",
    }


@pytest.mark.parametrize("name", RULE_EXPRESSIONS)
def test_rules_name_what_is_there(name: str) -> None:
    assert not unknown(RULE_EXPRESSIONS[name])


@pytest.mark.parametrize("place", BOARD_EXPRESSIONS)
def test_boards_name_what_is_there(place: str) -> None:
    assert not unknown(BOARD_EXPRESSIONS[place])


@pytest.mark.parametrize("board", BOARDS)
def test_variables_ask_for_labels_that_are_there(board: str) -> None:
    for _, selector, label in label_values(BOARDS[board]):
        assert not unknown(selector)
        ((name, _),) = names(selector).selectors
        assert label in SERIES[name].label_names


def sources(node: Any) -> set[str]:
    """The uids of all data sources in a board."""
    if isinstance(node, dict):
        own = {node["datasource"]["uid"]} if isinstance(node.get("datasource"), dict) else set()
        return own.union(*map(sources, node.values()))
    return set().union(*map(sources, node)) if isinstance(node, list) else set()


@pytest.mark.parametrize("board", BOARDS)
def test_a_board_is_provisioned_as_it_is(board: str) -> None:
    content = BOARDS[board]
    assert sources(content) == {"${datasource}"}
    assert "__inputs" not in content
    assert content["uid"] == f"ctxscore-{board}"
    assert next(one for one in content["templating"]["list"] if one["type"] == "datasource")["name"] == "datasource"
    numbers = [panel["id"] for panel in content["panels"]]
    assert len(set(numbers)) == len(numbers)
    assert all(panel["description"] for panel in content["panels"] if panel["type"] != "row")
    known = {variable["name"] for variable in content["templating"]["list"]}
    text = json.dumps(content)
    assert all(
        f"${name}" not in text or name in known for name in ("service", "scorer", "version", "window", "segment")
    )


def test_exemplars_lead_to_both_trace_stores() -> None:
    content = yaml.safe_load((FOLDER / "provisioning" / "datasources.yaml").read_text(encoding="utf-8"))
    by_type = {source["type"]: source for source in content["datasources"]}
    links = by_type["prometheus"]["jsonData"]["exemplarTraceIdDestinations"]
    assert {link["datasourceUid"] for link in links} == {by_type["tempo"]["uid"], by_type["jaeger"]["uid"]}
    assert {link["name"] for link in links} == {"trace_id"}
    with_exemplars = [
        target["expr"]
        for panel in BOARDS["quality"]["panels"]
        for target in panel.get("targets", ())
        if target["exemplar"]
    ]
    assert len(with_exemplars) == 2
    assert all("ctxscore_score_bucket" in expression for expression in with_exemplars)
