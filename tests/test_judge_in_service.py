"""The service with an LLM judge, as a process: what leaves it, what it needs to start, and what a failure is worth."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from otel_ctxscore.testing import Call, Reply, ScriptedJudgeServer, verdicts
from tests.cli.run import run
from tests.otlp import rag, request
from tests.services.process import wait_until
from tests.serving import Serving, lines

DOCUMENTS = ("The ledger service listens on port 7443.", "The canteen opens at noon.")
NOWHERE = "http://127.0.0.1:9"


def llm(server: ScriptedJudgeServer, **options: Any) -> dict[str, Any]:
    return {"type": "litellm", "model": "openai/my-own-7b", "api_base": server.url, "api_key": "none", **options}


def send(service: Serving, number: int, query: str = "Which port?") -> None:
    body = request(rag(number, DOCUMENTS, query=query))
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{service.http}/v1/traces", body, headers)) as answer:
        assert answer.status == 200


@contextmanager
def receiver() -> Iterator[tuple[str, list[bytes]]]:
    """The URL of a server that takes whatever is posted, and what it got."""
    bodies: list[bytes] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()
        server.server_close()


# ---- C51: keys stay where they are ------------------------------------------------------------------------------

FAULTS: dict[str, Any] = {
    "missing": lambda call: Reply(status=404, content={"message": f"no model at {call.headers}"}),
    "echoed": lambda call: Reply(status=400, content={"message": f"bad: {call.headers} {json.dumps(call.body)}"}),
    "reset": lambda call: Reply(reset=True),
    "forbidden": lambda call: Reply(status=401, content={"message": f"bad key {call.headers.get('authorization')}"}),
}


def fault(call: Call) -> Reply:
    return next((make(call) for name, make in FAULTS.items() if name in call.query), Reply(status=500))


@pytest.mark.slow
@pytest.mark.parametrize("level", ["debug", "info"])
def test_c51_no_secret_leaves_the_process(tmp_path: Path, level: str) -> None:
    found = tmp_path / "evaluations.jsonl"
    with ScriptedJudgeServer(answer=fault) as judge, receiver() as (url, bodies):
        options = {"api_key": "sk-CANARY-0001", "deadline": "2s", "on_outage": "skip"}
        config = {
            "judge": llm(judge, **options, params={"extra_query": {"key": "CANARY-0002"}}),
            "log": {"level": level},
            "sinks": {
                "jsonl": {"path": str(found)},
                "otlp": {
                    "endpoint": url,
                    "protocol": "http/protobuf",
                    "headers": {"authorization": "Bearer CANARY-0004"},
                },
                "webhook": {"url": url, "secret": "CANARY-0005"},
            },
        }
        with Serving(tmp_path / "service", config) as service:
            for number, name in enumerate(FAULTS, 1):
                send(service, number, f"which port is {name}?")
                wait_until(lambda number=number: len(lines(found)) == number or None, 30, f"the evaluation of {name}")  # type: ignore[misc]
            pages = [
                service.get(path) for path in ("/metrics", "/", "/readyz", "/healthz", "/api/v1/alarms", "/api/v1/runs")
            ]
        assert judge.calls
        assert judge.calls[0].headers["authorization"] == "Bearer sk-CANARY-0001"
    written = [found.read_text(), service.log, *pages, *(body.decode("latin-1") for body in bodies)]
    assert bodies
    assert [where for where in written if "CANARY" in where] == []
    reasons = {one["reason"] for one in lines(found)}
    assert reasons <= {"judge_rejected", "judge_unavailable"}


# ---- C75: it starts and scores without a way out ----------------------------------------------------------------

WATCH = """
import os, socket
allowed = ("127.0.0.1", "::1", "localhost", "0.0.0.0", None)
def note(what):
    with open(os.environ["WATCHED"], "a") as file:
        file.write(str(what) + "\\n")
def watched(name):
    real = getattr(socket.socket, name)
    def connect(self, address):
        if isinstance(address, tuple) and address[0] not in allowed:
            note(address)
            raise OSError("no way out")
        return real(self, address)
    setattr(socket.socket, name, connect)
watched("connect")
watched("connect_ex")
resolve = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    if host not in allowed:
        note(host)
        raise socket.gaierror("no way out")
    return resolve(host, *rest, **more)
socket.getaddrinfo = getaddrinfo
note("watching")
"""


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.slow
def test_c75_it_is_soon_ready_asks_nobody_else_and_an_unknown_price_is_not_free(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WATCH)
    asked, found = tmp_path / "asked", tmp_path / "evaluations.jsonl"
    environ = {"PYTHONPATH": str(tmp_path), "WATCHED": str(asked)}
    with ScriptedJudgeServer(answer=lambda call: verdicts([True, False])) as judge:
        config = {"judge": llm(judge), "sinks": {"jsonl": {"path": str(found)}}}
        with Serving(tmp_path / "service", config, environ) as service:
            assert service.process is not None
            assert cpu_seconds(service.process.pid) < 5  # of a core: other work on the machine is not counted
            send(service, 1)
            wait_until(lambda: lines(found) or None, 30, "the evaluation")
            metrics = service.get("/metrics")
    assert set(asked.read_text().split()) == {"watching"}
    [line] = lines(found)
    assert line["outcome"] == "scored"
    assert line["judge"]["cost_usd"] is None
    assert line["judge"]["calls"] == 1
    costs = [text for text in metrics.splitlines() if text.startswith("ctxscore_judge_cost_usd_total{")]
    assert costs == []


# ---- C11: what fails is counted, and stays out of the mean ------------------------------------------------------


@pytest.mark.slow
def test_c11_nine_of_ten_failures_leave_one_score_and_nine_counted(tmp_path: Path) -> None:
    def answer(call: Call) -> Any:
        return verdicts([True, False]) if "number 1?" in call.query else "no idea"

    with ScriptedJudgeServer(answer=answer) as judge, Serving(tmp_path, {"judge": llm(judge)}) as service:
        for number in range(1, 11):
            send(service, number, f"which port has number {number}?")
        counted = 'ctxscore_unscored_total{reason="judge_unreadable",scorer="context_precision",service="shop"} 9.0'
        wait_until(lambda: counted in service.get("/metrics") or None, 60, "nine failures")
        metrics = service.get("/metrics").splitlines()
    precision = [
        line for line in metrics if line.startswith("ctxscore_score_") and 'scorer="context_precision"' in line
    ]
    assert {line.rpartition(" ")[2] for line in precision if line.startswith("ctxscore_score_count")} == {"1.0"}
    assert {line.rpartition(" ")[2] for line in precision if line.startswith("ctxscore_score_sum")} == {"1.0"}
    scores = [line for line in metrics if line.startswith(("ctxscore_score_", "ctxscore_estimator_"))]
    assert not [line for line in scores if line.rpartition(" ")[2].lower() in ("nan", "+inf", "-inf", "inf")]


# ---- C79: a score says who gave it ------------------------------------------------------------------------------


def scored(tmp_path: Path, judge: dict[str, Any]) -> dict[str, Any]:
    """The line of one run under a judge, whose deadline no busy machine can miss."""
    config, runs = tmp_path / "config.yaml", tmp_path / "run.jsonl"
    config.write_text(yaml.safe_dump({"judge": {**judge, "deadline": "1h"}}))
    runs.write_text(json.dumps({"query": "Which port?", "contexts": list(DOCUMENTS), "response": "7443."}))
    ended = run("score", str(runs), "--format", "jsonl", "-c", str(config))
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def versions(line: dict[str, Any]) -> dict[str, str]:
    return {score["name"]: score["version"] for score in line["scores"]}


def test_c79_another_model_or_another_prompt_is_another_version_and_a_fallback_signs_itself(tmp_path: Path) -> None:
    def answer(call: Call) -> Any:
        gone = call.body["model"] == "gone"
        return Reply(status=404, content={"message": "no such model"}) if gone else verdicts([True, False])

    with ScriptedJudgeServer(answer=answer) as server:
        first = scored(tmp_path, llm(server))
        again = scored(tmp_path, llm(server))
        other = scored(tmp_path, llm(server, model="openai/other-7b"))
        worded = scored(tmp_path, llm(server, criterion="useful: only if it names a port"))
        fallen = scored(tmp_path, llm(server, model="openai/gone", fallbacks=["openai/my-own-7b"]))
    assert versions(first) == versions(again)
    for name, version in versions(first).items():
        assert len({version, versions(other)[name], versions(worded)[name]}) == 3
    assert [line["judge"]["model"] for line in (first, other, fallen)] == [
        "openai/my-own-7b",
        "openai/other-7b",
        "openai/my-own-7b",
    ]
    assert versions(fallen) == versions(first)
    assert all(score["scale"] == 1 and score["definition"] for score in first["scores"])


# ---- C57: a scorer stands there once ----------------------------------------------------------------------------


def test_c57_two_scorers_of_one_name_are_refused_by_name(tmp_path: Path) -> None:
    rubric, config, runs = tmp_path / "own.md", tmp_path / "config.yaml", tmp_path / "run.jsonl"
    rubric.write_text("---\nname: context_precision\n---\nIs it good?\n")
    runs.write_text(json.dumps({"query": "Which port?", "contexts": list(DOCUMENTS)}))
    judge = {"type": "litellm", "model": "openai/any", "api_base": NOWHERE, "api_key": "none"}
    config.write_text(yaml.safe_dump({"judge": judge, "scorers": {"rubrics": [str(rubric)]}}))
    for arguments in (["score", str(runs), "-c", str(config)], ["check", str(config)]):
        ended = run(*arguments)
        assert ended.code == 2
        assert "more than one is named context_precision" in ended.err
    config.write_text(yaml.safe_dump({"scorers": {"rubrics": ["faithfulness", "faithfulness"]}}))
    ended = run("check", str(config))
    assert ended.code == 2
    assert "faithfulness stands there more than once" in ended.err
