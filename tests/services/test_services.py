"""Each server really starts and does what the project's tests want of it."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaError
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.trace import Span, Tracer, format_trace_id, set_span_in_context
from playwright.sync_api import Page
from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from tests.services import config as configuration
from tests.services import http
from tests.services.alertmanager import Alertmanager
from tests.services.certificates import Certificates
from tests.services.chromium import Chromium
from tests.services.errors import ServiceError
from tests.services.fixtures import StartCollector, StartKafka, StartPrometheus, Tool
from tests.services.jaeger import Jaeger
from tests.services.kafka import PASSWORD, USER, Kafka, Record, unsigned_token
from tests.services.kafka.client import opened
from tests.services.otelcol import Collector, validate
from tests.services.process import HOST, wait_until

RULES = """
groups:
  - name: tests
    rules:
      - {record: "tests:mean", expr: "tests_score_sum / tests_score_count"}
      - {alert: TestsAlarm, expr: "tests_alarm_ratio >= 1", labels: {severity: page}}
"""
RULES_TEST = """
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series: [{series: 'tests_alarm_ratio{service="shop"}', values: "0 0 2"}]
    alert_rule_test:
      - {eval_time: 2m, alertname: TestsAlarm, exp_alerts: [{exp_labels: {severity: page, service: shop}}]}
"""


def tracer_to(exporter: SpanExporter) -> Tracer:
    provider = TracerProvider(resource=Resource({"service.name": "shop"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider.get_tracer("tests")


def send_pair(exporter: SpanExporter) -> str:
    """A span and its child; their trace id."""
    tracer = tracer_to(exporter)
    with tracer.start_as_current_span("answer") as parent, tracer.start_as_current_span("retrieve"):
        return trace_id_of(parent)


def trace_id_of(span: Span) -> str:
    return format_trace_id(span.get_span_context().trace_id)


def grpc(endpoint: str) -> SpanExporter:
    return GrpcExporter(endpoint=endpoint, insecure=True, timeout=10)


def through_kafka(kafka: Kafka, proto: str, as_json: str) -> dict[str, Any]:
    """OTLP into Kafka in both encodings, and back from Kafka into the file."""
    brokers = {"brokers": [kafka.bootstrap]}
    to_proto = {**brokers, "partition_traces_by_id": True, "traces": {"topic": proto, "encoding": "otlp_proto"}}
    to_json = {**brokers, "traces": {"topic": as_json, "encoding": "otlp_json"}}
    source = {"topics": [proto], "encoding": "otlp_proto"}
    return {
        "receivers": {"kafka": {**brokers, "group_id": proto, "initial_offset": "earliest", "traces": source}},
        "exporters": {"kafka/proto": {**to_proto, "producer": {"compression": "zstd"}}, "kafka/json": to_json},
        "service": {
            "pipelines": {
                "traces/in": {"receivers": ["otlp"], "exporters": ["kafka/proto", "kafka/json"]},
                "traces/back": {"receivers": ["kafka"], "exporters": ["file"]},
            }
        },
    }


def test_collector_writes_what_both_otlp_ports_get(collector: Collector) -> None:
    over_grpc = send_pair(grpc(collector.grpc))
    over_http = send_pair(HttpExporter(endpoint=f"{collector.http}/v1/traces"))
    spans = collector.wait_spans(4)
    assert {span["traceId"] for span in spans} == {over_grpc, over_http}
    assert sorted(span["name"] for span in spans) == ["answer", "answer", "retrieve", "retrieve"]


def test_collector_validates(collector: Collector, tmp_path: Path) -> None:
    assert validate(collector.write_config()).ok
    wrong = configuration.merged(collector.config, {"receivers": {"otlp": {"protocol": {}}}})
    check = validate(configuration.write(tmp_path / "wrong.yaml", wrong))
    assert not check.ok
    assert "protocol" in check.output


def test_collector_through_kafka_to_file(kafka: Kafka, start_collector: StartCollector) -> None:
    proto, as_json = kafka.topic(4, "spans"), kafka.topic(1, "spans-json")
    collector = start_collector(through_kafka(kafka, proto, as_json))
    trace_id = send_pair(grpc(collector.grpc))
    assert {span["traceId"] for span in collector.wait_spans(2)} == {trace_id}

    records = kafka.read(proto, 2)  # the exporter of the test sends each span by itself
    assert {record.key for record in records} == {trace_id.encode()}
    assert all(ExportTraceServiceRequest.FromString(record.value or b"").resource_spans for record in records)
    assert "resourceSpans" in json.loads(kafka.read(as_json, 1)[0].value or b"")


def test_kafka_groups_and_offsets(kafka: Kafka) -> None:
    topic = kafka.topic(3)
    with pytest.raises(ServiceError, match="was not created"):
        kafka.create_topic(topic)
    kafka.send(topic, [Record(b"1", b"key", (("h", b"v"),), partition=2), Record(None, b"key", partition=2)])
    assert kafka.end_offsets(topic) == {0: 0, 1: 0, 2: 2}
    assert kafka.read(topic, 2)[0] == Record(b"1", b"key", (("h", b"v"),), partition=2)
    asyncio.run(consume(topic, 2, group_id=topic, bootstrap_servers=kafka.bootstrap))
    assert kafka.committed(topic)[topic, 2] == 2
    with pytest.raises(ServiceError, match="2 of 3 records"):
        kafka.read(topic, 3, timeout=1)


async def consume(topic: str, count: int, **options: Any) -> list[Any]:
    """Read from the start and commit; `options` are those of the consumer."""
    async with opened(AIOKafkaConsumer(topic, auto_offset_reset="earliest", **options)) as consumer:
        messages = [await asyncio.wait_for(consumer.getone(), 20) for _ in range(count)]
        if options.get("group_id"):
            await consumer.commit()
    return messages


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_kafka_logins(kafka: Kafka, mechanism: str) -> None:
    topic = kafka.topic()
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism, "sasl_plain_username": USER}
    kafka.send(topic, [Record(b"1")])
    options = {**login, "sasl_plain_password": PASSWORD, "bootstrap_servers": kafka.sasl_bootstrap}
    assert asyncio.run(consume(topic, 1, **options))[0].value == b"1"
    with pytest.raises(KafkaError):
        asyncio.run(consume(topic, 1, **{**options, "sasl_plain_password": "wrong"}))


def test_kafka_token_login(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [Record(b"1")])
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
    options = {**login, "bootstrap_servers": kafka.sasl_bootstrap, "sasl_oauth_token_provider": token_provider()}
    assert asyncio.run(consume(topic, 1, **options))[0].value == b"1"


def test_kafka_with_tls(kafka: Kafka, certificates: Certificates) -> None:
    topic = kafka.topic()
    kafka.send(topic, [Record(b"1")])
    context = ssl.create_default_context(cafile=certificates.ca)
    context.load_cert_chain(certificates.client_cert, certificates.client_key)
    login = {"sasl_mechanism": "PLAIN", "sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
    options = {"security_protocol": "SASL_SSL", "ssl_context": context, "bootstrap_servers": kafka.tls_bootstrap}
    assert asyncio.run(consume(topic, 1, **login, **options))[0].value == b"1"


def test_kafka_with_tls_and_no_login(certificates: Certificates, tmp_path: Path) -> None:
    broker = Kafka(tmp_path, certificates=certificates)
    assert set(broker.endpoints()) == {"plaintext", "ssl"}
    with pytest.raises(ValueError, match="without users"):
        assert broker.sasl_bootstrap


def token_provider() -> Any:
    """The client wants an object of a subclass of its own class, which has no types."""

    async def token(_: object) -> str:
        return unsigned_token("anyone")

    return type("Tokens", (AbstractTokenProvider,), {"token": token})()


def test_kafka_keeps_data_over_stop_and_crash(start_kafka: StartKafka) -> None:
    kafka = start_kafka()
    topic = kafka.topic(2)
    kafka.send(topic, [Record(b"1")])
    kafka.restart()
    kafka.send(topic, [Record(b"2")])
    kafka.kill()
    assert not kafka.running
    kafka.start()
    assert sorted(record.value or b"" for record in kafka.read(topic, 2)) == [b"1", b"2"]


def test_jaeger_has_the_trace_and_a_late_child(jaeger: Jaeger) -> None:
    tracer = tracer_to(grpc(jaeger.grpc))
    with tracer.start_as_current_span("answer") as parent:
        pass
    trace_id = trace_id_of(parent)
    assert jaeger.trace(trace_id)["spans"][0]["operationName"] == "answer"
    with pytest.raises(ServiceError, match="2 spans"):
        jaeger.trace(trace_id, spans=2, timeout=0.3)
    send_child(HttpExporter(endpoint=f"{jaeger.http}/v1/traces"), parent)
    assert len(jaeger.trace(trace_id, spans=2)["spans"]) == 2
    assert "shop" in jaeger.services()


def send_child(exporter: SpanExporter, parent: Span) -> None:
    tracer_to(exporter).start_span("evaluate", context=set_span_in_context(parent)).end()


@pytest.fixture
def exposed() -> Iterator[str]:
    """HOST:PORT of an OpenMetrics page with a histogram that has an exemplar, and a gauge that alarms."""
    registry = CollectorRegistry()
    score = Histogram("tests_score", "A score.", ["service"], registry=registry, buckets=(0.5, 1))
    score.labels("shop").observe(0.4, {"trace_id": "ab" * 16})
    Gauge("tests_alarm_ratio", "An alarm.", ["service"], registry=registry).labels("shop").set(2)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE_LATEST)
            self.end_headers()
            self.wfile.write(generate_latest(registry))  # type: ignore[no-untyped-call]

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"{HOST}:{server.server_port}"
        server.shutdown()


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A file with a recording and an alerting rule; beside it their test."""
    (tmp_path / "rules_test.yml").write_text(RULES_TEST)
    (tmp_path / "rules.yml").write_text(RULES)
    return tmp_path / "rules.yml"


def test_prometheus_scrapes_records_and_alarms(
    exposed: str, rules: Path, start_prometheus: StartPrometheus, alertmanager: Alertmanager
) -> None:
    prometheus = start_prometheus([exposed], [rules], alertmanager.address)
    exemplar = wait_until(lambda: prometheus.exemplars("tests_score_bucket"), 20, "exemplar")[0]
    assert (exemplar["labels"], exemplar["value"]) == ({"trace_id": "ab" * 16}, "0.4")
    recorded = wait_until(lambda: prometheus.query("tests:mean"), 20, "recorded series")
    assert recorded[0]["value"][1] == "0.4"
    labels = [alert["labels"] for alert in wait_until(alertmanager.alerts, 20, "alert")]
    assert [(one["alertname"], one["severity"], one["service"]) for one in labels] == [("TestsAlarm", "page", "shop")]
    assert prometheus.alerts()[0]["state"] == "firing"


def test_prometheus_reloads(rules: Path, start_prometheus: StartPrometheus) -> None:
    prometheus = start_prometheus(rules=[rules])
    rules.write_text(RULES.replace("TestsAlarm", "OtherAlarm"))
    prometheus.reload()
    names = [rule["name"] for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert names == ["tests:mean", "OtherAlarm"]
    rules.write_text("groups: 1")
    with pytest.raises(OSError, match="500"):
        prometheus.reload()


def test_promtool_and_amtool(rules: Path, promtool: Tool, amtool: Tool, tmp_path: Path) -> None:
    assert promtool("check", "rules", rules).ok
    assert promtool("test", "rules", rules.with_name("rules_test.yml")).ok
    assert not promtool("check", "rules", _file(tmp_path, "groups: 1")).ok
    assert amtool("check-config", _file(tmp_path, "{route: {receiver: r}, receivers: [{name: r}]}")).ok
    assert not amtool("check-config", _file(tmp_path, "{route: {receiver: other}, receivers: [{name: r}]}")).ok


def _file(folder: Path, text: str) -> Path:
    path = folder / "file.yml"
    path.write_text(text)
    return path


def test_chromium_renders_and_runs_script(page: Page, chromium: Chromium, collector: Collector) -> None:
    page.set_content("<p id=p>0</p><script>p.textContent = String(6 * 7)</script>")
    assert page.inner_text("#p") == "42"
    answer = page.goto(f"{collector.http}/v1/traces")  # a real server; it wants a POST
    assert answer is not None
    assert answer.status == 405
    assert page.screenshot().startswith(b"\x89PNG")
    assert chromium.path.exists()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_command_line_starts_and_stops(alertmanager: Alertmanager, end: signal.Signals) -> None:
    del alertmanager  # only so that it is installed
    command = [sys.executable, "-m", "tests.services", "start", "alertmanager"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = next(line.split()[2] for line in process.stdout if " url " in line)
            assert http.answers(f"{url}/-/ready")
            next(line for line in process.stdout if line.startswith("Ctrl-C"))
            process.send_signal(end)
            assert process.wait(20) == 0
        finally:
            process.kill()
    with pytest.raises(OSError, match="refused"):
        http.answers(f"{url}/-/ready")
