from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from otel_ctxscore.config import Config, load, masked, parse, reference, schema
from otel_ctxscore.config.load import MAX_BYTES
from otel_ctxscore.config.values import duration_text, seconds, size, size_text
from otel_ctxscore.core.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("sampling: {rate: 1.5}", ["sampling.rate: input should be less than or equal to 1 (given: 1.5)"]),
        ('sampling: {rate: "10%"}', ["sampling.rate: input should be a valid number (given: '10%')"]),
        ("scorers: {context_precison: {}}", ["scorers.context_precison: unknown key; did you mean context_precision?"]),
        ("judge: {typ: local}", ["judge.typ: unknown key; did you mean type?"]),
        ("judge: {model: x}", ["judge.type: is missing; one of: local, litellm, sampled, cascade, cross_encoder, custom"]),
        ('judge: {type: litellm, model: ""}', ["judge.model: is empty (given: '')"]),
        (
            'judge: {type: litellm, model: m, deadline: "-1s"}',
            [
                "judge.deadline: is no duration; write a number and a unit, such as 500ms, 10s, 2m, 1h or 30d"
                " (given: '-1s')"
            ],
        ),
        ("sources: {kafka: {brokers: []}}", ["sources.kafka.brokers: list should have at least 1 item after validation, not 0 (given: [])"]),
        ("judge: {type: litellm, model: m, api_key: '${env:ABSENT}'}", ["judge.api_key: the environment variable ABSENT is not set"]),
        ("judge: {type: litellm, model: m, api_key: '${OPENAI_API_KEY}'}", ["judge.api_key: ${OPENAI_API_KEY} stands for nothing; write ${env:OPENAI_API_KEY}"]),
        ("admin: {auth: {}}", ["admin.auth: give either token_file or basic_file"]),
        ("scorers: {rubrics: [faithfulness, faithfulness]}", ["scorers: rubrics: faithfulness stands there more than once"]),
        ("sampling: {rules: [{name: a, match: {}, rate: 1}, {name: a, match: {}, rate: 0.5}]}", ["sampling: rules: more than one is named a"]),
        ("sinks: {webhook: {url: 'ftp://h/x', secret: s}}", ["sinks.webhook.url: is no URL; write http://... or https://... (given: 'ftp://h/x')"]),
        ("sinks: {webhook: {url: 'https:///x', secret: s}}", ["sinks.webhook.url: is no URL; write http://... or https://... (given: 'https:///x')"]),
        ("admin: {trace_url: 'javascript:alert(1)//{trace_id}'}", ["admin.trace_url: is no URL; write http://... or https://... (given: 'javascript:alert(1)//{trace_id}')"]),
        ("admin: {trace_url: 'https://h/trace/{id}'}", ["admin.trace_url: has no {trace_id}: every link would lead to the same place (given: 'https://h/trace/{id}')"]),
        ("assembly: {max_size: 0MiB}", ["assembly.max_size: input should be greater than 0 (given: '0MiB')"]),
        (
            "sources: {kafka: {brokers: ['h:1'], fetch_min_size: 2MiB, fetch_max_wait: 1m}}",
            ["sources.kafka.fetch_min_size: input should be less than or equal to 1048576 (given: '2MiB')", "sources.kafka.fetch_max_wait: input should be less than or equal to 5 (given: '1m')"],
        ),
        ("sources: {otlp: {max_request_size: 0B}}", ["sources.otlp.max_request_size: input should be greater than 0 (given: '0B')"]),
        ("[1]", ["the configuration is a mapping of sections, not a list"]),
        ("sampling: {rules: [{name: a, match: {serice: b}, rate: 1}]}", ["sampling.rules[0].match.serice: unknown key; did you mean service?"]),
    ],
)  # fmt: skip
@pytest.mark.trouble("C82")
def test_each_fault_is_one_line_with_its_path(text: str, lines: list[str]) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(yaml.safe_load(text), environ={})
    assert list(raised.value.lines) == lines


def test_a_near_word_is_offered_for_a_choice() -> None:
    with pytest.raises(ConfigError, match="did you mean otlp_proto"):
        parse({"sources": {"kafka": {"brokers": ["h:1"], "encoding": "otlp_porto"}}})


def test_secrets_are_in_no_error_and_no_dump() -> None:
    with pytest.raises(ConfigError) as raised:
        parse({"judge": {"type": "litellm", "model": "m", "api_key": ["sk-CANARY"], "max_concurrency": 0}})
    assert "CANARY" not in str(raised.value)
    config = parse({"judge": {"type": "litellm", "model": "m", "api_key": "sk-CANARY"}})
    assert "CANARY" not in f"{config!r} {masked(config)}"


def test_the_effective_configuration_is_one_that_can_be_read_and_holds_no_secret() -> None:
    assert parse(masked(Config()), environ={}) == Config()
    raw = {
        "judge": {"type": "litellm", "model": "openai/x", "params": {"extra_headers": {"x-key": "CANARY-000001"}}},
        "sinks": {"webhook": {"url": "https://user:CANARY-000002@h/x", "secret": "CANARY-000003"}},
        "sources": {"otlp": {"max_request_size": "3MiB"}},
        "assembly": {"idle": "90s"},
    }
    shown = masked(parse(raw, environ={}))
    assert "CANARY" not in str(shown)
    assert shown["sinks"]["webhook"]["url"] == "https://user:***@h/x"
    assert (shown["sources"]["otlp"]["max_request_size"], shown["assembly"]["idle"]) == ("3MiB", "90s")
    assert parse(shown, environ={}).assembly == parse(raw, environ={}).assembly


def test_references_are_read_from_environment_and_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-1\n")
    raw = {"judge": {"type": "litellm", "model": "${env:MODEL}", "api_key": f"${{file:{tmp_path / 'key'}}}"}}
    config = parse(raw, environ={"MODEL": "openai/x"})
    assert config.judge.type == "litellm"
    assert config.judge.model == "openai/x"
    assert config.judge.api_key is not None
    assert config.judge.api_key.get_secret_value() == "sk-1"


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("a: [")
    for path in (tmp_path / "c.yaml", tmp_path / "absent.yaml"):
        with pytest.raises(ConfigError) as raised:
            load(path)
        assert len(raised.value.lines) == 1
        assert str(path) in str(raised.value)


def test_the_reference_is_the_defaults_and_the_schema_takes_it() -> None:
    written = yaml.safe_load(reference())
    assert parse(written) == Config() == load(None)
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(written, schema())


@pytest.mark.parametrize("text", ["500ms", "10s", "2m", "1h", "30d"])
def test_durations_are_written_as_they_are_read(text: str) -> None:
    assert duration_text(seconds(text)) == text


@pytest.mark.parametrize("text", ["1B", "64MiB", "1GiB", "3KiB"])
def test_sizes_are_written_as_they_are_read(text: str) -> None:
    assert size_text(size(text)) == text


@pytest.mark.parametrize("value", ["10", "s", "1w", "", 10, True, None])
def test_a_duration_needs_its_unit(value: object) -> None:
    with pytest.raises(ValueError, match="no duration"):
        seconds(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [("sampling: {rate: 0.1, rate: 0.9}", "the key rate stands more than once"), ("x: &a [*a]", "itself")],
)
def test_what_yaml_would_pass_over_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        load(tmp_path / "c.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: " + "x" * MAX_BYTES, "is larger than 1 MiB"),
        ("[" * 2000, "is nested too deep"),
        (
            "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcdef")),
            "more than 100000 values",
        ),
    ],
)
def test_a_file_beyond_all_bounds_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(ConfigError, match=said) as raised:
        load(tmp_path / "c.yaml")
    assert len(raised.value.lines) == 1


@pytest.mark.parametrize(
    "config",
    [
        {"log": {"level": "${env:LEVEL}"}},
        {"admin": {"insecure": "${file:/run/insecure}"}},
        {"assembly": {"max_traces": "${env:TRACES}", "max_size": "${env:SIZE}"}},
        {"extraction": {"max_contexts": "${env:CONTEXTS}"}},
    ],
)
def test_the_schema_takes_a_reference_in_place_of_a_value(config: dict[str, Any]) -> None:
    jsonschema.validate(config, schema())


@pytest.mark.parametrize("config", [{"log": {"level": "loud"}}, {"assembly": {"max_traces": "many"}}])
def test_the_schema_takes_no_other_text(config: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(config, schema())
