"""Code of the user's own that is wrong is one line with its key, and exit code 2: named or installed, any kind."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from otel_ctxscore import config as configuration
from otel_ctxscore import parts, service
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.service import Service
from otel_ctxscore.testing import MemorySink
from tests.cli.run import Ended, run
from tests.io.evaluations import evaluation

HERE = "tests.test_plugin_faults"


KEPT = MemorySink()


def kept() -> MemorySink:
    return KEPT


class Named:
    """A sink with options."""

    name = "named"

    def __init__(self, *, api_token: str, hosts: list[dict[str, str]]) -> None:
        self.api_token, self.hosts = api_token, hosts

    async def emit(self, evaluation: object) -> None: ...

    async def close(self) -> None: ...


class NotAsync(Named):
    def emit(self, evaluation: object) -> None: ...  # type: ignore[override]


class TwoArguments(Named):
    async def emit(self, evaluation: object, more: object) -> None: ...  # type: ignore[override]


class NotClosing(Named):
    async def close(self) -> None:
        raise RuntimeError("still open")


async def awaited(**options: object) -> None: ...


def raising(**options: object) -> None:
    raise RuntimeError(f"cannot\nwork with {options}")


def leaving(**options: object) -> None:
    raise SystemExit("usage: leaving")


def half_a_judge() -> object:
    return SimpleNamespace(tier="own", model="m", version="1", fills=frozenset({"useful"}), judge=lambda run: None)


OPTIONS = "{api_token: sesame-0123, hosts: []}"
FAULTS: dict[str, tuple[str, str]] = {
    "no such package": ("sinks: {custom: [{sink: 'absent:Sink'}]}", "sinks.custom[0].sink: absent:Sink cannot be imported: "),
    "no such name": (f"sinks: {{custom: [{{sink: '{HERE}:Absent'}}]}}", "sinks.custom[0].sink: .*:Absent cannot be imported"),
    "not installed": ("sinks: {custom: [{sink: absent}]}", "sinks.custom[0].sink: absent is no entry point of otel_ctxscore.sinks"),
    "no function": (f"sinks: {{custom: [{{sink: '{HERE}:HERE'}}]}}", "sinks.custom[0].sink: .*:HERE is not a function"),
    "an option is missing": (f"sinks: {{custom: [{{sink: '{HERE}:Named'}}]}}", "sinks.custom[0].sink: .*:Named gives no sink: TypeError: .*api_token"),
    "an option too many": (f"sinks: {{custom: [{{sink: '{HERE}:Named', options: {{tokn: a}}}}]}}", "sinks.custom[0].sink: .*unexpected keyword argument 'tokn'"),
    "it raises": (f"sinks: {{custom: [{{sink: '{HERE}:raising'}}]}}", "sinks.custom[0].sink: .*:raising gives no sink: RuntimeError: cannot work with"),
    "it leaves": (f"sinks: {{custom: [{{sink: '{HERE}:leaving'}}]}}", "sinks.custom[0].sink: .*gives no sink: SystemExit: usage: leaving"),
    "it is async": (f"sinks: {{custom: [{{sink: '{HERE}:awaited'}}]}}", "sinks.custom[0].sink: .*it is async, and must not be"),
    "no sink": ("sinks: {custom: [{sink: 'builtins:dict'}]}", "sinks.custom[0].sink: builtins:dict gives no sink: it needs name, emit, close"),
    "emit is not async": (f"sinks: {{custom: [{{sink: '{HERE}:NotAsync', options: {OPTIONS}}}]}}", "sinks.custom[0].sink: .*emit is not an async function"),
    "emit takes two": (f"sinks: {{custom: [{{sink: '{HERE}:TwoArguments', options: {OPTIONS}}}]}}", r"sinks.custom[0].sink: .*emit must take 1 argument, and takes .*evaluation: .*more: "),
    "the second of two": (f"sinks: {{custom: [{{sink: '{HERE}:Named', options: {OPTIONS}}}, {{sink: absent}}]}}", "sinks.custom[1].sink: absent is no entry point"),
    "a judge that is not async": (f"judge: {{type: custom, judge: '{HERE}:half_a_judge'}}", "judge.judge: .*judge is not an async function"),
    "a judge that leaves": (f"judge: {{type: custom, judge: '{HERE}:leaving'}}", "judge.judge: .*SystemExit: usage: leaving"),
    "a rubric that is not there": ("scorers: {rubrics: [faithfulness, absent.md]}", r"scorers.rubrics[1]: absent.md: .*No such file"),
    "a token function that is not there": ("sources: {kafka: {brokers: ['h:1'], security: {protocol: SASL_PLAINTEXT, mechanism: OAUTHBEARER, token: 'absent:token'}}}", "sources.kafka.security.token: absent:token cannot be imported"),
    "a sink's token function": (f"sinks: {{kafka: {{brokers: ['h:1'], topic: t, security: {{protocol: SASL_PLAINTEXT, mechanism: OAUTHBEARER, token: '{HERE}:raising'}}}}}}", "sinks.kafka.security.token: .*:raising is not an async function"),
    "an extractor that is not async": (f"extraction: {{extractor: '{HERE}:raising'}}", "extraction.extractor: .*:raising is not an async function"),
}  # fmt: skip


def in_a_file(folder: Path, text: str) -> str:
    file = folder / "config.yaml"
    file.write_text(text)
    return str(file)


def is_one_line(ended: Ended, wanted: str) -> bool:
    key, _, rest = wanted.partition(": ")
    (line,) = ended.err.splitlines()
    return (ended.code, ended.out) == (2, "") and bool(re.match(re.escape(key) + ": " + rest, line))


@pytest.mark.parametrize("what", FAULTS)
def test_check_says_it_in_one_line_with_its_key(what: str, tmp_path: Path) -> None:
    text, wanted = FAULTS[what]
    ended = run("check", in_a_file(tmp_path, text))
    assert is_one_line(ended, wanted), ended


@pytest.mark.parametrize("what", FAULTS)
async def test_serve_refuses_the_same(what: str, tmp_path: Path) -> None:
    text, wanted = FAULTS[what]
    config = configuration.load(Path(in_a_file(tmp_path, f"{text}\nstate: {{path: {tmp_path / 'state'}}}")))
    with pytest.raises(ConfigError) as raised:
        Service(config)
    assert is_one_line(Ended(2, "", str(raised.value)), wanted)


@pytest.mark.slow
def test_serve_ends_with_2_and_without_a_trace_back(tmp_path: Path) -> None:
    file = in_a_file(tmp_path, f"{FAULTS['it raises'][0]}\nstate: {{path: {tmp_path / 'state'}}}")
    ended = subprocess.run(
        [sys.executable, "-m", "otel_ctxscore", "serve", "-c", file], capture_output=True, text=True, check=False
    )
    assert is_one_line(Ended(ended.returncode, ended.stdout, ended.stderr), FAULTS["it raises"][1])


@pytest.mark.parametrize(
    ("judge", "wanted"),
    [
        ({"type": "litellm", "model": "openai/x", "redact": ["a", "("]}, r"judge.redact\[1\]: '\(' is no regular"),
        (
            {"type": "sampled", "llm": {"model": "openai/x", "redact": ["absent.rules:hide"]}},
            r"judge.llm.redact\[0\]: absent.rules:hide cannot be imported",
        ),
        (
            {"type": "cascade", "llm": {"model": "openai/x", "redact": [f"{HERE}:HERE"]}},
            r"judge.llm.redact\[0\]: .*:HERE is not a function",
        ),
        ({"type": "sampled", "llm": {"model": "nobody-knows"}}, r"judge.llm.model: 'nobody-knows' names no provider"),
    ],
)
def test_a_fault_of_the_llm_judge_has_its_key(judge: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ConfigError, match=f"^{wanted}"):
        parts.judge(configuration.parse({"judge": judge}))


def test_a_sink_that_cannot_be_closed_is_told_by_check(tmp_path: Path) -> None:
    text = f"sinks: {{custom: [{{sink: '{HERE}:NotClosing', options: {OPTIONS}}}]}}"
    ended = run("check", in_a_file(tmp_path, text))
    assert is_one_line(ended, "sinks: named cannot be closed: RuntimeError: still open"), ended


# ---- installed ----------------------------------------------------------------------------------------------------


Install = Callable[[str, str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs an entry point of a group, whose target may be anything."""
    site = tmp_path / "site"
    info = site / "broken_plugin-2.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 2.1\n")
    monkeypatch.syspath_prepend(str(site))

    def put(group: str, name: str, target: str) -> None:
        with (info / "entry_points.txt").open("a") as file:
            file.write(f"[otel_ctxscore.{group}]\n{name} = {target}\n")

    return put


INSTALLED = {
    "sinks": ("absent_package:Sink", "sinks.custom: the installed own of broken-plugin 2.1 cannot be imported: ModuleNotFoundError: No module named 'absent_package'"),
    "scorers": ("absent_package:Scorer", "scorers: the installed own of broken-plugin 2.1 cannot be imported: ModuleNotFoundError"),
    "conventions": ("absent_package:extract", "extraction: the installed own of broken-plugin 2.1 cannot be imported: ModuleNotFoundError"),
    "judges": ("absent_package:Judge", "judge.judge: the installed own of broken-plugin 2.1 cannot be imported: ModuleNotFoundError"),
}  # fmt: skip


@pytest.mark.parametrize("group", INSTALLED)
def test_an_installed_plug_in_that_is_broken_is_one_line(group: str, install: Install, tmp_path: Path) -> None:
    target, wanted = INSTALLED[group]
    install(group, "own", target)
    ended = run("check", in_a_file(tmp_path, "judge: {type: custom, judge: own}" if group == "judges" else ""))
    assert is_one_line(ended, wanted), ended


@pytest.mark.parametrize(
    ("group", "target", "wanted"),
    [
        ("scorers", "builtins:dict", "scorers: the installed own gives no scorer: it needs name, definition"),
        ("scorers", f"{HERE}:raising", "scorers: the installed own gives no scorer: RuntimeError"),
        ("conventions", f"{HERE}:HERE", "extraction: the installed own of broken-plugin 2.1 is not a function"),
        ("sinks", f"{HERE}:Named", "sinks.custom: the installed own gives no sink: TypeError: .*api_token"),
    ],
)
def test_an_installed_plug_in_that_makes_nothing_is_one_line(
    group: str, target: str, wanted: str, install: Install, tmp_path: Path
) -> None:
    install(group, "own", target)
    ended = run("check", in_a_file(tmp_path, ""))
    assert is_one_line(ended, wanted), ended


def test_another_judge_that_is_broken_is_not_loaded(install: Install) -> None:
    install("judges", "broken", "absent_package:Judge")
    install("judges", "whole", "otel_ctxscore.judges.local:LocalJudge")
    made = parts.judge(configuration.parse({"judge": {"type": "custom", "judge": "whole"}}))
    assert getattr(made, "tier", None) == "local"


def test_an_installed_sink_is_on_and_a_configured_one_is_made_once(install: Install) -> None:
    install("sinks", "memory", "otel_ctxscore.testing:MemorySink")
    install("sinks", "named", f"{HERE}:Named")
    options = {"api_token": "a", "hosts": []}
    config = configuration.parse({"sinks": {"custom": [{"sink": "named", "options": options}]}})
    assert [sink.name for sink in service.sinks(config)] == ["named", MemorySink.name]


# ---- secrets ------------------------------------------------------------------------------------------------------

SECRETS = ["sesame", "from-the-env", "nested", "long-password"]
ENVIRON = {"ADDRESS": "from-the-env", "REGION": "eu", "PASS": "long-password"}
CUSTOM: dict[str, Any] = {
    "sink": f"{HERE}:Named",
    "options": {
        "api_token": "sesame",
        "hosts": [{"name": "${env:ADDRESS}", "region": "${env:REGION}", "secret": "nested", "dsn": "db:${env:PASS}@h"}],
    },
}


def test_secrets_of_options_are_masked_and_reach_the_factory() -> None:
    config = configuration.parse({"content": {"emit": True}, "sinks": {"custom": [CUSTOM]}}, ENVIRON)
    shown = str(configuration.masked(config))
    assert not [secret for secret in SECRETS if secret in shown]
    assert "'region': 'eu'" in shown
    assert sorted(configuration.secrets(config)) == ["db:long-password@h", "from-the-env", "nested", "sesame"]
    (sink,) = parts.custom_sinks(config)
    assert isinstance(sink, Named)
    assert (sink.api_token, sink.hosts[0]) == (
        "sesame",
        {"name": "from-the-env", "region": "eu", "secret": "nested", "dsn": "db:long-password@h"},
    )


def test_secrets_are_not_in_the_line_of_a_factory_that_raises() -> None:
    config = configuration.parse({"sinks": {"custom": [{**CUSTOM, "sink": f"{HERE}:raising"}]}}, ENVIRON)
    with pytest.raises(ConfigError) as raised:
        parts.custom_sinks(config)
    assert not [secret for secret in SECRETS if secret in str(raised.value)]
    assert "'api_token': '***'" in str(raised.value)


# ---- text ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("emit", "query"), [(False, "[withheld]"), (True, "Which port?")])
async def test_text_reaches_a_sink_of_ones_own_only_where_it_may_leave(
    emit: bool, query: str, install: Install
) -> None:
    install("sinks", "kept", f"{HERE}:kept")
    custom = [{"sink": f"{HERE}:kept"}]
    for sink in parts.custom_sinks(configuration.parse({"content": {"emit": emit}, "sinks": {"custom": custom}})):
        KEPT.evaluations.clear()
        await sink.emit(evaluation())
        assert [found.run.query for found in KEPT.evaluations] == [query]
