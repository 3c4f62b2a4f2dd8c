"""The alarm in the service as a process: it rises, is acknowledged by the command, survives a restart; reloading."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.run import Ended, run
from tests.otlp import rag, request
from tests.services.process import wait_until
from tests.serving import Serving

CONFIG = {"alarm": {"reference": {"pinned": 0.9}}}
USELESS = ("The canteen opens at noon.", "Shoes are on the third floor.")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path / "service", {**CONFIG, "state": {"path": str(tmp_path / "state")}}) as found:
        yield found


def send(service: Serving, first: int, n: int) -> None:
    """Turns whose retriever finds nothing of use; each asks something else, for a repeated one counts once an hour."""
    spans = [
        span for trace in range(first, first + n) for span in rag(trace, USELESS, f"Which port has ledger {trace}?")
    ]
    body = request(spans)
    post = urllib.request.Request(f"{service.http}/v1/traces", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(post, timeout=10) as answer:
        assert answer.status == 200


def alarms(service: Serving) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(service.get("/api/v1/alarms"))
    return found


def command(service: Serving, *arguments: str) -> Ended:
    return run("alarms", "--url", f"http://{service.admin}", *arguments)


@pytest.mark.slow
def test_an_alarm_rises_is_acknowledged_and_survives_a_restart(service: Serving) -> None:
    send(service, 1, 60)
    wait_until(lambda: bool(alarms(service)["alarms"]), 30, "the alarm to rise")
    (record,) = alarms(service)["alarms"]
    assert (record["service"], record["scorer"], record["reference"]) == ("shop", "context_precision", 0.9)
    assert 'ctxscore_alarm_state{scorer="context_precision",service="shop"' in service.get("/metrics")
    assert "most likely since" in service.get("/")
    listed = command(service)
    assert (listed.code, record["id"] in listed.out, "alarm" in listed.out) == (0, True, True)
    said = command(service, "show", record["id"])
    assert said.code == 0, said.err
    for expected in ("context_precision of shop", "up since", "worst runs since then", "not known: segments: none are"):
        assert expected in said.out, expected

    service.stop()
    service.start()
    (again,) = alarms(service)["alarms"]
    assert again == record
    assert [row["state"] for row in alarms(service)["series"]] == ["alarm"]

    acknowledged = command(service, "ack", record["id"], "--by", "ana")
    assert (acknowledged.code, "acknowledged by ana" in acknowledged.out) == (0, True)
    twice = run("alarms", "ack", record["id"], "--by", "bob", "--url", f"http://{service.admin}")
    assert "was acknowledged by ana" in twice.out
    (row,) = alarms(service)["series"]
    assert (row["state"], row["ratio"]) == ("quiet", 0)
    service.stop(signal.SIGKILL)
    service.start()
    (over,) = alarms(service)["alarms"]
    assert (over["ended_by"], over["acknowledged_by"]) == ("acknowledged", "ana")


def test_the_command_says_what_is_wrong(service: Serving) -> None:
    unknown = command(service, "ack", "nothing")
    assert (unknown.code, unknown.out) == (1, "")
    assert "there is no alarm nothing" in unknown.err
    assert "there is no alarm nothing" in command(service, "show", "nothing").err
    nobody = run("alarms", "--url", "http://127.0.0.1:1")
    assert nobody.code == 1
    assert "does not answer" in nobody.err
    assert "Traceback" not in nobody.err


@pytest.mark.slow
def test_reloading_applies_targets_and_a_bad_file_changes_nothing(service: Serving) -> None:
    send(service, 1, 3)
    wait_until(lambda: "ctxscore_score_count" in service.get("/metrics"), 30, "a score")
    assert "ctxscore_target_ratio" not in service.get("/metrics")
    file = service.folder / "config.yaml"

    def reload(config: dict[str, Any]) -> None:
        file.write_text(yaml.safe_dump(config))
        assert service.process is not None
        os.kill(service.process.pid, signal.SIGHUP)

    reload({**service.config, "targets": [{"target": 0.7}], "log": {"level": "debug"}})
    wait_until(lambda: "ctxscore_target_ratio" in service.get("/metrics"), 10, "the target")
    assert "only a restart applies it: log" in service.log
    reload({**service.config, "targets": [{"target": 7}]})
    wait_until(lambda: "nothing has changed" in service.log, 10, "the refusal")
    assert "targets[0].target" in service.log
    assert 'version="' in next(line for line in service.get("/metrics").splitlines() if "target_ratio{" in line)
    assert any(line.endswith(" 0.7") for line in service.get("/metrics").splitlines() if "target_ratio{" in line)
