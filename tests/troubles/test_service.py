"""Cases as their users meet them: sent to a running service, and what comes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from otel_ctxscore.testing import Call, ScriptedJudgeServer, verdicts
from tests.exposition import sums
from tests.io.receivers import Received, grpc_receiver
from tests.otlp import rag, request, span
from tests.services import http
from tests.services.process import wait_until
from tests.serving import Serving, lines
from tests.troubles import spans as shorthand

pytestmark = pytest.mark.slow
TRACE = "5b8efff798038103d269b633813fc60c"


class Service:
    """A service with a judge that finds the first context of each run useful, and what it was asked and gave."""

    def __init__(self, serving: Serving, judge: ScriptedJudgeServer, out: Path) -> None:
        self.serving, self.judge, self.out = serving, judge, out

    def send(self, body: bytes) -> Any:
        return json.loads(http.post(f"{self.serving.http}/v1/traces", body))

    def counts(self) -> dict[str, float]:
        return sums(self.serving.get("/metrics"))

    def until(self, name: str, count: float) -> None:
        wait_until(lambda: self.counts().get(f"ctxscore_{name}", 0) >= count, 60, f"{name} of {count}")

    @property
    def evaluated(self) -> list[dict[str, Any]]:
        return lines(self.out)


def judging(call: Call) -> Any:
    asked = str(call.body["messages"])
    return verdicts([place == 0 for place in range(sum(f"[{n}]" in asked for n in range(20)))])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("troubles")
    with ScriptedJudgeServer(answer=judging) as judge:
        llm = {"type": "litellm", "model": "openai/any", "api_base": judge.url, "api_key": "none"}
        sinks = {"jsonl": {"path": str(folder / "out.jsonl")}}
        config = {"judge": llm, "sinks": sinks, "content": {"emit": True}, "scorers": {"context_relevance": None}}
        with Serving(folder / "service", config) as serving:
            yield Service(serving, judge, folder / "out.jsonl")


def turn(trace: int, *documents: str) -> list[dict[str, Any]]:
    """A turn that asks what no other one asks: a judgement that is known already costs no call."""
    return rag(trace, documents, f"question {trace}?")


def of(service: Service, trace_id: str) -> list[dict[str, Any]]:
    return [line for line in service.evaluated if line["trace_id"] == trace_id]


@pytest.mark.trouble("C08")
def test_a_batch_that_is_sent_three_times_is_scored_once(service: Service) -> None:
    body, trace_id, before = request(turn(0x08, "a", "b", "c")), f"{0x08:032x}", service.counts()
    service.send(body)
    service.send(body)
    wait_until(lambda: of(service, trace_id), 30, "the evaluation")
    calls = len(service.judge.calls)
    service.send(body)
    service.until("spans_total:late", before["ctxscore_spans_total:late"] + 2)
    after = service.counts()
    assert after["ctxscore_spans_total:duplicate"] - before["ctxscore_spans_total:duplicate"] == 2
    [line] = of(service, trace_id)
    assert [context["text"] for context in line["retrievals"][0]["contexts"]] == ["a", "b", "c"]
    assert len(service.judge.calls) == calls


@pytest.mark.trouble("C15")
def test_late_spans_open_no_trace_and_ask_no_judge(service: Service) -> None:
    trace_id, before = f"{0x15:032x}", service.counts()
    service.send(request(turn(0x15, "a", "b")))
    wait_until(lambda: of(service, trace_id), 30, "the evaluation")
    calls = len(service.judge.calls)
    late = span(0x15, 9, 1, {"openinference.span.kind": "LLM", "input.value": "?", "output.value": "7443."})
    service.send(request([late]))
    service.until("spans_total:late", before["ctxscore_spans_total:late"] + 1)
    service.send(request(turn(0x16, "a", "b")))  # one that comes after it is done with
    wait_until(lambda: of(service, f"{0x16:032x}"), 30, "the next evaluation")
    assert len(of(service, trace_id)) == 1
    assert len(service.judge.calls) == calls + 1


@pytest.mark.trouble("C30")
def test_bad_ids_cost_no_good_span_of_the_request(service: Service) -> None:
    bad = shorthand.cases()["C30"]["input"]["spans"]
    body = json.loads(shorthand.request([{**one, "attrs": {}} for one in bad]))
    for resource in json.loads(request(turn(0x30, "a", "b")))["resourceSpans"]:
        body["resourceSpans"].append(resource)
    answer = service.send(json.dumps(body).encode())["partialSuccess"]
    assert answer["rejectedSpans"] == "4"
    assert "trace id is all zero" in answer["errorMessage"]
    wait_until(lambda: of(service, f"{0x30:032x}"), 30, "the evaluation of the good trace")


@pytest.mark.trouble("C69")
def test_verdicts_stand_on_the_retrieval_they_are_about(service: Service) -> None:
    case = shorthand.cases()["C69"]["input"]["spans"]
    trace_id = f"{0x69:032x}"
    service.send(shorthand.request([{**one, "trace": trace_id} for one in case]))
    wait_until(lambda: of(service, trace_id), 30, "the evaluation")
    [line] = of(service, trace_id)
    found = {retrieval["span_id"][-2:]: retrieval["contexts"] for retrieval in line["retrievals"]}
    assert [context["text"] for context in found["b2"]] == ["x", "y"]
    assert len(found["b1"]) == 3
    assert [context["useful"] for context in found["b1"]] == [True, False, False]
    precision = {score["retrieval"]: score["value"] for score in line["scores"] if score["name"] == "context_precision"}
    assert precision == {0: 1.0, 1: 0.0}


@pytest.mark.trouble("C67")
def test_six_mebibytes_are_taken_by_default(service: Service) -> None:
    documents = [f"{n} " + "x" * 200_000 for n in range(30)]
    service.send(request(turn(0x67, *documents)))
    wait_until(lambda: of(service, f"{0x67:032x}"), 60, "the evaluation")
    assert service.counts().get("ctxscore_requests_total:too_large") == 0


@pytest.mark.trouble("C10")
def test_what_is_emitted_and_comes_back_is_not_judged(service: Service, tmp_path: Path) -> None:
    """Also where it comes back alone: the spans of an evaluation without those that they are about."""
    with grpc_receiver() as received:
        once = {"otlp": {"endpoint": received.endpoint}}
        with Serving(tmp_path / "emitting", {"sinks": once}) as emitting:
            http.post(f"{emitting.http}/v1/traces", request(turn(0x10, "a", "b")))
            wait_until(lambda: received.traces, 30, "the evaluation spans")
    calls, before = len(service.judge.calls), service.counts()
    _replay(service, received)
    own = service.counts()["ctxscore_spans_total:own"] - before["ctxscore_spans_total:own"]
    assert own == len(received.spans) > 0
    service.send(request(turn(0x11, "a", "b")))
    wait_until(lambda: of(service, f"{0x11:032x}"), 30, "the evaluation after it")
    assert len(service.judge.calls) == calls + 1


def _replay(service: Service, received: Received) -> None:
    for sent in received.traces:
        sent.resource_spans[0].resource.attributes.add(key="of").value.string_value = "a fresh process"
        body = sent.SerializeToString()
        http.post(f"{service.serving.http}/v1/traces", body, "application/x-protobuf")


@pytest.mark.trouble("C28")
def test_five_thousand_services_do_not_become_five_thousand_series(tmp_path: Path) -> None:
    number, cap, forbidden = 5000, 50, {"user", "user_id", "session", "session_id", "query", "trace_id", "id"}
    with Serving(tmp_path / "many", {"metrics": {"max_values": cap}}) as serving:
        for first in range(0, number, 250):
            resources = []
            for n in range(first, first + 250):
                spans = rag(n + 1, ("The ledger listens on port 7443.",), f"question {n}?")
                for key in ("user.id", "session.id"):
                    spans[0]["attributes"].append({"key": key, "value": {"stringValue": f"{key}-{n}"}})
                name = f"svc-{n:04}" + ("x" * 300 if n % 10 == 0 else "")
                resources += json.loads(request(spans, name))["resourceSpans"]
            http.post(f"{serving.http}/v1/traces", json.dumps({"resourceSpans": resources}).encode(), timeout=60)
        done = "ctxscore_traces_total:scored"
        wait_until(lambda: sums(serving.get("/metrics")).get(done, 0) >= number, 240, "all outcomes")
        families = list(text_string_to_metric_families(serving.get("/metrics")))
    services: dict[str, set[str]] = {}
    for family in families:
        for sample in family.samples:
            assert not sample.labels.keys() & forbidden, sample
            assert all(len(value) <= 100 for value in sample.labels.values())
            if "service" in sample.labels:
                services.setdefault(sample.name, set()).add(sample.labels["service"])
    assert services
    assert all(len(found) <= cap + 1 for found in services.values())
    scored = [
        s for f in families for s in f.samples if s.name == "ctxscore_traces_total" and s.labels["outcome"] == "scored"
    ]
    assert sum(sample.value for sample in scored) == number
    other = next(sample.value for sample in scored if sample.labels["service"] == "other")
    assert other == number - cap
