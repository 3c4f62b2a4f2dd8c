"""`check` refuses what `score` and `serve` would refuse."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tests.cli.run import run


def failing(**options: object) -> object:
    raise RuntimeError(f"no key\nin {options}")


def looking_for_a_loop() -> object:
    import asyncio

    asyncio.get_running_loop()

    async def judge(_: object) -> None: ...

    return SimpleNamespace(tier="own", model="m", version="1", fills=frozenset({"useful"}), judge=judge)


REFUSED = {
    "an extractor that is not there": (
        "extraction: {extractor: 'absent.module:function'}",
        ["extraction.extractor: absent.module:function cannot be imported: No module named 'absent'"],
    ),
    "a judge that is not there": (
        "judge: {type: custom, judge: 'nope:x'}",
        ["judge.judge: nope:x cannot be imported: No module named 'nope'"],
    ),
    "a judge that raises": (
        "judge: {type: custom, judge: 'tests.cli.test_check:failing', options: {a: 1}}",
        ["judge.judge: tests.cli.test_check:failing gives no judge: RuntimeError: no key in {'a': 1}"],
    ),
    "a calibration that is not there": (
        "judge: {type: local, calibration: absent.json}",
        ["judge.calibration: absent.json cannot be read"],
    ),
    "files that are opened only later": (
        "sources: {otlp: {tls: {cert: absent.pem, key: absent.pem}, auth: {token_file: absent}},"
        " kafka: {brokers: ['h:1'], dead_letter: {file: absent/letters}}}\n"
        "admin: {tls: {cert: absent.pem, key: absent.pem}}",
        ["sources.otlp.tls: cannot use certificate, key or client_ca: absent.pem: No such file or directory"],
    ),
    "a token that is not there": (
        "sources: {otlp: {auth: {token_file: absent}}}",
        ["sources.otlp.auth.token_file: no token can be read from absent"],
    ),
    "a file of letters in a folder that is not there": (
        "sources: {kafka: {brokers: ['h:1'], dead_letter: {file: absent/letters}}}",
        ["sources.kafka.dead_letter.file: absent/letters can be no file"],
    ),
    "an authority that is none": (
        "sinks: {otlp: {endpoint: 'https://h:1', tls: {ca: /etc/hosts}}}",
        ["sinks.otlp.tls: a certificate cannot be used: no certificate"],
    ),
    "a cross-encoder that is not there": (
        "judge: {type: cross_encoder, model: ./absent}",
        ["judge."],
    ),
    "parameters that are not the user's": (
        "judge: {type: litellm, model: openai/x, params: {model: y, messages: []}}",
        ["judge.params: messages, model cannot be set there"],
    ),
    "no scorer": (
        "scorers: {context_precision: null, context_relevance: null}",
        ["scorers: none is on, "],
    ),
    "only a scorer that the judge does not serve": (
        "scorers: {context_precision: null}",
        ["scorers: none is on, the local judge fills what none of them needs"],
    ),
    "targets of unknown scorers": (
        "targets: [{scorer: context_precision}, {scorer: faithfulnes}]",
        ["targets[1].scorer: faithfulnes is no configured scorer; configured: context_precision, "],
    ),
    "several faults": (
        "admin: {listen: '0.0.0.0:1'}\nextraction: {mappings: [{}]}\nscorers: {rubrics: [absent.md]}",
        ["admin.listen: ", "extraction.mappings[0]: ", "scorers.rubrics[0]: absent.md"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_made_is_a_line_each(tmp_path: Path, what: str) -> None:
    text, lines = REFUSED[what]
    file = tmp_path / "c.yaml"
    file.write_text(text)
    ended = run("check", str(file))
    assert (ended.code, ended.out) == (2, "")
    said = ended.err.splitlines()
    assert [line[: len(begin)] for line, begin in zip(said, lines, strict=True)] == lines


def test_score_says_the_same_of_a_judge_that_raises(tmp_path: Path) -> None:
    file, runs = tmp_path / "c.yaml", tmp_path / "runs.jsonl"
    file.write_text("judge: {type: custom, judge: 'tests.cli.test_check:failing'}")
    runs.write_text('{"query": "q", "contexts": ["a"]}')
    scored = run("score", str(runs), "-c", str(file))
    assert (scored.code, scored.err) == (2, run("check", str(file)).err)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "judge: {type: custom, judge: 'tests.cli.test_check:looking_for_a_loop'}",
        "judge: {type: local, derive_levels: true}\ntargets: [{}, {service: shop, scorer: context_relevance}]",
    ],
)
def test_what_can_be_made_is_ok(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    ended = run("check", str(file))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"{file}: ok\n"


NOTES = {
    "scorers: {rubrics: [faithfulness]}": "faithfulness is off: the local judge does not fill what it needs",
    "scorers: {context_relevance: {scale: 10}}": "context_relevance is off: the local judge",
    "targets: [{scorer: context_relevance}]": "context_relevance is off: the local judge",
    "judge: {type: litellm, model: openai/x}": "openai/x needs OPENAI_API_KEY, not set here",
    "judge: {type: sampled, rate: 0, llm: {model: openai/x, api_key: k}}": "judge.rate is 0: the LLM judges no run",
    "sampling: {rate: 0.0}": "sampling.rate is 0 and no rule has more: no run is judged",
    "sources: {otlp: null}": "no source is configured",
    "sources: {otlp: {grpc: null, http: null}}": "no source is configured",
    "sinks: {otlp: {endpoint: 'http://h:4318'}}": "port 4318 usually speaks http/protobuf, and protocol is grpc",
    "state: {path: /etc/hosts}": "state.path: /etc/hosts is no folder",
}


@pytest.mark.parametrize("text", NOTES)
def test_what_may_surprise_is_a_note(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    file = tmp_path / "c.yaml"
    file.write_text(text)
    ended = run("check", str(file))
    note, ok = ended.out.splitlines()
    assert (ended.code, note.startswith("note: "), NOTES[text] in note, ok) == (0, True, True, f"{file}: ok")


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [("http://u:secret@h:99999", "is no URL"), ("ftp://u:secret@h", "is no URL"), ("h", "is no address")],
)
def test_an_endpoint_of_the_environment_is_checked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: str, said: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    (tmp_path / "c.yaml").write_text("")
    ended = run("check", str(tmp_path / "c.yaml"))
    assert (ended.code, len(ended.err.splitlines()), "secret" in ended.err) == (2, 1, False)
    assert ended.err.startswith(f"OTEL_EXPORTER_OTLP_ENDPOINT: {said}")


def test_the_effective_configuration_is_all_that_goes_to_standard_output(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(
        "sampling: {rate: 0.1, rules: [{name: a, match: {service: s}, rate: 0.5}]}\nassembly: {idle: 90s}\n"
    )
    ended = run("check", str(file), "--effective")
    shown = yaml.safe_load(ended.out)
    assert (ended.code, shown["assembly"]["idle"], shown["assembly"]["max_age"]) == (0, "90s", "10m")
    assert "match after assembly" in ended.err
    file.write_text(ended.out)
    assert yaml.safe_load(run("check", str(file), "--effective").out) == shown


@pytest.mark.parametrize("rate", ["nan", "inf", "-1"])
def test_a_rate_that_is_no_rate_is_refused(rate: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("{}")
    ended = run("check", str(tmp_path / "c.yaml"), f"--rate={rate}")
    assert (ended.code, ended.out) == (2, "")
    assert "--rate" in ended.err
