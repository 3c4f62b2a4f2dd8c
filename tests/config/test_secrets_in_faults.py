"""Whatever is wrong with a configuration, what is said about it holds no secret of it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from otel_ctxscore.config import environment_secrets, load, parse, secrets
from otel_ctxscore.core.errors import ConfigError
from tests.cli.run import run

CANARY = "sk-CANARY-7431"
FAULTS = {
    "a quote that is not closed": 'judge: {type: litellm, model: m, api_key: "sk-CANARY-7431}',
    "a tab": "judge:\n\ttype: litellm\n\tapi_key: sk-CANARY-7431",
    "a key that stands twice": "sinks: {webhook: {url: http://h, secret: sk-CANARY-7431, secret: sk-CANARY-7431}}",
    "a colon in a plain text": "sinks: {webhook: {url: http://h, secret: a: sk-CANARY-7431}}",
    "an alias that is not there": "judge: {api_key: sk-CANARY-7431, model: *m}",
    "a tag": "judge: {api_key: !!python/name:sk-CANARY-7431 x}",
    "a control character": 'judge: {api_key: "sk-CANARY-7431\x07"}',
    "a key of the wrong type": "judge: {type: litellm, model: m, api_key: [sk-CANARY-7431]}",
    "a secret under a wrong name": "judge: {type: litellm, model: m, apikey: sk-CANARY-7431}",
    "a secret where a section is wanted": "judge: sk-CANARY-7431",
    "a secret for the whole": "sk-CANARY-7431",
    "a password in a URL without a scheme": "sinks: {webhook: {url: 'me:sk-CANARY-7431@h/x', secret: s}}",
    "a password in a URL of another scheme": "sinks: {webhook: {url: 'ftp://me:sk-CANARY-7431@h/x', secret: s}}",
    "headers that are a text": "sinks: {otlp: {endpoint: 'http://h', headers: 'authorization: sk-CANARY-7431'}}",
    "a header that is a list": "sinks: {otlp: {endpoint: 'http://h', headers: {authorization: [sk-CANARY-7431]}}}",
    "a mechanism that there is not": "sources: {kafka: {brokers: ['h:1'], security: {mechanism: NONE, username: u, password: sk-CANARY-7431}}}",
    "an option of a parameter": "judge: {type: litellm, model: m, params: [sk-CANARY-7431]}",
    "a duration from a secret": "judge: {type: litellm, model: m, deadline: '${env:MINE}'}",
    "a model from a secret": "judge: {type: '${env:MINE}'}",
    "a rate from a secret": "sampling: {rate: '${env:MINE}'}",
    "a file that is named by a secret": "judge: {type: litellm, model: m, api_key: '${file:/nowhere/${env:MINE}}'}",
}  # fmt: skip


@pytest.mark.parametrize("text", FAULTS.values(), ids=FAULTS.keys())
def test_no_fault_shows_a_secret(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", CANARY)
    file = tmp_path / "config.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        load(file)
    assert raised.value.lines
    assert "CANARY" not in str(raised.value)
    for command in (("check", str(file)), ("serve", "-c", str(file)), ("score", "-c", str(file), "absent")):
        ended = run(*command)
        assert ended.code == 2
        assert "CANARY" not in ended.out + ended.err


def test_a_fault_in_a_file_says_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("a: 1\njudge: {api_key: 'x", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"is not YAML: .*line 2"):
        load(tmp_path / "config.yaml")


def test_what_a_file_says_of_itself_is_not_logged_either(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", CANARY)
    file = tmp_path / "config.yaml"
    file.write_text("judge: {type: litellm, model: m, api_key: '${env:MINE}', max_concurrency: 0}", encoding="utf-8")
    with caplog.at_level(logging.DEBUG), pytest.raises(ConfigError):
        load(file)
    assert "CANARY" not in caplog.text


SASL = {"protocol": "SASL_SSL", "mechanism": "PLAIN", "username": "u", "password": "CANARY-kafka"}
CONFIGURED = {
    "judge": {
        "type": "litellm",
        "model": "m",
        "api_key": "CANARY-key",
        "api_base": "http://me:CANARY-base@h/v1",
        "params": {"extra_headers": {"X-Auth": "Bearer CANARY-header"}, "aws_secret_access_key": "CANARY-aws"},
    },
    "sinks": {
        "otlp": {"endpoint": "http://me:CANARY%2Dendpoint@h:4317", "headers": {"x": "CANARY-otlp"}},
        "webhook": {"url": "https://me:CANARY-url@h/x", "secret": "CANARY-webhook"},
    },
    "sources": {"kafka": {"brokers": ["h:1"], "security": SASL}},
}


def test_every_secret_is_known_to_the_log() -> None:
    names = {"key", "base", "header", "aws", "endpoint", "otlp", "url", "webhook", "kafka"}
    assert {f"CANARY-{name}" for name in names} <= set(secrets(parse(CONFIGURED)))


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("OPENAI_API_KEY", "sk-CANARY-1", ["sk-CANARY-1"]),
        ("AZURE_API_KEY", "CANARY-azure", ["CANARY-azure"]),
        ("AWS_SECRET_ACCESS_KEY", "CANARY-aws", ["CANARY-aws"]),
        ("HF_TOKEN", "hf_CANARY", ["hf_CANARY"]),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20CANARY-2,x=y", ["Bearer CANARY-2", "CANARY-2"]),
        ("HOME", "/home/CANARY", []),
        ("OPENAI_API_KEY", "none", []),
    ],
)
def test_secrets_that_libraries_read_themselves_are_known(name: str, value: str, hidden: list[str]) -> None:
    found = environment_secrets({name: value})
    assert [text for text in hidden if text not in found] == []
    assert bool(found) is bool(hidden)
