"""Configuration of what leaves and is kept: sinks, metrics, state, content and the admin address."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from otel_ctxscore.config.intake import KafkaSecurity
from otel_ctxscore.config.section import ClientTls, Section, Tls
from otel_ctxscore.config.values import (
    Address,
    Broker,
    CodeOrPlugin,
    Duration,
    Header,
    HeaderValue,
    Host,
    Options,
    Secret,
    Size,
    Topic,
    TraceUrl,
    Url,
    otlp_endpoint,
)


class Metrics(Section):
    max_values: Annotated[int, Field(ge=1)] = 200
    """Values of a label that comes from traffic; the rest is `other`."""


class OtlpSink(Section):
    endpoint: str = "http://127.0.0.1:4317"
    """Where evaluation spans go; without a path, /v1/traces is added for HTTP."""
    protocol: Literal["grpc", "http/protobuf"] = "grpc"
    """Protocol."""
    headers: dict[Header, HeaderValue] = {}
    """Headers of each request."""
    placement: Literal["child", "linked", "log"] = "child"
    """Child of the judged span, a trace of its own with a link, or a log event."""
    logs: bool = False
    """Also as log events."""
    tls: ClientTls | None = None
    """TLS of the connection."""

    @model_validator(mode="after")
    def _reachable(self) -> OtlpSink:
        try:
            otlp_endpoint(self.endpoint, self.protocol)
        except ValueError as error:
            raise ValueError(f"endpoint: {error}") from None
        if self.tls is not None and self.endpoint.startswith("http://"):
            raise ValueError("endpoint: begins with http://, and tls needs https://")
        if self.tls is not None and self.protocol == "grpc" and self.tls.cert is not None and self.tls.key is None:
            raise ValueError("tls: with gRPC, cert needs key")
        return self


class JsonlSink(Section):
    path: Path
    """File that lines are appended to; - is standard output."""


class KafkaSink(Section):
    brokers: Annotated[list[Broker], Field(min_length=1)]
    """Bootstrap addresses."""
    topic: Topic
    """Topic for evaluations, as OTLP, keyed by trace id."""
    security: KafkaSecurity = KafkaSecurity()
    """TLS and SASL."""


class Webhook(Section):
    url: Url
    """Where each evaluation is posted."""
    secret: Secret
    """Key of the signature."""


class CustomSink(Section):
    sink: CodeOrPlugin
    """Factory, or the name of an entry point of `otel_ctxscore.sinks`; called with `options`."""
    options: Options = {}
    """Its options."""


class Sinks(Section):
    otlp: OtlpSink | None = None
    """Evaluation spans; absent, the OTEL_EXPORTER_OTLP_* variables switch it on."""
    jsonl: JsonlSink | None = None
    """JSON lines."""
    kafka: KafkaSink | None = None
    """Kafka."""
    webhook: Webhook | None = None
    """Webhook."""
    custom: list[CustomSink] = []
    """Sinks of your own: docs/sinks."""


class State(Section):
    path: Path | None = None
    """Folder of the state file; null: the XDG state folder."""
    max_size: Annotated[Size, Field(ge=1 << 20)] = 1 << 30
    """Largest state file."""
    max_age: Annotated[Duration, Field(gt=0)] = 30 * 86400.0
    """How long outcomes and runs are kept."""


class Content(Section):
    emit: bool = False
    """Let text of queries, documents, answers and notes leave by sinks."""
    store: Literal["text", "hash", "none"] = "text"
    """What the state file keeps of it."""
    max_age: Duration = 86400.0
    """How long it keeps it."""


class AdminAuth(Section):
    token_file: Path | None = None
    """File that holds a bearer token."""
    basic_file: Path | None = None
    """File that holds user:password."""
    protect_metrics: bool = False
    """Ask for a login on /metrics, /healthz and /readyz too."""

    @model_validator(mode="after")
    def _one(self) -> AdminAuth:
        if (self.token_file is None) == (self.basic_file is None):
            raise ValueError("give either token_file or basic_file")
        return self


class Admin(Section):
    listen: Address = "127.0.0.1:9464"
    """Address of the page, the API, /metrics, /healthz and /readyz."""
    tls: Tls | None = None
    """TLS of that address."""
    auth: AdminAuth | None = None
    """Login; needed on other addresses than loopback."""
    insecure: bool = False
    """Allow another address without a login."""
    hosts: list[Host] = []
    """Further names under which the page is reached (Host check)."""
    trace_url: TraceUrl | None = None
    """Link to a trace elsewhere: https://.../trace/{trace_id}?uiFind={span_id}"""
