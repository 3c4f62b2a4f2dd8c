"""Pins, licences and advisories: what is wrong is found, and what cannot be known is said."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.supply import advisories, licences, locked, sbom
from tools.supply.__main__ import group

HASHED = "alpha==1.0 \\\n    --hash=sha256:00\nbeta==2.0 \\\n    --hash=sha256:11\n"
PINNED = "alpha==1.0\nBeta==2.0\ngamma==3.0\n"


def test_the_project_itself_is_in_order() -> None:
    ended = CliRunner().invoke(group, ["check"])
    assert ended.exit_code == 0, ended.output


def test_what_agrees_has_no_fault() -> None:
    assert list(locked.faults(PINNED, HASHED, {"alpha", "beta"}, {"alpha": "1.0"})) == []


@pytest.mark.parametrize(
    ("constraints", "shipped", "needed", "installed", "said"),
    [
        (PINNED, HASHED, {"alpha", "beta", "gamma"}, {}, "lacks gamma"),
        (PINNED, HASHED, {"alpha"}, {}, "has beta, which nothing needs"),
        (
            PINNED.replace("1.0", "1.1"),
            HASHED,
            {"alpha", "beta"},
            {},
            "alpha is 1.0 in deploy/requirements.txt and 1.1",
        ),
        (PINNED, HASHED.replace(" \\\n    --hash=sha256:11", ""), {"alpha", "beta"}, {}, "no hash of beta"),
        (PINNED, HASHED, {"alpha", "beta"}, {"beta": "2.1"}, "beta is 2.1 here and 2.0"),
    ],
)
def test_what_contradicts_is_said(
    constraints: str, shipped: str, needed: set[str], installed: Mapping[str, str], said: str
) -> None:
    [fault] = locked.faults(constraints, shipped, needed, installed)
    assert said in fault


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("MPL-2.0 AND MIT", True),
        ("GPL-3.0-only OR Apache-2.0", True),
        ("MIT AND (GPL-3.0-only OR Apache-2.0)", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("LicenseRef-Own", False),
    ],
)
def test_one_may_choose_within_an_expression(expression: str, allowed: bool) -> None:
    assert licences.allowed(expression) is allowed


def test_a_licence_that_is_not_on_the_list_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(licences, "ALLOWED", frozenset({"MIT"}))
    [fault] = licences.faults(["grpcio", "pydantic"])
    assert fault.startswith("grpcio: Apache-2.0 is not among")


VULNERABLE = {"dependencies": [{"name": "alpha", "version": "1.0", "vulns": [{"id": "PYSEC-1"}]}]}
UNKNOWN = {"dependencies": [{"name": "alpha", "skip_reason": "not found"}]}


def test_what_pip_audit_found_is_read() -> None:
    assert advisories.read(json.dumps(VULNERABLE), "") == {"alpha": ["PYSEC-1"]}


@pytest.mark.parametrize(
    ("said", "complained", "why"),
    [("", "trace\nName does not resolve", "Name does not resolve"), (json.dumps(UNKNOWN), "", "does not know alpha")],
)
def test_no_answer_is_no_clean_bill(said: str, complained: str, why: str) -> None:
    with pytest.raises(advisories.Unreachable, match=why):
        advisories.read(said, complained)


@pytest.mark.parametrize(("arguments", "code"), [(["audit"], 1), (["audit", "--if-reachable"], 0)])
def test_an_audit_that_cannot_be_made_says_so(monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int) -> None:
    asked: list[int] = []

    def nobody(pinned: Mapping[str, str]) -> dict[str, list[str]]:
        asked.append(len(pinned))
        raise advisories.Unreachable("nobody there")

    monkeypatch.setattr(advisories, "pip_audit", nobody)
    ended = CliRunner().invoke(group, arguments)
    assert (ended.exit_code, asked) == (code, [1])
    assert "known vulnerabilities were NOT looked up: nobody there" in ended.stderr


def test_a_finding_fails_wherever_it_is_made_unless_it_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        advisories, "pip_audit", lambda pinned: {name: ["PYSEC-1"] for name in pinned if name == "aiohttp"}
    )
    ended = CliRunner().invoke(group, ["audit", "--if-reachable"])
    assert (ended.exit_code, "PYSEC-1" in ended.stderr) == (1, True)
    monkeypatch.setitem(advisories.ACCEPTED, "PYSEC-1", "is about a part that is not used")
    assert CliRunner().invoke(group, ["audit", "--if-reachable"]).exit_code == 0


@pytest.mark.slow
def test_the_bill_of_materials_is_valid_and_always_the_same(tmp_path: Path) -> None:
    for name in ("one", "other"):
        sbom.write(Path(sys.executable), tmp_path / name)
    bill = json.loads((tmp_path / "one").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["name"] == "otel-ctxscore"
    assert {"aiohttp", "litellm"} <= {component["name"] for component in bill["components"]}
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
