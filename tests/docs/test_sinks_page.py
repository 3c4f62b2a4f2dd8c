"""docs/sinks.md is true: its sink, against a server that answers as Langfuse's public API does."""

from __future__ import annotations

import asyncio
import importlib
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from otel_ctxscore import DroppedError, Evaluation, Poster, Sink, SinkError
from otel_ctxscore.core.outcomes import Reason
from tests.io.evaluations import ANCHOR, FIRST, RUN, SCORES, SECOND, TRACE, evaluation, failed, score
from tests.otlp import rag, request
from tests.pages import blocks, install
from tests.services import http
from tests.services.process import wait_until
from tests.serving import Serving

PAGE = "sinks.md"
KEYS = {"public_key": "pk-lf-1", "secret_key": "sk-lf-sesame"}
SCORE_FIELDS = {"id", "traceId", "observationId", "name", "value", "dataType", "comment", "metadata"}
Answer = Callable[[list[dict[str, Any]]], web.Response]


def multi_status(events: list[dict[str, Any]], refused: dict[str, int]) -> web.Response:
    """207, as the ingestion endpoint answers: each event stands among the successes or the errors."""
    status = {event["id"]: refused.get(event["body"]["name"], 201) for event in events}
    errors = [{"id": known, "status": code, "message": "no"} for known, code in status.items() if code >= 400]
    taken = [{"id": known, "status": code} for known, code in status.items() if code < 400]
    return web.json_response({"successes": taken, "errors": errors}, status=207)


class Langfuse:
    """Keeps scores by their id, as the server does. `answers` are given first, one a request; then all is taken."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[list[dict[str, Any]]] = []
        self.scores: dict[str, dict[str, Any]] = {}
        self.pauses: list[float] = []
        self.host = ""

    async def ingest(self, request: web.Request) -> web.Response:
        login = b64encode(f"{KEYS['public_key']}:{KEYS['secret_key']}".encode()).decode()
        if request.headers["Authorization"] != f"Basic {login}":
            return web.json_response({"message": "no"}, status=401)
        events = (await request.json())["batch"]
        self.requests.append(events)
        answer = self.answers.pop(0)(events) if self.answers else multi_status(events, {})
        if answer.status == 207:
            assert isinstance(answer.body, bytes)
            taken = {success["id"] for success in json.loads(answer.body)["successes"]}
            self.scores |= {event["body"]["id"]: event["body"] for event in events if event["id"] in taken}
        return answer

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)


@asynccontextmanager
async def langfuse(*answers: Answer) -> AsyncIterator[Langfuse]:
    server = Langfuse(*answers)
    app = web.Application()
    app.router.add_post("/api/public/ingestion", server.ingest)
    async with TestServer(app) as running:
        server.host = str(running.make_url("/"))
        yield server


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(install(PAGE, tmp_path / "site")))
    return importlib.import_module("langfuse_sink")


async def emitted(module: Any, server: Langfuse, *evaluations: Evaluation, keys: dict[str, str] = KEYS) -> None:
    sink = module.LangfuseScores(server.host, **keys)
    sink._poster = Poster(sink.name, sleep=server.sleep)
    assert isinstance(sink, Sink)
    try:
        for one in evaluations:
            await sink.emit(one)
    finally:
        await sink.close()


async def test_each_score_stands_on_what_was_judged(module: Any) -> None:
    async with langfuse() as server:
        await emitted(module, server, evaluation())
    ((*events,),) = server.requests
    assert {event["type"] for event in events} == {"score-create"}
    found = [(body["observationId"], body["name"], body["value"]) for body in server.scores.values()]
    assert found == [
        (FIRST, "context_precision", 1.0),
        (FIRST, "hit_rate", 1.0),
        (SECOND, "context_precision", 0.5),
        (SECOND, "hit_rate", 1.0),
    ]
    for body in server.scores.values():
        assert set(body) == SCORE_FIELDS
        assert (body["traceId"], body["dataType"], body["metadata"]["weight"]) == (TRACE, "NUMERIC", 4.0)


async def test_a_score_of_the_run_stands_on_its_anchor(module: Any) -> None:
    async with langfuse() as server:
        await emitted(module, server, evaluation([score("context_relevance", 0.0)]))
    ((event,),) = server.requests
    assert (event["body"]["observationId"], event["body"]["value"]) == (ANCHOR, 0.0)


async def test_unscored_is_no_number_and_no_request(module: Any) -> None:
    async with langfuse() as server:
        await emitted(
            module, server, failed(), evaluation([score("context_relevance", None, unscored=Reason.NO_RESPONSE)])
        )
    assert server.requests == []


async def test_the_same_again_is_the_same_score_at_the_same_time(module: Any) -> None:
    run = replace(RUN, end_ns=1_760_000_000_000_000_000)
    again = evaluation(run=replace(run, redelivered=True), started_ns=7_000, ended_ns=8_000)
    async with langfuse() as server:
        await emitted(module, server, evaluation(run=run), again)
    first, second = server.requests
    assert first == second
    assert len(server.scores) == len([one for one in SCORES if one.value is not None])
    assert {event["timestamp"] for event in first} == {"2025-10-09T08:53:20+00:00"}


async def test_a_rate_limit_is_waited_for_as_long_as_it_says(module: Any) -> None:
    limit = {"Retry-After": "7"}
    async with langfuse(lambda events: web.Response(status=429, headers=limit)) as server:
        await emitted(module, server, evaluation())
    assert (server.pauses, len(server.requests), len(server.scores)) == ([7], 2, 4)


async def test_a_passing_fault_is_tried_again(module: Any) -> None:
    faults: list[Answer] = [
        lambda events: web.Response(status=503),
        lambda events: multi_status(events, {"hit_rate": 500}),
        lambda events: multi_status(events, {"hit_rate": 429, "context_precision": 400}),
    ]
    async with langfuse(*faults) as server:
        await emitted(module, server, evaluation())
    assert (len(server.pauses), len(server.requests), len(server.scores)) == (3, 4, 4)


async def test_one_that_is_refused_is_named_and_costs_no_other(module: Any) -> None:
    async with langfuse(lambda events: multi_status(events, {"hit_rate": 400})) as server:
        with pytest.raises(DroppedError, match="hit_rate-0: no"):
            await emitted(module, server, evaluation())
    assert {body["name"] for body in server.scores.values()} == {"context_precision"}
    assert server.pauses == []


async def test_a_wrong_key_is_final(module: Any) -> None:
    async with langfuse() as server:
        with pytest.raises(SinkError, match="the langfuse answered 401"):
            await emitted(module, server, evaluation(), keys={**KEYS, "secret_key": "another"})


@pytest.mark.slow
async def test_serve_sends_scores_and_tells_no_secret(module: Any, tmp_path: Path) -> None:
    site = Path(module.__file__).parent
    environ = {
        "PYTHONPATH": str(site),
        "LANGFUSE_PUBLIC_KEY": KEYS["public_key"],
        "LANGFUSE_SECRET_KEY": KEYS["secret_key"],
    }
    limit = {"Retry-After": "0"}
    async with langfuse(lambda events: web.Response(status=429, headers=limit)) as server:
        config = yaml.safe_load(blocks(PAGE, "yaml")[0])
        config["sinks"]["custom"][0]["options"]["host"] = server.host
        await asyncio.to_thread(_served, tmp_path, {**config, "log": {"level": "debug"}}, environ)
    assert len(server.requests) == 2
    assert {(body["traceId"], body["observationId"]) for body in server.scores.values()} == {(f"{1:032x}", f"{2:016x}")}
    assert "7443" not in json.dumps(server.requests)


def _served(folder: Path, config: dict[str, Any], environ: dict[str, str]) -> None:
    with Serving(folder, config, environ) as service:
        http.post(
            f"{service.http}/v1/traces", request(rag(documents=["The ledger listens on port 7443.", "Lunch at noon."]))
        )
        wait_until(lambda: 'result="ok",sink="langfuse"} 1.0' in service.get("/metrics") or None, 20, "a score")
    assert KEYS["secret_key"] not in service.log
    assert "langfuse: answered 429; trying again" in service.log
