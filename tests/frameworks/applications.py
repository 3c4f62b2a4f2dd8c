"""`python applications.py NAME URL`: run one turn of an application and send its spans to URL by OTLP/HTTP.

Each is written as its framework's users write it, with a fake model, and instrumented by the package that its name says.
Prints the versions that it ran with.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

QUESTION = "How long is the warranty on the Aurora kettle?"
ANSWER = "The warranty on the Aurora kettle is 24 months."
DOCUMENTS = [
    {"id": "doc-warranty", "content": "The warranty on the Aurora kettle is 24 months and covers the heating element."},
    {"id": "doc-returns", "content": "Returns are accepted within 30 days of purchase if the item is unused."},
    {"id": "doc-toaster", "content": "The Solis toaster has six browning levels and a crumb tray."},
]


def _langchain_chain() -> None:
    from langchain_core.documents import Document
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnablePassthrough

    class Documents(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(page_content=d["content"], id=d["id"]) for d in DOCUMENTS]

    def joined(documents: list[Document]) -> str:
        return "\n\n".join(document.page_content for document in documents)

    prompt = ChatPromptTemplate.from_template("Answer from the context.\n{context}\n\nQuestion: {question}")
    steps = {"context": Documents() | joined, "question": RunnablePassthrough()}
    chain = steps | prompt | FakeListChatModel(responses=[ANSWER]) | StrOutputParser()
    chain.invoke(QUESTION)


def _langchain_agent() -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    @tool
    def search_docs(query: str) -> str:
        """Search the product documentation."""
        return json.dumps({"documents": DOCUMENTS})

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    call = {"name": "search_docs", "args": {"query": "Aurora kettle warranty"}, "id": "call-1"}
    model = Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage(ANSWER)]))
    create_agent(model, [search_docs]).invoke({"messages": [{"role": "user", "content": QUESTION}]})


def openinference_langchain(provider: TracerProvider) -> None:
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)
    _langchain_chain()


def traceloop_langchain(provider: TracerProvider) -> None:
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor

    LangchainInstrumentor().instrument(tracer_provider=provider)
    _langchain_chain()


def genai_langchain(provider: TracerProvider) -> None:
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)
    _langchain_agent()


def openinference_llama_index(provider: TracerProvider) -> None:
    from llama_index.core import Settings
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.schema import NodeWithScore, TextNode
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    class Documents(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            nodes = [TextNode(id_=d["id"], text=d["content"]) for d in DOCUMENTS]
            return [NodeWithScore(node=node, score=1 - place / 10) for place, node in enumerate(nodes)]

    class Model(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(model_name="fake")

        def complete(self, prompt: str, formatted: bool = False, **options: Any) -> CompletionResponse:
            return CompletionResponse(text=ANSWER)

        def stream_complete(self, prompt: str, formatted: bool = False, **options: Any) -> Any:
            raise NotImplementedError

    LlamaIndexInstrumentor().instrument(tracer_provider=provider)
    Settings.llm = Model()
    RetrieverQueryEngine.from_args(Documents(), llm=Settings.llm).query(QUESTION)


def _haystack_pipeline() -> None:
    from haystack import Document, Pipeline, component
    from haystack.components.builders import PromptBuilder
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    @component
    class FakeGenerator:
        @component.output_types(replies=list[str])
        def run(self, prompt: str) -> dict[str, list[str]]:
            return {"replies": [ANSWER]}

    globals()["FakeGenerator"] = FakeGenerator  # the instrumentation looks components up in their module
    store = InMemoryDocumentStore()
    store.write_documents([Document(id=d["id"], content=d["content"]) for d in DOCUMENTS])
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
    template = "{% for d in documents %}{{ d.content }}\n{% endfor %}Question: {{ question }}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables="*"))
    pipeline.add_component("generator", FakeGenerator())
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "generator.prompt")
    pipeline.run({"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}})


def haystack(provider: TracerProvider) -> None:
    os.environ["HAYSTACK_CONTENT_TRACING_ENABLED"] = "true"
    from haystack import tracing
    from haystack_integrations.tracing.opentelemetry import OpenTelemetryTracer

    tracing.enable_tracing(OpenTelemetryTracer(provider.get_tracer("haystack")))
    _haystack_pipeline()


def openinference_haystack(provider: TracerProvider) -> None:
    from openinference.instrumentation.haystack import HaystackInstrumentor

    HaystackInstrumentor().instrument(tracer_provider=provider)
    _haystack_pipeline()


def pydantic_ai(provider: TracerProvider) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("search_docs", {"query": "Aurora kettle warranty"})])
        return ModelResponse(parts=[TextPart(ANSWER)])

    Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    agent = Agent(FunctionModel(answer))

    @agent.tool_plain
    def search_docs(query: str) -> list[dict[str, str]]:
        """Search the product documentation."""
        return DOCUMENTS

    agent.run_sync(QUESTION)


APPLICATIONS: dict[str, tuple[Callable[[TracerProvider], None], tuple[str, ...]]] = {
    "openinference_langchain": (openinference_langchain, ("openinference-instrumentation-langchain", "langchain-core")),
    "openinference_llama_index": (
        openinference_llama_index,
        ("openinference-instrumentation-llama-index", "llama-index-core"),
    ),
    "openinference_haystack": (openinference_haystack, ("openinference-instrumentation-haystack", "haystack-ai")),
    "genai_langchain": (genai_langchain, ("opentelemetry-instrumentation-genai-langchain", "langchain")),
    "traceloop_langchain": (traceloop_langchain, ("opentelemetry-instrumentation-langchain", "langchain-core")),
    "haystack": (haystack, ("opentelemetry-haystack", "haystack-ai")),
    "pydantic_ai": (pydantic_ai, ("pydantic-ai-slim",)),
}
"""By name: the application, and the packages whose versions are worth knowing."""


def main(name: str, url: str) -> None:
    """Run the application and flush its spans."""
    application, packages = APPLICATIONS[name]
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces")))
    trace.set_tracer_provider(provider)
    application(provider)
    provider.shutdown()
    print(", ".join(f"{package} {version(package)}" for package in packages))


if __name__ == "__main__":
    main(*sys.argv[1:])
