"""The command line as a stranger meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from otel_ctxscore.cli import COMMANDS
from tests.cli.run import run


def test_help_names_every_command() -> None:
    ended = run("--help")
    assert ended.code == 0
    assert all(name in ended.out for name in COMMANDS)


def test_without_arguments_the_help_is_said_once() -> None:
    ended = run()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == run("--help").out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself(name: str) -> None:
    ended = run(name, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: otel-ctxscore {name}")
    assert len(ended.out.splitlines()) > 5


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["frobnicate"], 2, "No such command"),
        (["score"], 2, "Missing argument 'FILE...'"),
        (["score", "absent.json"], 1, "absent.json"),
        (["explain", "absent.json"], 1, "absent.json"),
        (["serve", "-c", "absent.yaml"], 2, "absent.yaml"),
        (["check", "absent.yaml"], 2, "absent.yaml"),
    ],
)  # fmt: skip
def test_faults_are_short_and_have_their_exit_code(arguments: list[str], code: int, said: str) -> None:
    ended = run(*arguments)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) <= 2


def test_check_says_every_fault_in_a_line_and_serve_the_same(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("sampling: {rate: 1.5}\njudg: 1\n")
    checked, served = run("check", str(file)), run("serve", "-c", str(file))
    assert checked.code == served.code == 2
    assert checked.err == served.err
    assert [line.split(":")[0] for line in checked.err.splitlines()] == ["sampling.rate", "judg"]


def test_check_says_what_a_rate_costs(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("judge: {type: litellm, model: openai/my-own}\nsampling: {rate: 0.5}")
    assert "price a day         unknown" in run("check", str(file), "--rate", "10").out
    file.write_text("judge: {type: litellm, model: openai/my-own, prices: {openai/my-own: {input: 1, output: 2}}}")
    ended = run("check", str(file), "--rate", "10")
    assert "LLM calls a day     14,400" in ended.out
    assert "USD" in ended.out
    file.write_text("")
    assert "LLM calls a day     0" in run("check", str(file), "--rate", "10").out


def test_the_admin_address_is_checked_without_starting(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("admin: {listen: 0.0.0.0:9464}")
    ended = run("check", str(file))
    assert ended.code == 2
    assert len(ended.err.splitlines()) == 1
    assert "admin" in ended.err


def test_schema_and_reference_are_what_they_say() -> None:
    assert json.loads(run("schema").out)["title"] == "otel-ctxscore configuration"
    assert "sampling" in yaml.safe_load(run("reference").out)


def test_version_names_what_it_runs_on() -> None:
    out = run("version").out
    assert all(name in out for name in ("otel-ctxscore 0.", "litellm ", "aiokafka ", "opentelemetry-sdk ", "python 3."))


def test_a_reader_that_goes_away_is_no_fault() -> None:
    command = f"{sys.executable} -m otel_ctxscore reference | head -1"
    ended = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert ended.stderr == ""
