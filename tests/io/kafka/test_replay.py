"""Dead letters are tried again: in a topic and in a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from otel_ctxscore.cli import group
from otel_ctxscore.io.kafka.dead_letters import read_file
from tests.io.kafka.reading import reading, settings
from tests.io.requests import traces
from tests.otlp import rag, request
from tests.services import config
from tests.services.kafka import Kafka, Record


async def invoke(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, group, ["replay-dead-letters", *arguments])


async def letters_of(kafka: Kafka, folder: Path, dead_letter: dict[str, str]) -> tuple[str, Path]:
    """A topic whose JSON records, and one that is no OTLP, became letters under a wrong `encoding`; and the right
    configuration."""
    topic = kafka.topic(2)
    records = [Record(request(rag(1)), b"a", (("tenant", b"x"),), 1), Record(b"hello", b"b", (), 0)]
    kafka.send(topic, [*records, Record(traces(), b"c", (), 0)])
    wrong = settings(kafka.bootstrap, topic, encoding="otlp_proto", dead_letter=dead_letter)
    async with reading(wrong) as now:
        await now.until(lambda it: it.counts.requests["malformed"] == 2)
    section = {"brokers": [kafka.bootstrap], "topics": [topic], "group_id": topic, "dead_letter": dead_letter}
    return topic, config.write(folder / "config.yaml", {"sources": {"otlp": None, "kafka": section}})


@pytest.mark.parametrize("kind", ["topic", "file"])
async def test_what_can_be_read_now_goes_back_where_it_came_from(kind: str, kafka: Kafka, tmp_path: Path) -> None:
    file = tmp_path / "letters.jsonl"
    letters = kafka.topic()
    topic, path = await letters_of(kafka, tmp_path, {"topic": letters} if kind == "topic" else {"file": str(file)})
    before = kafka.end_offsets(topic)
    dry = await invoke("-c", str(path), "--dry-run")
    assert (dry.exit_code, dry.stdout.splitlines()[:2]) == (
        0,
        ["readable now: 1 letter", "still not readable: 1 letter"],
    )
    assert kafka.end_offsets(topic) == before

    done = await invoke("-c", str(path))
    assert done.stdout.splitlines()[0] == "readable now, and sent back: 1 letter", done.output
    assert kafka.end_offsets(topic) == {0: before[0], 1: before[1] + 1}
    back = [record for record in kafka.read(topic, 4) if record.partition == 1][-1]
    assert (back.value, back.key, back.headers) == (request(rag(1)), b"a", (("tenant", b"x"),))
    if kind == "file":
        assert [letter.value for letter in read_file(file)] == [b"hello"]
    again = await invoke("-c", str(path))
    assert again.stdout.splitlines()[:2] == [
        "readable now, and sent back: 0 letters",
        "still not readable: 1 letter",
    ]


def test_brokers_or_letters_that_are_not_there_are_said(tmp_path: Path) -> None:
    section = {"brokers": ["127.0.0.1:1"]}
    path = config.write(tmp_path / "config.yaml", {"sources": {"kafka": section}})
    for arguments, said in (
        (["--file", str(tmp_path / "none.jsonl")], "No such file"),
        (["--topic", "t"], "Unable to bootstrap"),
    ):
        result = CliRunner().invoke(group, ["replay-dead-letters", "-c", str(path), *arguments])
        assert result.exit_code == 1
        assert said in result.stderr
    assert CliRunner().invoke(group, ["replay-dead-letters", "-c", str(path)]).exception is not None
