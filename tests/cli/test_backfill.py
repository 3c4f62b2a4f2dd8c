"""`backfill`: over files and over ranges of a real topic, interrupted and gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from otel_ctxscore import config as configuration
from otel_ctxscore.cli import group
from otel_ctxscore.core.model import Evaluation
from otel_ctxscore.ports import SinkError
from otel_ctxscore.testing import MemorySink
from tests.io.kafka import slow_judge
from tests.otlp import rag, request
from tests.services import config
from tests.services.kafka import Kafka, Record

JUDGE: dict[str, Any] = {
    "judge": {"type": "custom", "judge": "tests.io.kafka.slow_judge:factory"},
    "scorers": {"context_relevance": None},
}


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(group, ["backfill", *map(str, arguments)])


def lines(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.read_text().splitlines()]


def traces_of(output: Path) -> list[int]:
    return [int(line["trace_id"], 16) for line in lines(output)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return config.write(tmp_path / "config.yaml", JUDGE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "traces.jsonl"
    found.write_bytes(b"\n".join(request(rag(trace)) for trace in range(1, 8)))
    return found


def test_the_lines_say_that_they_are_of_the_past_and_when_it_was(path: Path, file: Path, tmp_path: Path) -> None:
    output, page = tmp_path / "out.jsonl", tmp_path / "past.txt"
    done = invoke(file, "-c", path, "--output", output, "--openmetrics", page)
    assert done.exit_code == 0, done.output
    assert traces_of(output) == list(range(1, 8))
    [line] = {(line["backfill"], line["time"], line["outcome"]) for line in lines(output)}
    assert line == (True, "2025-10-09T08:53:21.000+00:00", "scored")
    assert 'ctxscore_score_count{job="otel-ctxscore-backfill",service="shop",' in page.read_text()


class Refusing(MemorySink):
    """Takes no evaluation of every third trace: once in the way of sinks, once in its own."""

    async def emit(self, evaluation: Evaluation) -> None:
        number = int(evaluation.run.trace_id or "", 16)
        if number % 3 == 0:
            raise SinkError("refused") if number == 3 else KeyError("six")
        assert evaluation.backfill
        TAKEN.append(number)


TAKEN: list[int] = []


def test_what_a_sink_refuses_is_named_and_costs_no_other(file: Path, tmp_path: Path) -> None:
    sinks = {"custom": [{"sink": "tests.cli.test_backfill:Refusing"}]}
    path, output = config.write(tmp_path / "c.yaml", {**JUDGE, "sinks": sinks}), tmp_path / "out.jsonl"
    TAKEN.clear()
    done = invoke(file, "-c", path, "--output", output, "--emit")
    assert done.exit_code == 1
    assert f"trace {3:032x}: not delivered: refused" in done.output
    assert f"trace {6:032x}: not delivered: 'six'" in done.output
    assert "not delivered: 2 evaluations, in " in done.output
    assert (TAKEN, traces_of(output)) == ([1, 2, 4, 5, 7], list(range(1, 8)))


def test_a_dry_run_judges_nothing_and_says_what_it_would_take(file: Path, tmp_path: Path) -> None:
    judge = {
        "type": "litellm",
        "model": "openai/gpt-4o-mini",
        "prices": {"openai/gpt-4o-mini": {"input": 1, "output": 2}},
    }
    path = config.write(tmp_path / "config.yaml", {"judge": judge})
    done = invoke(file, "-c", path, "--dry-run")
    assert done.exit_code == 0, done.output
    said = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert said["traces"] == "7"
    assert said["LLM"] == "calls         7"
    assert said["tokens"].endswith("completion")
    assert said["price"].endswith("USD")


def test_an_interrupted_one_goes_on_and_judges_nothing_twice(
    path: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("otel_ctxscore.backfill.CHECKPOINT_TRACES", 2)
    monkeypatch.setattr("otel_ctxscore.batch.AT_ONCE", 1)
    judged: list[str] = []
    judge = slow_judge.SlowJudge.judge

    async def dies_at_the_fifth(self: slow_judge.SlowJudge, run: Any) -> Any:
        if len(judged) == 5 and "again" not in judged:
            raise KeyboardInterrupt
        judged.append(run.trace_id)
        return await judge(self, run)

    monkeypatch.setattr(slow_judge.SlowJudge, "judge", dies_at_the_fifth)
    output = tmp_path / "out.jsonl"
    invoke(file, "-c", path, "--output", output)
    kept = traces_of(output)
    assert kept[:4] == [1, 2, 3, 4]
    output.write_bytes(output.read_bytes() + b'{"torn')
    judged.append("again")
    done = invoke(file, "-c", path, "--output", output)
    assert done.exit_code == 0, done.output
    assert traces_of(output) == list(range(1, 8))
    assert [judged.count(f"{trace:032x}") for trace in (1, 2, 3, 4)] == [1, 1, 1, 1]
    judged.clear()
    done = invoke(file, "-c", path, "--output", output)
    assert (done.exit_code, judged) == (0, [])
    assert f"written to {output}: 0 traces, 7 traces of before" in done.stderr
    assert "not read: 14 spans of traces that are there already" in done.stderr
    assert "sampled" not in done.stderr


def test_an_output_of_something_else_is_not_gone_on_with(path: Path, file: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    assert invoke(file, "-c", path, "--output", output).exit_code == 0
    other = config.write(tmp_path / "other.yaml", {**JUDGE, "extraction": {"max_contexts": 1}})
    refused = invoke(file, "-c", other, "--output", output)
    assert refused.exit_code == 1
    assert "another range, file or evaluator" in refused.stderr
    (tmp_path / "out.jsonl.progress").unlink()
    refused = invoke(file, "-c", path, "--output", output)
    assert "is there already" in refused.stderr


def test_ranges_of_a_topic_and_no_group(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.topic(2)
    pieces = [(trace, [request([span]) for span in rag(trace)]) for trace in range(1, 7)]
    for trace, values in pieces:
        kafka.send(topic, [Record(value, partition=trace % 2) for value in values])
    kafka.send(topic, [Record(b"poison", partition=0), Record(None, b"key", partition=1)])
    section = {"brokers": [kafka.bootstrap], "topics": [topic], "group_id": f"live-{topic}"}
    path = config.write(tmp_path / "config.yaml", {**JUDGE, "sources": {"otlp": None, "kafka": section}})
    assert configuration.load(path).sources.kafka is not None

    def backfilled(*arguments: str) -> set[int]:
        output = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        done = invoke("-c", path, "--output", output, *arguments)
        assert done.exit_code == 0, done.output
        return set(traces_of(output))

    assert backfilled() == {1, 2, 3, 4, 5, 6}
    assert backfilled("--topic", topic, "--offsets", "1:0-3") == {1, 3}
    assert backfilled("--topic", topic, "--offsets", "1:2-99", "--offsets", "0:0-1") == {2, 3, 5}
    assert backfilled("--since", "2020-01-01", "--until", "2021-01-01") == set()
    assert backfilled("--since", "2020-01-01") == {1, 2, 3, 4, 5, 6}
    dry = invoke("-c", path, "--dry-run")
    assert dry.stdout.splitlines()[1].split() == ["runs", "to", "judge", "6"]
    assert "poison" not in dry.output
    assert "1 unreadable" in dry.stderr
    assert kafka.committed(f"live-{topic}") == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["f.jsonl", "--topic", "t", "--dry-run"], "not both"),
        (["--offsets", "0:1-2", "--dry-run"], "exactly one --topic"),
        (["--offsets", "0-1-x", "--dry-run"], "PARTITION:FIRST-LAST"),
        (["--since", "yesterday", "--dry-run"], "is no time"),
        (["f.jsonl"], "give --output"),
    ],
)
def test_what_does_not_go_together_is_said(arguments: list[str], said: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert said in result.output
