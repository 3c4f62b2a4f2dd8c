"""The OTLP sink against real receivers."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from pydantic import SecretStr

from otel_ctxscore.config.outlets import OtlpSink as Section
from otel_ctxscore.config.section import ClientTls
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.core.model import Context, Judgement, RagRun, Retrieval, Verdict
from otel_ctxscore.io.otlp_exporters import configured, from_environment, signal_url
from otel_ctxscore.io.otlp_sink import OtlpSink
from otel_ctxscore.ports import DroppedError, Sink, SinkError
from tests.io.evaluations import ANCHOR, FIRST, JUDGED_BY, TRACE, evaluation, failed, named, score
from tests.io.receivers import Received, grpc_receiver, http_receiver
from tests.io.waiting import exporting, until
from tests.services.certificates import Certificates


@pytest.fixture(params=["grpc", "http/protobuf"])
def receiver(request: pytest.FixtureRequest) -> Iterator[tuple[str, Received]]:
    with grpc_receiver() if request.param == "grpc" else http_receiver() as received:
        yield request.param, received


def sink(received: Received, protocol: str = "grpc", **changed: Any) -> OtlpSink:
    section = Section.model_validate({"endpoint": received.endpoint, "protocol": protocol, **changed})
    return OtlpSink.from_config(section, content=False)


async def test_an_evaluation_arrives_in_the_judged_trace(receiver: tuple[str, Received]) -> None:
    protocol, received = receiver
    otlp = sink(received, protocol, headers={"Authorization": SecretStr("Bearer t")})
    assert isinstance(otlp, Sink)
    await otlp.emit(evaluation())
    await otlp.close()
    assert {span.trace_id.hex() for span in received.spans} == {TRACE}
    (first,) = [span for span in received.spans if span.parent_span_id.hex() == FIRST]
    assert [link.span_id.hex() for link in first.links] == [FIRST]
    assert [event.name for event in first.events] == ["gen_ai.evaluation.result"] * 2
    assert received.headers[0]["authorization"] == "Bearer t"
    assert received.logs == []


async def test_over_http_a_bare_endpoint_gets_the_path(receiver: tuple[str, Received]) -> None:
    protocol, received = receiver
    otlp = sink(received, protocol, logs=True)
    await otlp.emit(evaluation())
    await otlp.close()
    assert received.paths == ([] if protocol == "grpc" else ["/v1/traces", "/v1/logs"])
    assert len(received.logs) == 1


@pytest.mark.parametrize(
    ("endpoint", "traces", "logs"),
    [
        ("http://h:4318", "http://h:4318/v1/traces", "http://h:4318/v1/logs"),
        ("http://h:4318/", "http://h:4318/v1/traces", "http://h:4318/v1/logs"),
        ("https://h/otlp/v1/traces", "https://h/otlp/v1/traces", "https://h/otlp/v1/logs"),
        ("https://h/in?key=1", "https://h/in?key=1", "https://h/in?key=1"),
    ],
)
def test_signal_urls(endpoint: str, traces: str, logs: str) -> None:
    assert (signal_url(endpoint, "traces"), signal_url(endpoint, "logs")) == (traces, logs)


async def test_placement_log_sends_log_events_only(receiver: tuple[str, Received]) -> None:
    protocol, received = receiver
    otlp = sink(received, protocol, placement="log")
    await otlp.emit(evaluation())
    await otlp.close()
    assert received.traces == []
    (records,) = [scope.log_records for scope in received.logs[0].resource_logs[0].scope_logs]
    assert {record.event_name for record in records} == {"gen_ai.evaluation.result"}
    assert {record.trace_id.hex() for record in records} == {TRACE}


async def test_a_judge_that_failed_is_told_and_a_run_not_judged_is_not() -> None:
    with grpc_receiver() as received:
        otlp = sink(received)
        await otlp.emit(failed())
        await otlp.emit(evaluation(judgement=None, judged_by=None))
        await otlp.close()
    errors = {a.value.string_value for s in received.spans for e in s.events for a in e.attributes if "error" in a.key}
    assert (len(received.spans), errors) == (3, {"judge_unavailable"})


@pytest.mark.trouble("C70")
async def test_odd_texts_cost_no_other_evaluation_its_delivery() -> None:
    odd = [None, "x" * 200_000, "broken \ud83d end", "nul \0 byte", "normal"]
    with grpc_receiver() as received:
        otlp = sink(received)
        await asyncio.gather(*(otlp.emit(named(f"s{place}", text)) for place, text in enumerate(odd)))
        await otlp.close()
    assert received.span_names == {"s0", "s1", "s2", "s3", "s4"}
    explanations = {
        span.name: a.value.string_value
        for span in received.spans
        for a in span.events[0].attributes
        if a.key == "gen_ai.evaluation.explanation"
    }
    assert explanations["evaluation s2"] == "broken \ufffd end"
    assert explanations["evaluation s3"] == "nul \ufffd byte"
    assert "evaluation s0" not in explanations


async def test_one_that_the_receiver_never_takes_is_given_up_and_the_others_arrive() -> None:
    async def nap(seconds: float) -> None:
        await asyncio.sleep(0)

    with grpc_receiver() as received:
        received.refuse = lambda request: "poison" in str(request)
        exporters = sink(received)._exporters
        otlp = OtlpSink(exporters, sleep=nap)
        bad = asyncio.create_task(otlp.emit(named("poison")))
        await asyncio.gather(*(otlp.emit(named(f"s{n}")) for n in range(20)))
        while not bad.done():
            await otlp.emit(named("more"))
        with pytest.raises(DroppedError):
            await bad
        await otlp.close()
    assert received.span_names == {*(f"s{n}" for n in range(20)), "more"}


async def cut_off() -> tuple[OtlpSink, asyncio.Task[None], int]:
    """A sink, the evaluation that it tries to send, and the port where no receiver is yet."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    otlp = OtlpSink.from_config(Section(endpoint=f"http://127.0.0.1:{port}"), content=False)
    waiting = asyncio.create_task(otlp.emit(named("late")))
    await until(exporting, pause=0.01)
    return otlp, waiting, port


async def test_an_outage_is_waited_out() -> None:
    otlp, waiting, port = await cut_off()
    assert not waiting.done()
    with grpc_receiver(port) as received:
        await waiting
        await otlp.close()
    assert received.span_names == {"late"}


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
async def test_with_a_receiver_that_never_answers_close_ends_with_the_grace(protocol: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        section = Section.model_validate({"endpoint": endpoint, "protocol": protocol})
        otlp = OtlpSink.from_config(section, content=False)
        waiting = asyncio.create_task(otlp.emit(named("lost")))
        await until(exporting, pause=0.01)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await otlp.close()
        assert time.monotonic() - began < 2
        with pytest.raises(SinkError):
            await waiting
        exports = [thread for thread in threading.enumerate() if thread.name == "otel-ctxscore-export"]
        assert all(thread.daemon for thread in exports)
    await until(lambda: not exporting(), pause=0.01)


async def test_a_redirect_is_no_delivery() -> None:
    with http_receiver(status=302) as received:
        otlp = sink(received, "http/protobuf")
        waiting = asyncio.create_task(otlp.emit(named("s")))
        await until(lambda: bool(received.traces) and not exporting(), pause=0.01)
        await asyncio.sleep(0)
        assert not waiting.done()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await otlp.close()
        with pytest.raises(SinkError):
            await waiting


@pytest.mark.parametrize(
    "limit", ["ATTRIBUTE_COUNT", "SPAN_ATTRIBUTE_COUNT", "SPAN_EVENT_COUNT", "LOGRECORD_ATTRIBUTE_COUNT"]
)
async def test_no_limit_of_the_sdk_drops_anything(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred contexts with text and notes, whatever limit the environment sets for applications."""
    monkeypatch.setenv(f"OTEL_{limit}_LIMIT", "1")
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "5")
    contexts = [Context(f"text {number} " + "x" * 500, f"d{number}") for number in range(100)]
    run = RagRun("q?", [Retrieval(contexts, span_id=FIRST)], trace_id=TRACE, span_id=ANCHOR)
    verdicts = [Verdict(0.7, "high", True, note=f"note {number} " + "y" * 200) for number in range(100)]
    judgement = Judgement(verdicts, judged_by=JUDGED_BY)
    with grpc_receiver() as received:
        exporters = configured(Section(endpoint=received.endpoint, logs=True))
        otlp = OtlpSink(exporters, content=True)
        await otlp.emit(evaluation([score("a", retrieval=0), score("b", retrieval=0)], run, judgement=judgement))
        await otlp.close()
    [span] = received.spans
    [[first, second]] = [scope.log_records for scope in received.logs[0].resource_logs[0].scope_logs]
    wanted = {f"ctxscore.verdict.{n}.{part}" for n in range(100) for part in ("text", "note", "useful", "relevance")}
    for attributes in (span.attributes, first.attributes):
        texts = {one.key: one.value.string_value for one in attributes}
        assert wanted <= texts.keys()
        assert texts["ctxscore.verdict.99.note"] == verdicts[99].note
    dropped = (span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count)
    assert (len(span.events), dropped) == (2, (0, 0, 0))
    assert (first.dropped_attributes_count, second.dropped_attributes_count) == (0, 0)


# ---- partial success ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("leaves_out", "dropped"), [(0, 0), (1, 1), (3, 3), (1000, 5)])
async def test_what_the_receiver_leaves_out_is_dropped_and_not_sent_again(
    leaves_out: int, dropped: int, receiver: tuple[str, Received], caplog: pytest.LogCaptureFixture
) -> None:
    protocol, received = receiver
    received.leaves_out = leaves_out
    otlp = sink(received, protocol)
    results = await asyncio.gather(*(otlp.emit(named(f"s{n}")) for n in range(5)), return_exceptions=True)
    await otlp.close()
    assert [type(result) for result in results].count(DroppedError) == dropped
    assert len(received.traces) == 1
    assert ("the receiver left out" in caplog.text) == (leaves_out > 0)


async def test_the_same_of_log_events(receiver: tuple[str, Received]) -> None:
    protocol, received = receiver
    received.leaves_out = 1
    otlp = sink(received, protocol, placement="log")
    with pytest.raises(DroppedError):
        await otlp.emit(named("s"))
    await otlp.close()
    assert len(received.logs) == 1


async def test_the_same_where_the_standard_variables_switch_it_on(
    receiver: tuple[str, Received], monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol, received = receiver
    received.leaves_out = 1
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": received.endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    otlp = OtlpSink.from_environment(environ, content=False)
    assert otlp is not None
    with pytest.raises(DroppedError):
        await otlp.emit(named("s"))
    await otlp.close()


async def test_what_is_left_out_is_heard_after_an_outage_too() -> None:
    otlp, waiting, port = await cut_off()
    with grpc_receiver(port) as received:
        received.leaves_out = 1
        with pytest.raises(DroppedError):
            await waiting
        await otlp.close()


# ---- the standard variables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("environ", [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4317", "OTEL_SDK_DISABLED": "true"}])
def test_without_an_endpoint_the_variables_switch_nothing_on(environ: dict[str, str]) -> None:
    assert OtlpSink.from_environment(environ, content=False) is None


async def test_the_standard_variables_switch_the_sink_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with http_receiver() as received:
        environ = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": received.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=abc",
        }
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        otlp = OtlpSink.from_environment(environ, content=False)
        assert otlp is not None
        await otlp.emit(named("s"))
        await otlp.close()
    assert received.paths == ["/v1/traces"]
    assert received.headers[0]["x-key"] == "abc"


@pytest.mark.parametrize(("port", "module"), [(4317, "grpc"), (4318, "http"), (9999, "grpc")])
def test_without_a_protocol_the_port_tells(port: int, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{port}"}
    exporters = from_environment(environ)
    assert exporters is not None
    assert exporters.spans is not None
    assert f".{module}." in type(exporters.spans).__module__
    exporters.spans.shutdown()


def test_an_unknown_protocol_is_one_clear_line() -> None:
    with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_PROTOCOL: zipkin"):
        from_environment({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h", "OTEL_EXPORTER_OTLP_PROTOCOL": "zipkin"})


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_a_missing_certificate_is_one_clear_line(protocol: str, tmp_path: Path) -> None:
    section = Section.model_validate(
        {"endpoint": "https://h:4317", "protocol": protocol, "tls": ClientTls(ca=tmp_path / "no.pem")}
    )
    with pytest.raises(ConfigError, match=r"sinks\.otlp\.tls: .*no\.pem"):
        OtlpSink.from_config(section, content=False)


async def test_tls_with_a_client_certificate(certificates: Certificates) -> None:
    key, cert, ca = (path.read_bytes() for path in (certificates.key, certificates.cert, certificates.ca))
    server = grpc.ssl_server_credentials([(key, cert)], root_certificates=ca, require_client_auth=True)
    tls = ClientTls(ca=certificates.ca, cert=certificates.client_cert, key=certificates.client_key)
    with grpc_receiver(credentials=server) as received:
        endpoint = received.endpoint.replace("http://127.0.0.1", "https://localhost")
        otlp = OtlpSink.from_config(Section(endpoint=endpoint, tls=tls), content=False)
        await otlp.emit(named("s"))
        await otlp.close()
    assert received.span_names == {"s"}
