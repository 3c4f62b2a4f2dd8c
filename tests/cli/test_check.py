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
        "targets: [{}, {service: shop, scorer: context_relevance}]",
    ],
)
def test_what_can_be_made_is_ok(tmp_path: Path, text: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    ended = run("check", str(file))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"{file}: ok\n"


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
