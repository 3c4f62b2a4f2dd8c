"""Configuration of what comes in: sources, sampling, assembly and extraction."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from otel_ctxscore.config.section import Section, Tls, TokenAuth
from otel_ctxscore.config.values import Address, Broker, Code, Duration, Filled, Pattern, Rate, Secret, Size, Topic


class OtlpReceivers(Section):
    grpc: Address | None = "127.0.0.1:4317"
    """OTLP/gRPC address; null switches it off."""
    http: Address | None = "127.0.0.1:4318"
    """OTLP/HTTP address; null switches it off."""
    max_request_size: Annotated[Size, Field(gt=0)] = 64 << 20
    """Largest request, before and after inflation."""
    tls: Tls | None = None
    """TLS of both receivers."""
    auth: TokenAuth | None = None
    """Bearer token that requests must carry."""


class KafkaSecurity(Section):
    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """How to talk to the brokers."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] | None = None
    """SASL mechanism."""
    username: Filled | None = None
    """SASL user."""
    password: Secret | None = None
    """SASL password."""
    token: Code | None = None
    """Async function that returns a fresh OAuth token and its lifetime in seconds."""
    ca: Path | None = None
    """Authority of the brokers' certificates."""
    cert: Path | None = None
    """Client certificate, PEM."""
    key: Path | None = None
    """Client key, PEM."""

    @model_validator(mode="after")
    def _used(self) -> KafkaSecurity:
        """What would be given and never sent looks safe and is not."""
        if (self.username is None) != (self.password is None):
            raise ValueError("give username and password together")
        credentials = {"mechanism": self.mechanism, "username": self.username, "token": self.token}
        given = [name for name, value in credentials.items() if value is not None]
        if given and not self.protocol.startswith("SASL"):
            raise ValueError(f"{', '.join(given)}: protocol {self.protocol} sends none; set SASL_SSL or SASL_PLAINTEXT")
        if self.token is not None and self.mechanism not in (None, "OAUTHBEARER"):
            raise ValueError(f"token: goes with mechanism OAUTHBEARER, not {self.mechanism}")
        if self.username is not None and self.mechanism == "OAUTHBEARER":
            raise ValueError("username: mechanism OAUTHBEARER takes a token")
        files = [name for name in ("ca", "cert", "key") if getattr(self, name) is not None]
        if files and not self.protocol.endswith("SSL"):
            raise ValueError(f"{', '.join(files)}: protocol {self.protocol} is without TLS; set SSL or SASL_SSL")
        if self.key is not None and self.cert is None:
            raise ValueError("key needs cert")
        return self


class DeadLetter(Section):
    topic: Topic | None = None
    """Topic that takes records which cannot be decoded."""
    file: Path | None = None
    """File that takes them, as JSON lines."""

    @model_validator(mode="after")
    def _one(self) -> DeadLetter:
        if (self.topic is None) == (self.file is None):
            raise ValueError("give either topic or file")
        return self


class KafkaSource(Section):
    brokers: Annotated[list[Broker], Field(min_length=1)]
    """Bootstrap addresses."""
    topics: list[Topic] = ["otlp_spans"]
    """Topics with traces."""
    pattern: Pattern | None = None
    """Regular expression of topics with traces, in place of `topics`."""
    logs_topics: list[Topic] = []
    """Topics with logs that carry message content."""
    group_id: Filled = "otel-ctxscore"
    """Consumer group."""
    encoding: Literal["auto", "otlp_proto", "otlp_json"] = "auto"
    """Encoding of the records; auto finds it for each record."""
    start: Literal["latest", "earliest"] = "latest"
    """Where a new group begins."""
    headers_as_resource: list[str] = []
    """Record headers that become resource attributes `kafka.header.NAME`."""
    max_uncommitted_age: Annotated[Duration, Field(gt=0)] = 900.0
    """Age of the oldest uncommitted record at which the oldest traces are closed."""
    session_timeout: Annotated[Duration, Field(gt=0)] = 10.0
    """Group session timeout."""
    fetch_min_size: Annotated[Size, Field(ge=1, le=1 << 20)] = 64 << 10
    """The brokers answer once so much is there to read."""
    fetch_max_wait: Annotated[Duration, Field(gt=0, le=5)] = 0.5
    """They answer after so long with what is there: longest that a record waits to be read."""
    dead_letter: DeadLetter | None = None
    """Where records go that cannot be decoded; null: they are counted and logged only."""
    security: KafkaSecurity = KafkaSecurity()
    """TLS and SASL."""

    @model_validator(mode="after")
    def _reads(self) -> KafkaSource:
        if not self.topics and self.pattern is None:
            raise ValueError("topics: is empty, and there is no pattern: nothing would be read")
        letters = self.dead_letter.topic if self.dead_letter is not None else None
        of_pattern = self.pattern is not None and letters is not None and re.fullmatch(self.pattern, letters)
        if letters is not None and (of_pattern or letters in (*self.topics, *self.logs_topics)):
            raise ValueError(f"dead_letter.topic: {letters} is read as well: its letters would come back for ever")
        return self


class Sources(Section):
    otlp: OtlpReceivers | None = OtlpReceivers()
    """OTLP receivers; null switches both off."""
    kafka: KafkaSource | None = None
    """Kafka consumer."""


class Match(Section):
    service: str | None = None
    """`service.name`."""
    route: str | None = None
    """`http.route`."""
    attributes: dict[str, str | bool | int | float] = {}
    """Attributes of the judged span or its resource and their values."""
    status: Literal["error", "ok"] | None = None
    """Status of the judged span."""
    min_duration: Duration | None = None
    """The judged span took at least this long."""
    feedback: Literal["negative"] | None = None
    """`negative`: the user's feedback, where a span carries it."""


class SamplingRule(Section):
    name: Filled
    """Name in logs and `check`."""
    match: Match
    """All given conditions must hold."""
    rate: Rate
    """Share of matching runs that is judged."""


class Sampling(Section):
    rate: Rate = 1.0
    """Share of runs that is judged where no rule matches."""
    salt: str = ""
    """Changes which traces are chosen; the same on all replicas."""
    rules: list[SamplingRule] = []
    """First match wins."""

    @model_validator(mode="after")
    def _once(self) -> Sampling:
        names = [rule.name for rule in self.rules]
        doubled = {name for name in names if names.count(name) > 1}
        if doubled:
            raise ValueError(f"rules: more than one is named {', '.join(sorted(doubled))}")
        return self


class Assembly(Section):
    quiet_period: Duration = 10.0
    """Wait after the last span once the root was seen."""
    idle: Duration = 120.0
    """Wait after the last span while the root was not seen."""
    max_age: Annotated[Duration, Field(gt=0)] = 600.0
    """Longest a trace stays open."""
    late_window: Duration = 300.0
    """How long a trace without a judgeable run waits for late spans."""
    max_traces: Annotated[int, Field(ge=1)] = 100_000
    """Traces held at most."""
    max_size: Annotated[Size, Field(gt=0)] = 512 << 20
    """Memory that they take at most."""


class Extraction(Section):
    retrievals: Literal["each", "merge", "last"] = "each"
    """What a precision is about: each retrieval, all merged, or the last one."""
    query_from: Literal["user", "retrieval"] = "user"
    """Judge contexts against the user's query or the retriever's own."""
    min_document_score: float | None = None
    """Leave out documents with a lower retriever score."""
    max_contexts: Annotated[int, Field(ge=1)] | None = None
    """Judge only the first so many of each list."""
    prompt_separator: Annotated[str, Field(min_length=1)] | None = None
    """Separator between contexts that an application joins in its prompt."""
    retrieval_tools: list[Filled] = []
    """Further names of tools whose results are retrieved contexts."""
    mappings: list[dict[str, Any]] = []
    """Dialects declared here, for home-made spans: docs/mapping."""
    extractor: Code | None = None
    """Async function `(query, trace) -> contexts` of your own; wins over conventions and mappings."""
    extractor_deadline: Annotated[Duration, Field(gt=0)] = 10.0
    """Longest that one call of it may take."""
    extractor_concurrency: Annotated[int, Field(ge=1)] = 8
    """Calls of it at the same time."""
