"""An instrumented application, the real Collector, the service as a process, and a real Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from tests.services.fixtures import StartCollector, StartPrometheus
from tests.services.process import wait_until
from tests.serving import Serving

PASSAGES = [
    "The ledger service listens on port 7443.",
    "The canteen opens at noon.",
    "Backups of the warehouse run at night.",
]


class Passages(BaseRetriever):  # type: ignore[misc]
    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(page_content=text, id=f"doc-{n}") for n, text in enumerate(PASSAGES)]


def ask(exporter: SpanExporter, question: str = "Which port does the ledger service listen on?") -> None:
    """One turn of an application that is instrumented with openinference-instrumentation-langchain."""
    provider = TracerProvider(resource=Resource.create({"service.name": "langchain-app"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        joined = RunnableLambda(lambda documents: "\n".join(d.page_content for d in documents))
        prompt = ChatPromptTemplate.from_template("Context: {context}\nQuestion: {question}")
        model = FakeListChatModel(responses=["It listens on port 7443."])
        chain = {"context": Passages() | joined, "question": RunnablePassthrough()} | prompt | model
        chain.invoke(question)
    finally:
        instrumentor.uninstrument()
        provider.shutdown()


@pytest.fixture
def receiving(start_collector: StartCollector) -> Any:
    """A Collector that stands behind the service and writes what it gets."""
    return start_collector({})


@pytest.fixture
def serving(tmp_path: Path, receiving: Any) -> Iterator[Serving]:
    config = {"sinks": {"otlp": {"endpoint": f"http://{receiving.grpc}"}}}
    with Serving(tmp_path / "service", config) as service:
        yield service


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values()), None) for one in span.get("attributes", ())}


def is_evaluation(span: dict[str, Any]) -> bool:
    return bool(attributes(span).get("gen_ai.operation.name") == "evaluation")


def forwarding(start_collector: StartCollector, serving: Serving, receiving: Any, protocol: str) -> Any:
    """A Collector between application and service; it also sends the application's spans to the receiving one."""
    kind, endpoint = ("otlp_grpc", serving.grpc) if protocol == "grpc" else ("otlp_http", serving.http)
    exporters = {
        f"{kind}/service": {"endpoint": endpoint, "tls": {"insecure": True}},
        "otlp_grpc/store": {"endpoint": receiving.grpc, "tls": {"insecure": True}},
    }
    pipelines = {"traces": {"receivers": ["otlp"], "exporters": list(exporters)}}
    return start_collector({"exporters": exporters, "service": {"pipelines": pipelines}})


@pytest.mark.parametrize("way", ["grpc", "http", "collector, grpc", "collector, http"])
def test_evaluation_spans_arrive_in_the_trace_of_the_application(
    way: str, serving: Serving, receiving: Any, start_collector: StartCollector
) -> None:
    through, _, protocol = way.rpartition(", ")
    middle = forwarding(start_collector, serving, receiving, protocol) if through else None
    grpc, http = (middle.grpc, middle.http) if middle else (serving.grpc, serving.http)
    exporter: SpanExporter = (
        GrpcExporter(endpoint=grpc, insecure=True) if protocol == "grpc" else HttpExporter(endpoint=f"{http}/v1/traces")
    )
    ask(exporter)
    [evaluation] = wait_until(
        lambda: [s for s in receiving.spans() if is_evaluation(s)] or None, 20, "an evaluation span"
    )
    [link] = evaluation["links"]
    assert (link["traceId"], link["spanId"]) == (evaluation["traceId"], evaluation["parentSpanId"])
    events = {
        attributes(event)["gen_ai.evaluation.name"]: attributes(event)
        for event in evaluation["events"]
        if event["name"] == "gen_ai.evaluation.result"
    }
    assert events["context_precision"]["gen_ai.evaluation.score.value"] == 1
    assert events["share_useful"]["ctxscore.tier"] == "local"
    if middle:
        judged = [s for s in receiving.spans() if s["spanId"] == link["spanId"] and not is_evaluation(s)]
        assert [attributes(span)["openinference.span.kind"] for span in judged] == ["RETRIEVER"]
        assert judged[0]["traceId"] == evaluation["traceId"]


def test_prometheus_scrapes_the_histogram_and_gives_the_exemplar(
    serving: Serving, receiving: Any, start_prometheus: StartPrometheus
) -> None:
    ask(GrpcExporter(endpoint=serving.grpc, insecure=True))
    [evaluation] = wait_until(
        lambda: [s for s in receiving.spans() if is_evaluation(s)] or None, 20, "an evaluation span"
    )
    prometheus = start_prometheus([serving.admin])
    found = 'ctxscore_score_count{service="langchain-app", scorer="context_precision"}'
    [sample] = wait_until(lambda: prometheus.query(found), 20, "the histogram in Prometheus")
    assert sample["metric"]["tier"] == "local"
    assert sample["value"][1] == "1"
    selector = 'ctxscore_score_bucket{scorer="context_precision"}'
    exemplars = wait_until(lambda: prometheus.exemplars(selector), 20, "the exemplar in Prometheus")
    assert {one["labels"]["trace_id"] for one in exemplars} == {evaluation["traceId"]}
    assert {one["labels"]["span_id"] for one in exemplars} == {evaluation["parentSpanId"]}


@pytest.mark.slow
def test_it_serves_without_any_configuration_and_ends_when_told(tmp_path: Path) -> None:
    with Serving(tmp_path, {}) as service:
        assert [service.status(path) for path in ("/healthz", "/readyz", "/metrics", "/")] == [200] * 4
        assert "ctxscore_open_traces 0.0" in service.get("/metrics")
        ask(HttpExporter(endpoint=f"{service.http}/v1/traces"))
        wait_until(
            lambda: 'outcome="scored",service="langchain-app"} 1.0' in service.get("/metrics") or None, 20, "a score"
        )
    assert "Traceback" not in service.log
