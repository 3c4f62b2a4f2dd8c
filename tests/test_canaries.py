"""Nothing that should stay leaves: secrets from every place that has them, and text where `content.emit` is off."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore.testing import Call, Reply, ScriptedJudgeServer
from tests.cli.run import run
from tests.io.receivers import http_receiver
from tests.otlp import rag, request
from tests.services.process import wait_until
from tests.serving import Serving, lines
from tests.test_judge_in_service import receiver, send

PAGES = (
    "/", "/runs", "/documents", "/metrics", "/healthz", "/readyz", "/api/v1/overview", "/api/v1/runs", "/api/v1/documents",
    "/api/v1/alarms", "/api/v1/segments", "/api/v1/export", "/api/v1/export?format=csv",
)  # fmt: skip
ENVIRON = {
    "OPENAI_API_KEY": "sk-CANARY-0001",
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20CANARY-0002,x-tenant=CANARY-0003",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
}
WRONG = (
    b'{"resourceSpans": "CANARY-body"}',
    b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "CANARY-span", "traceId": "none"}]}]}]}',
)
"""A request that is none, and one whose only span is refused."""
LOGIN = "ana:CANARY-0004"


def echo(call: Call) -> Reply | dict[str, Any]:
    """A provider that tells everything that it was sent, once as an error and once in the judge's words."""
    if "error" in call.query:
        return Reply(status=400, content={"message": f"bad: {call.headers} {json.dumps(call.body)}"})
    return {"verdicts": [{"index": n, "useful": True, "relevance": "high", "used": True, "note": "CANARY-note"} for n in range(len(call.contexts))], "missing": ["CANARY-missing"]}  # fmt: skip


def config(folder: Path, judge: str, hook: str, **more: Any) -> dict[str, Any]:
    """Every sink on, and no key in the file that the environment can give."""
    (folder / "login").write_text(LOGIN)
    return {
        "log": {"level": "debug"},
        "judge": {"type": "litellm", "model": "openai/own", "api_base": judge, "deadline": "5s", "on_outage": "skip"},
        "sinks": {
            "jsonl": {"path": str(folder / "evaluations.jsonl")},
            "webhook": {"url": f"{hook.replace('//', '//me:CANARY-0005@')}/hook", "secret": "CANARY-0006"},
        },
        **more,
    }


def told(service: Serving) -> list[str]:
    """What the pages and the API say to whoever may ask."""
    return [service.get(path) for path in PAGES]


def sent(service: Serving, body: bytes) -> int:
    """The status of a request with a header that nobody asked for."""
    headers = {"Content-Type": "application/json", "Authorization": "Bearer CANARY-sender"}
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{service.http}/v1/traces", body, headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


@pytest.mark.slow
@pytest.mark.parametrize("store", ["none", "hash"])
def test_text_and_secrets_stay_where_they_are(tmp_path: Path, store: str) -> None:
    with ScriptedJudgeServer(answer=echo) as judge, receiver() as (hook, posted), http_receiver() as otlp:
        environ = {**ENVIRON, "OTEL_EXPORTER_OTLP_ENDPOINT": otlp.endpoint}
        wanted = config(tmp_path, judge.url, hook, content={"emit": False, "store": store})
        with Serving(tmp_path / "service", wanted, environ) as service:
            for number, query in enumerate(("CANARY-query", "CANARY-query error"), 1):
                send(service, number, query)
            assert [sent(service, body) for body in WRONG] == [400, 200]
            wait_until(lambda: len(lines(tmp_path / "evaluations.jsonl")) == 2 or None, 40, "the evaluations")
            wait_until(lambda: (len(posted) >= 2 and otlp.spans) or None, 40, "what is sent")
            pages = told(service)
            trace = service.get("/api/v1/traces/" + f"{1:032x}")
        assert any(headers.get("authorization") == "Bearer CANARY-0002" for headers in otlp.headers)
        assert judge.calls[0].headers["authorization"] == "Bearer sk-CANARY-0001"
    written = {
        "log": service.log,
        "lines": (tmp_path / "evaluations.jsonl").read_text(),
        "webhook": str(posted),
        "spans": str(otlp.traces),
        "trace": trace,
        **dict(zip(PAGES, pages, strict=True)),
    }
    assert [where for where, text in written.items() if "CANARY" in text] == []
    assert "7443" not in "".join(written.values())  # the documents
    state = b"".join(file.read_bytes() for file in (tmp_path / "service" / "state").rglob("*") if file.is_file())
    assert b"CANARY" not in state


@pytest.mark.slow
def test_a_login_is_in_no_answer_and_no_log(tmp_path: Path) -> None:
    with ScriptedJudgeServer(answer=echo) as judge, receiver() as (hook, _):
        service = Serving(tmp_path / "service", config(tmp_path, judge.url, hook), ENVIRON)
        service.config["admin"]["auth"] = {"basic_file": str(tmp_path / "login")}
        with service:
            assert service.status("/") == 401
            wrong = base64.b64encode(b"ana:CANARY-wrong").decode()
            answers = [asked(service, f"Basic {word}") for word in (wrong, base64.b64encode(LOGIN.encode()).decode())]
        assert [status for status, _ in answers] == [401, 200]
        assert "CANARY" not in "".join(text for _, text in answers) + service.log


def asked(service: Serving, authorization: str) -> tuple[int, str]:
    """Status and text of the overview for somebody who says so."""
    question = urllib.request.Request(f"http://{service.admin}/", headers={"Authorization": authorization})
    try:
        with urllib.request.urlopen(question, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_command_that_judges_shows_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY-0001")
    traces, file = tmp_path / "traces.json", tmp_path / "config.yaml"
    traces.write_bytes(request(rag(1, query="an error")))
    with ScriptedJudgeServer(answer=echo) as judge:
        section = {"type": "litellm", "model": "openai/own", "api_base": judge.url, "deadline": "5s"}
        file.write_text(json.dumps({"judge": section, "log": {"level": "debug"}}))
        ended = [run("score", str(traces), "-c", str(file), *more) for more in ([], ["--format", "jsonl"])]
    assert [one.code for one in ended] == [0, 0], "unscored runs are results too"
    assert "nothing was scored" in ended[0].err
    assert "judge_rejected" in ended[1].out
    assert "CANARY" not in "".join(one.out + one.err for one in ended)
