"""The one typed model of the configuration: every key, its default, its bounds and what it means.

The JSON schema, the commented reference and the linter of `check` are made from these classes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from otel_ctxscore.config.values import Address, Code, CodeOrPlugin, Duration, Rate, Size, Url


class Section(BaseModel):
    """A part of the configuration. Unknown keys are refused; values do not change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Tls(Section):
    cert: Path
    """Certificate chain, PEM."""
    key: Path
    """Private key, PEM."""
    client_ca: Path | None = None
    """Authority that client certificates must come from; set, it makes them mandatory (mTLS)."""


class ClientTls(Section):
    ca: Path | None = None
    """Authority of the server's certificate; the system's where null."""
    cert: Path | None = None
    """Client certificate, PEM (mTLS)."""
    key: Path | None = None
    """Client key, PEM."""


class TokenAuth(Section):
    token_file: Path
    """File that holds the bearer token; read again when it changes."""


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
    username: str | None = None
    """SASL user."""
    password: SecretStr | None = None
    """SASL password."""
    token: Code | None = None
    """Async function that returns a fresh OAuth token and its lifetime in seconds."""
    ca: Path | None = None
    """Authority of the brokers' certificates."""
    cert: Path | None = None
    """Client certificate, PEM."""
    key: Path | None = None
    """Client key, PEM."""


class DeadLetter(Section):
    topic: str | None = None
    """Topic that takes records which cannot be decoded."""
    file: Path | None = None
    """File that takes them, as JSON lines."""

    @model_validator(mode="after")
    def _one(self) -> DeadLetter:
        if (self.topic is None) == (self.file is None):
            raise ValueError("give either topic or file")
        return self


class KafkaSource(Section):
    brokers: Annotated[list[Address], Field(min_length=1)]
    """Bootstrap addresses."""
    topics: list[str] = ["otlp_spans"]
    """Topics with traces."""
    pattern: str | None = None
    """Regular expression of topics with traces, in place of `topics`."""
    logs_topics: list[str] = []
    """Topics with logs that carry message content."""
    group_id: str = "otel-ctxscore"
    """Consumer group."""
    encoding: Literal["auto", "otlp_proto", "otlp_json"] = "auto"
    """Encoding of the records; auto finds it for each record."""
    start: Literal["latest", "earliest"] = "latest"
    """Where a new group begins."""
    headers_as_resource: list[str] = []
    """Record headers that become resource attributes `kafka.header.NAME`."""
    max_uncommitted_age: Duration = 900.0
    """Age of the oldest uncommitted record at which the oldest traces are closed."""
    session_timeout: Duration = 10.0
    """Group session timeout."""
    dead_letter: DeadLetter | None = None
    """Where records go that cannot be decoded; null: they are counted and logged only."""
    security: KafkaSecurity = KafkaSecurity()
    """TLS and SASL."""


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
    """The user's feedback, where a span carries it."""


class SamplingRule(Section):
    name: str
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


class Budget(Section):
    runs_per_minute: Annotated[float, Field(gt=0)] | None = None
    """Judged runs a minute."""
    tokens_per_day: Annotated[int, Field(gt=0)] | None = None
    """LLM tokens a day (UTC)."""
    usd_per_day: Annotated[float, Field(gt=0)] | None = None
    """LLM price a day (UTC), US dollars."""
    replicas: Annotated[int, Field(ge=1)] = 1
    """Replicas that share the budget on OTLP."""


class Assembly(Section):
    quiet_period: Duration = 10.0
    """Wait after the last span once the root was seen."""
    idle: Duration = 120.0
    """Wait after the last span while the root was not seen."""
    max_age: Duration = 600.0
    """Longest a trace stays open."""
    late_window: Duration = 300.0
    """How long a trace without a judgeable run waits for late spans."""
    max_traces: Annotated[int, Field(ge=1)] = 100_000
    """Traces held at most."""
    max_size: Annotated[Size, Field(gt=0)] = 512 << 20
    """Bytes of spans held at most."""


class Extraction(Section):
    retrievals: Literal["each", "merge", "last"] = "each"
    """What a precision is about: each retrieval, all merged, or the last one."""
    query_from: Literal["user", "retrieval"] = "user"
    """Judge contexts against the user's query or the retriever's own."""
    min_document_score: float | None = None
    """Leave out documents with a lower retriever score."""
    max_contexts: Annotated[int, Field(ge=1)] | None = None
    """Judge only the first so many of each list."""
    prompt_separator: str | None = None
    """Separator between contexts that an application joins in its prompt."""
    retrieval_tools: list[str] = []
    """Further names of tools whose results are retrieved contexts."""
    mappings: list[dict[str, Any]] = []
    """Dialects declared here, for home-made spans: docs/mapping."""
    extractor: Code | None = None
    """Async function `(query, trace) -> contexts` of your own; wins over conventions and mappings."""
    extractor_deadline: Duration = 10.0
    """Longest that one call of it may take."""
    extractor_concurrency: Annotated[int, Field(ge=1)] = 8
    """Calls of it at the same time."""


class LocalJudge(Section):
    type: Literal["local"] = "local"
    """The built-in judge: no key, no network."""
    derive_levels: bool = False
    """Also derive relevance levels from its probabilities (`context_relevance/derived`)."""
    calibration: Path | None = None
    """File written by `calibrate`, from labels of your own."""


class Price(Section):
    input: Annotated[float, Field(ge=0)]
    """US dollars for a million prompt tokens."""
    output: Annotated[float, Field(ge=0)]
    """US dollars for a million completion tokens."""


class LlmJudge(Section):
    type: Literal["litellm"] = "litellm"
    """Any model that litellm reaches."""
    model: Annotated[str, Field(min_length=1)]
    """litellm model name, such as openai/gpt-4.1-mini."""
    api_base: str | None = None
    """Base URL of an OpenAI-compatible server."""
    api_key: SecretStr | None = None
    """Key of the provider; where null litellm reads the provider's own variable."""
    deadline: Annotated[Duration, Field(gt=0)] = 60.0
    """Longest that a run may take, over all tries."""
    max_concurrency: Annotated[int, Field(ge=1)] = 64
    """Calls at the same time, at most; adapts below that."""
    params: dict[str, Any] = {}
    """Further parameters of the call, as litellm takes them."""
    fallbacks: list[str] = []
    """Models to ask, in order, where the first cannot answer."""
    prices: dict[str, Price] = {}
    """Prices by model, over the shipped table."""
    criterion: str | None = None
    """Your own wording of useful and relevant."""
    history: Annotated[int, Field(ge=0)] = 6
    """Earlier messages of the conversation that the judge sees."""
    redact: list[str] = []
    """Regular expressions, or "package:function", applied before text leaves the process."""
    on_outage: Literal["wait", "local", "skip"] = "wait"
    """While the circuit is open: keep runs waiting, use the local judge, or leave them unscored."""
    outage_limit: Duration = 1800.0
    """Longest that a run waits so; after it the run is unscored (`judge_unavailable`)."""
    prompt_tokens: Annotated[int, Field(ge=1000)] = 32_000
    """Tokens that a prompt may take. A longer context is cut, marked and counted; more contexts take several calls."""


class SampledJudge(Section):
    type: Literal["sampled"] = "sampled"
    """The local judge screens every run, the LLM judges a share."""
    local: LocalJudge = LocalJudge()
    """The screening judge."""
    llm: LlmJudge
    """The judge whose scores are published."""
    rate: Rate = 0.05
    """Mean share of runs that the LLM judges."""
    floor: Rate = 0.25
    """Smallest probability, as a share of `rate`."""


class CascadeJudge(Section):
    type: Literal["cascade"] = "cascade"
    """Runs the local judge is unsure of go to the LLM, and a share of the rest."""
    local: LocalJudge = LocalJudge()
    """The first judge."""
    llm: LlmJudge
    """The second judge."""
    band: Literal["auto"] | tuple[Rate, Rate] = "auto"
    """Probabilities between which the local judge is unsure."""
    rate: Rate = 0.05
    """Share of the sure runs that the LLM judges all the same."""


class CrossEncoderJudge(Section):
    type: Literal["cross_encoder"] = "cross_encoder"
    """A cross-encoder exported to ONNX (needs the extra `cross-encoder`)."""
    model: str
    """Folder, or name on the hub."""
    calibration: Path | None = None
    """File written by `calibrate`."""


class CustomJudge(Section):
    type: Literal["custom"] = "custom"
    """A judge of your own."""
    judge: CodeOrPlugin
    """Factory, or the name of an entry point of `otel_ctxscore.judges`; called with `options`."""
    options: dict[str, Any] = {}
    """Its options."""


Judge = Annotated[
    LocalJudge | LlmJudge | SampledJudge | CascadeJudge | CrossEncoderJudge | CustomJudge,
    Field(discriminator="type"),
]


def llm_of(judge: Section) -> LlmJudge | None:
    """The section of the LLM that a judge asks, alone or as one of two."""
    if isinstance(judge, SampledJudge | CascadeJudge):
        return judge.llm
    return judge if isinstance(judge, LlmJudge) else None


class Penalties(Section):
    unused_high: Annotated[float, Field(ge=0)] = 0.1
    """Subtracted for each highly relevant context that was not used."""
    missing_per_item: Annotated[float, Field(ge=0)] = 0.15
    """Subtracted for each missing piece of information."""
    max_missing: Annotated[float, Field(ge=0)] = 0.5
    """Largest sum subtracted for missing pieces."""


class PrecisionScorer(Section):
    scale: Annotated[float, Field(gt=0)] = 1
    """What a perfect list scores."""


class RelevanceScorer(Section):
    scale: Annotated[float, Field(gt=0)] = 1
    """What perfect contexts score."""
    penalties: Penalties = Penalties()
    """What is subtracted for what."""


class Scorers(Section):
    context_precision: PrecisionScorer | None = PrecisionScorer()
    """Average precision of each ranked list; null switches it off."""
    context_relevance: RelevanceScorer | None = RelevanceScorer()
    """Graded relevance of the turn's contexts; null switches it off."""
    rubrics: list[str] = []
    """faithfulness, answer_relevancy, or the path of a Markdown rubric."""

    @model_validator(mode="after")
    def _once(self) -> Scorers:
        doubled = {name for name in self.rubrics if self.rubrics.count(name) > 1}
        if doubled:
            raise ValueError(f"rubrics: {', '.join(sorted(doubled))} stands there more than once")
        return self


class Target(Section):
    service: str = "*"
    """Service, or * for all."""
    scorer: str = "context_precision"
    """Scorer the target is for."""
    target: Rate = 0.8
    """Mean to be kept."""
    bad_below: Rate = 0.5
    """A run with a lower score is bad."""


class Pinned(Section):
    pinned: Rate
    """The reference itself."""


class Alarm(Section):
    reference: Literal["learned"] | Pinned = "learned"
    """What the mean is compared with."""
    margin: Annotated[float, Field(ge=0.001, le=1, strict=True)] = 0.02
    """How far below the reference the mean may lie."""
    false_alarm: Annotated[Duration, Field(gt=0)] = 90 * 86400.0
    """Wanted mean time between false alarms."""


class Metrics(Section):
    max_values: Annotated[int, Field(ge=1)] = 200
    """Values of a label that comes from traffic; the rest is `other`."""


class OtlpSink(Section):
    endpoint: str = "http://127.0.0.1:4317"
    """Where evaluation spans go; without a path, /v1/traces is added for HTTP."""
    protocol: Literal["grpc", "http/protobuf"] = "grpc"
    """Protocol."""
    headers: dict[str, SecretStr] = {}
    """Headers of each request."""
    placement: Literal["child", "linked", "log"] = "child"
    """Child of the judged span, a trace of its own with a link, or a log event."""
    logs: bool = False
    """Also as log events."""
    tls: ClientTls | None = None
    """TLS of the connection."""


class JsonlSink(Section):
    path: Path
    """File that lines are appended to; - is standard output."""


class KafkaSink(Section):
    brokers: Annotated[list[Address], Field(min_length=1)]
    """Bootstrap addresses."""
    topic: str
    """Topic for evaluations, as OTLP, keyed by trace id."""
    security: KafkaSecurity = KafkaSecurity()
    """TLS and SASL."""


class Webhook(Section):
    url: Url
    """Where each evaluation is posted."""
    secret: SecretStr
    """Key of the signature."""


class Sinks(Section):
    otlp: OtlpSink | None = None
    """Evaluation spans; absent, the OTEL_EXPORTER_OTLP_* variables switch it on."""
    jsonl: JsonlSink | None = None
    """JSON lines."""
    kafka: KafkaSink | None = None
    """Kafka."""
    webhook: Webhook | None = None
    """Webhook."""


class State(Section):
    path: Path | None = None
    """Folder of the state file; null: the XDG state folder."""
    max_size: Size = 1 << 30
    """Largest state file."""
    max_age: Duration = 30 * 86400.0
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
    hosts: list[str] = []
    """Further names under which the page is reached (Host check)."""
    trace_url: str | None = None
    """Link to a trace elsewhere: https://.../trace/{trace_id}?uiFind={span_id}"""


class Shutdown(Section):
    grace: Duration = 20.0
    """Longest that a stop may take."""


class Log(Section):
    level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged."""
    format: Literal["text", "json"] = "text"
    """One line of text or one JSON object an event."""


class Config(Section):
    """The whole configuration. `Config()` is what the service runs with where no file is given."""

    sources: Sources = Sources()
    """Where spans come from."""
    sampling: Sampling = Sampling()
    """Which runs are judged."""
    budget: Budget = Budget()
    """How much may be judged."""
    assembly: Assembly = Assembly()
    """When a trace is complete."""
    extraction: Extraction = Extraction()
    """What is read out of a trace."""
    judge: Judge = LocalJudge()
    """Who judges."""
    scorers: Scorers = Scorers()
    """What is scored."""
    targets: list[Target] = []
    """What a service is held to."""
    alarm: Alarm = Alarm()
    """When a drop is an alarm."""
    segments: dict[str, str] = {}
    """Labels from attributes, such as version: service.version."""
    metrics: Metrics = Metrics()
    """Limits of the metrics."""
    sinks: Sinks = Sinks()
    """Where evaluations go."""
    state: State = State()
    """What survives a restart."""
    content: Content = Content()
    """What happens to text."""
    admin: Admin = Admin()
    """Page, API, metrics and health."""
    shutdown: Shutdown = Shutdown()
    """How the service stops."""
    log: Log = Log()
    """What is logged."""
