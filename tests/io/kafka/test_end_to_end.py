"""SDK -> Collector -> Kafka -> the service -> Collector -> file: every run once, in the trace it came from."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.io.kafka.scorer import Scorer
from tests.services.fixtures import StartCollector
from tests.services.kafka import Kafka
from tests.services.process import wait_until

KIND = "openinference.span.kind"
RUNS = 40


def ask(endpoint: str) -> dict[str, str]:
    """Runs of an application with the SDK; the retriever's span id by trace id."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint, insecure=True), schedule_delay_millis=50))
    tracer = provider.get_tracer("shop")
    retrievers = {}
    for number in range(RUNS):
        with tracer.start_as_current_span("chain", attributes={KIND: "CHAIN", "input.value": f"question {number}"}):
            texts = {f"retrieval.documents.{n}.document.content": f"text {n} of {number}" for n in range(3)}
            attributes = {KIND: "RETRIEVER", "input.value": f"question {number}", **texts}
            with tracer.start_as_current_span("retrieve", attributes=attributes) as retriever:
                context = retriever.get_span_context()
                retrievers[f"{context.trace_id:032x}"] = f"{context.span_id:016x}"
    provider.shutdown()
    return retrievers


@pytest.mark.parametrize("encoding", ["otlp_proto", "otlp_json"])
def test_every_run_once_in_the_same_trace(
    encoding: str, kafka: Kafka, start_collector: StartCollector, tmp_path: Path
) -> None:
    topic, scores = kafka.topic(3), kafka.topic(3)
    exporter = {
        "brokers": [kafka.bootstrap],
        "traces": {"topic": topic, "encoding": encoding},
        "partition_traces_by_id": True,
    }
    pipelines = {"traces": {"receivers": ["otlp"], "exporters": ["kafka"]}}
    before = start_collector({"exporters": {"kafka": exporter}, "service": {"pipelines": pipelines}})
    after = start_collector({})
    given = {
        "sources": {"kafka": {"brokers": [kafka.bootstrap], "topics": [topic], "start": "earliest"}},
        "sinks": {
            "otlp": {"endpoint": f"http://{after.grpc}"},
            "kafka": {"brokers": [kafka.bootstrap], "topic": scores},
        },
    }
    with Scorer(tmp_path / "scorer", given) as scorer:
        retrievers = ask(f"http://{before.grpc}")
        spans = after.wait_spans(RUNS)
        counted = wait_until(
            lambda: found if (found := scorer.metrics())["ctxscore_evaluations_total:ok"] == 2 * RUNS else None,
            20,
            "counts",
        )
    assert len(after.spans()) == RUNS
    assert {span["traceId"]: span["parentSpanId"] for span in spans} == retrievers
    assert counted["ctxscore_traces_total:scored"] == RUNS
    assert counted["ctxscore_split_traces_total"] == 0
    records = kafka.read(scores, RUNS)
    assert sorted((record.key or b"").decode() for record in records) == sorted(retrievers)
    assert sum(kafka.end_offsets(scores).values()) == RUNS
