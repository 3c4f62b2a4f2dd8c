"""Boards, rules and alerts on a real Prometheus that scrapes two replicas, with Alertmanager behind it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.dashboards.boards import BOARDS, expressions, label_values
from tests.dashboards.traffic import Replica
from tests.services.alertmanager import Alertmanager
from tests.services.fixtures import need
from tests.services.process import wait_until
from tests.services.prometheus import Prometheus
from tests.tools.prometheus_rules.replicas import exposed, quick_rules, wait_for_scrapes
from tools.prometheus_rules import recording_groups, segment_groups
from tools.prometheus_rules.series import WINDOWS

FIRING = {"CtxscoreAlarm", "CtxscoreBelowTarget", "CtxscoreLabelCap"}
"""What the traffic of the replicas must set off, among others."""


@pytest.fixture(scope="module")
def alertmanager(services_folder: Path) -> Iterator[Alertmanager]:
    need("alertmanager")
    with Alertmanager(services_folder / "boards-alertmanager") as alertmanager:
        yield alertmanager


@pytest.fixture(scope="module")
def prometheus(services_folder: Path, alertmanager: Alertmanager) -> Iterator[Prometheus]:
    need("prometheus")
    folder = services_folder / "boards"
    folder.mkdir()
    replicas = [Replica(1), Replica(2)]
    rules = quick_rules(folder, wait="0s")
    with (
        exposed(*(replica.metrics for replica in replicas)) as addresses,
        Prometheus(folder / "prometheus", addresses, rules, alertmanager.address) as prometheus,
    ):
        wait_for_scrapes(prometheus, 2)
        for replica in replicas:
            replica.run()
        for window in WINDOWS:
            for last in ("psi", "segment_estimate_upper"):  # twice: then the evaluation that had it is over
                seen = f"count_over_time(ctxscore:{last}:{window}[1m]) >= 2"
                wait_until(partial(prometheus.query, seen), 60, seen)
        for alert in FIRING:
            seen = f'ALERTS{{alertname="{alert}", alertstate="firing"}}'
            wait_until(partial(prometheus.query, seen), 30, seen)
        yield prometheus


@pytest.mark.parametrize("board", BOARDS)
def test_every_panel_shows_something(prometheus: Prometheus, board: str) -> None:
    empty = [title for title, expression in expressions(BOARDS[board]) if not prometheus.query(expression)]
    assert not empty


@pytest.mark.parametrize("board", BOARDS)
def test_every_variable_has_values(prometheus: Prometheus, board: str) -> None:
    for name, selector, label in label_values(BOARDS[board]):
        values = {one["metric"].get(label) for one in prometheus.query(selector)}
        assert values - {None}, name


def test_every_rule_is_evaluated_without_error(prometheus: Prometheus) -> None:
    rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert not [(rule["name"], rule["lastError"]) for rule in rules if rule["health"] != "ok"]
    recorded = {one["metric"]["__name__"] for one in prometheus.query('{__name__=~"ctxscore:.+"}')}
    assert {rule.name for group in (*recording_groups(), *segment_groups()) for rule in group.rules} == recorded


def test_the_first_failure_after_a_start_is_seen(prometheus: Prometheus) -> None:
    failed = 'sum(increase(ctxscore_judge_calls_total{result="judge_unavailable"}[5m]))'
    (seen,) = prometheus.query(failed)
    assert 1.5 < float(seen["value"][1]) < 4  # one of each replica; the extrapolation to the window adds a part


def test_an_exemplar_gives_the_trace(prometheus: Prometheus) -> None:
    exemplars = prometheus.exemplars("ctxscore_score_bucket")
    assert exemplars
    assert all(len(one["labels"]["trace_id"]) == 32 and one["labels"]["span_id"] == "ab" * 8 for one in exemplars)


def test_alertmanager_hears_the_alarm_and_every_text_is_filled_in(
    prometheus: Prometheus, alertmanager: Alertmanager
) -> None:
    def alarm() -> list[dict[str, object]]:
        return [one for one in alertmanager.alerts() if one["labels"]["alertname"] == "CtxscoreAlarm"]

    (heard,) = wait_until(alarm, 30, "the alarm at Alertmanager")
    labels = {"alertname": "CtxscoreAlarm", "severity": "page", "service": "shop", "scorer": "context_precision"}
    assert heard["labels"] == {**labels, "version": "v1"}
    firing = [one for one in prometheus.alerts() if one["state"] == "firing"]
    texts = [text for one in firing for text in one["annotations"].values()]
    assert {one["labels"]["alertname"] for one in firing} >= {
        "CtxscoreAlarm",
        "CtxscoreBelowTarget",
        "CtxscoreLabelCap",
    }
    assert not [text for text in texts if "error" in text or "{{" in text or "<no value>" in text]
