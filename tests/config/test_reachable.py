"""Settings that could be read and would fail only once the service runs are refused when they are read."""

from __future__ import annotations

import pytest
import yaml

from otel_ctxscore.config import parse
from otel_ctxscore.core.errors import ConfigError

KAFKA = "sources: {kafka: {brokers: ['h:9092'], %s}}"
SECURITY = "sinks: {kafka: {brokers: ['h:9092'], topic: t, security: {%s}}}"
OTLP = "sinks: {otlp: {%s}}"
LLM = "judge: {type: litellm, model: openai/x, %s}"

REFUSED = {
    # addresses and URLs
    OTLP % "endpoint: 'ftp://h:4317'": "sinks.otlp: endpoint: is no URL",
    OTLP % "endpoint: 'h'": "sinks.otlp: endpoint: is no address",
    OTLP % "endpoint: ''": "sinks.otlp: endpoint: is no address",
    OTLP % "endpoint: 'unix:'": "sinks.otlp: endpoint: is no address",
    OTLP % "endpoint: 'h:0'": "sinks.otlp: endpoint: has port 0",
    OTLP % "endpoint: 'http://h:99999'": "sinks.otlp: endpoint: is no URL",
    OTLP % "endpoint: 'http://h:4318/v1/traces'": "sinks.otlp: endpoint: has a path",
    OTLP % "endpoint: 'h:4318', protocol: http/protobuf": "sinks.otlp: endpoint: is no URL",
    OTLP % "endpoint: 'http://h:4317', tls: {}": "sinks.otlp: endpoint: begins with http://, and tls needs https://",
    OTLP % "endpoint: 'https://h:1', tls: {key: k}": "sinks.otlp.tls: key needs cert",
    OTLP % "endpoint: 'https://h:1', tls: {cert: c}": "sinks.otlp: tls: with gRPC, cert needs key",
    OTLP % "headers: {'x y': a}": "sinks.otlp.headers.x y",
    OTLP % 'headers: {x: "a\\n"}': "sinks.otlp.headers.x: holds a line break",
    "sinks: {webhook: {url: 'https://h:70000/', secret: s}}": "sinks.webhook.url: is no URL",
    "sinks: {webhook: {url: 'https://h h/', secret: s}}": "sinks.webhook.url: is no URL",
    "sinks: {webhook: {url: 'https://h/', secret: ''}}": "sinks.webhook.secret: is empty",
    LLM % "api_base: 'h:8000/v1'": "judge.api_base: is no URL",
    "admin: {listen: 'http://127.0.0.1:9464'}": "admin.listen: is no address",
    "admin: {listen: '127.0.0.1:４'}": "admin.listen: is no address",
    "admin: {hosts: ['https://h']}": "admin.hosts[0]: is no name of a host",
    "admin: {hosts: ['']}": "admin.hosts[0]: is no name of a host",
    "admin: {listen: '127.0.0.1:4317'}": "sources.otlp.grpc: 127.0.0.1:4317 is taken by admin.listen",
    "sources: {otlp: {http: '0.0.0.0:4317'}}": "sources.otlp.http: 0.0.0.0:4317 is taken by sources.otlp.grpc",
    # Kafka
    KAFKA.replace("h:9092", "kafka://h:9092") % "": "sources.kafka.brokers[0]: is no address",
    KAFKA.replace("h:9092", "h:0") % "": "sources.kafka.brokers[0]: has port 0",
    KAFKA % "topics: []": "sources.kafka: topics: is empty, and there is no pattern",
    KAFKA % "topics: ['']": "sources.kafka.topics[0]: is no name of a topic",
    KAFKA % "topics: ['a b']": "sources.kafka.topics[0]: is no name of a topic",
    KAFKA % "logs_topics: ['..']": "sources.kafka.logs_topics[0]: is no name of a topic",
    KAFKA % "pattern: '['": "sources.kafka.pattern: is no regular expression",
    KAFKA % "pattern: ''": "sources.kafka.pattern: is empty",
    KAFKA % "group_id: ' '": "sources.kafka.group_id: is empty",
    KAFKA % "dead_letter: {topic: ''}": "sources.kafka.dead_letter.topic: is no name of a topic",
    KAFKA % "dead_letter: {topic: otlp_spans}": "sources.kafka: dead_letter.topic: otlp_spans is read as well",
    KAFKA % "pattern: 'otlp_.*', dead_letter: {topic: otlp_bad}": "sources.kafka: dead_letter.topic: otlp_bad is read",
    KAFKA % "session_timeout: 0s": "sources.kafka.session_timeout: input should be greater than 0",
    KAFKA % "max_uncommitted_age: 0s": "sources.kafka.max_uncommitted_age: input should be greater than 0",
    SECURITY.replace("topic: t", "topic: ''") % "": "sinks.kafka.topic: is no name of a topic",
    SECURITY % "protocol: SASL_SSL, mechanism: PLAIN, password: p": "sinks.kafka.security: give username and password",
    SECURITY % "protocol: SASL_SSL, mechanism: PLAIN, username: u": "sinks.kafka.security: give username and password",
    SECURITY % "protocol: SASL_SSL, mechanism: PLAIN, username: '', password: p": "sinks.kafka.security.username: is em",
    SECURITY % "username: u, password: p": "sinks.kafka.security: username: protocol PLAINTEXT sends none",
    SECURITY % "protocol: SSL, mechanism: PLAIN": "sinks.kafka.security: mechanism: protocol SSL sends none",
    SECURITY % "protocol: SASL_SSL, mechanism: PLAIN, token: 'a:b'": "sinks.kafka.security: token: goes with mechanism",
    SECURITY % "ca: f": "sinks.kafka.security: ca: protocol PLAINTEXT is without TLS",
    SECURITY % "protocol: SSL, key: f": "sinks.kafka.security: key needs cert",
    # durations, sizes, numbers and names
    "assembly: {max_age: 0s}": "assembly.max_age: input should be greater than 0",
    "extraction: {extractor_deadline: 0s}": "extraction.extractor_deadline: input should be greater than 0",
    "extraction: {prompt_separator: ''}": "extraction.prompt_separator: string should have at least 1 character",
    "extraction: {min_document_score: .nan}": "extraction.min_document_score: input should be a finite number",
    "extraction: {retrieval_tools: ['']}": "extraction.retrieval_tools[0]: is empty",
    "state: {max_size: 1KiB}": "state.max_size: input should be greater than or equal to 1048576",
    "state: {max_age: 0s}": "state.max_age: input should be greater than 0",
    "budget: {usd_per_day: .inf}": "budget.usd_per_day: input should be a finite number",
    "segments: {version: ''}": "segments.version: is empty",
    "sampling: {rules: [{name: '', match: {}, rate: 1}]}": "sampling.rules[0].name: is empty",
    LLM % "fallbacks: ['']": "judge.fallbacks[0]: is empty",
    LLM % "api_key: ''": "judge.api_key: is empty",
    "judge: {type: cascade, llm: {model: openai/x}, band: [0.8, 0.2]}": "judge: band: the lower probability stands first",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_would_fail_later_is_one_line_now(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(yaml.safe_load(text), environ={})
    [line] = raised.value.lines
    assert line.startswith(REFUSED[text])


@pytest.mark.parametrize(
    "text",
    [
        OTLP % "endpoint: 'collector:4317'",
        OTLP % "endpoint: 'https://collector', tls: {ca: f, cert: f, key: f}",
        OTLP % "endpoint: 'http://collector:4317/'",
        OTLP % "endpoint: 'unix:///run/otlp.sock'",
        OTLP % "endpoint: 'http://h/otlp/v1/traces', protocol: http/protobuf, headers: {x-key: 'Basic a='}",
        OTLP % "endpoint: 'http://[::1]:4317'",
        "admin: {listen: '[::1]:9464', hosts: [scores.example.org, 'scores.example.org:443', '[::1]']}",
        "admin: {listen: '127.0.0.1:0'}\nsources: {otlp: {grpc: '127.0.0.1:0', http: '127.0.0.1:0'}}",
        "admin: {listen: '127.0.0.2:4317'}",
        KAFKA % "topics: [], pattern: 'traces[.]', dead_letter: {topic: letters}",
        SECURITY % "protocol: SASL_SSL, mechanism: SCRAM-SHA-512, username: u, password: p, ca: f, cert: f",
        SECURITY % "protocol: SASL_PLAINTEXT, mechanism: OAUTHBEARER, token: 'package:function'",
        "judge: {type: cascade, llm: {model: openai/x, api_base: 'http://127.0.0.1:8000/v1'}, band: [0.2, 0.2]}",
        "assembly: {quiet_period: 0s, idle: 0s, late_window: 0s}\nshutdown: {grace: 0s}",
    ],
)
def test_what_can_work_is_taken(text: str) -> None:
    parse(yaml.safe_load(text), environ={})
