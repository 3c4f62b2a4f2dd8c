"""What the source reads from a real broker."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore.io.kafka.dead_letters import read_file
from tests.io.kafka.reading import Hearer, Reading, reading, settings
from tests.io.requests import SPAN_ID, TRACE_ID, logs, traces
from tests.otlp import rag, request
from tests.services.kafka import Kafka, Record

PREFIX, PREFIX_WITH_INDEXES = bytes.fromhex("000000000700"), bytes.fromhex("00000000070200")
LOGS_RECORD = bytes.fromhex("0a131211120f0901000000000000002a040a026869")
CUT = bytes.fromhex("0a37123512330a105b8efff798038103d269b633813fc60c1208eee19b7ec3")


def done(count: int) -> Any:
    def condition(now: Reading) -> bool:
        return now.counts.requests.total() >= count

    return condition


def bare(body: bytes) -> bytes:
    """The request as a bare array of ResourceSpans."""
    return json.dumps(json.loads(body)["resourceSpans"]).encode()


async def committed(kafka: Kafka, group: str) -> dict[tuple[str, int], int]:
    return await asyncio.to_thread(kafka.committed, group)


async def test_all_encodings_on_one_topic(kafka: Kafka) -> None:
    """One topic holds what the Collector, rotel and schema-registry serializers write, and tombstones."""
    topic = kafka.topic()
    values = [
        traces(),
        PREFIX + traces(),
        PREFIX_WITH_INDEXES + traces(),
        request(rag(7)),
        bare(request(rag(8))),
        b"\0\0\0\0\x07" + request(rag(9)),
        None,
        b"",
    ]
    kafka.send(topic, [Record(value, b"key") for value in values])
    chosen = settings(kafka.bootstrap, topic)
    async with reading(chosen) as now:
        await now.until(done(len(values)))
        assert now.source.lag() == 0
    assert [span.trace_id for span in now.line.spans[:3]] == [TRACE_ID] * 3
    assert {span.trace_id for span in now.line.spans[3:]} == {(7).to_bytes(16), (8).to_bytes(16), (9).to_bytes(16)}
    assert len(now.line.spans) == 9
    assert now.counts.requests == {"ok": len(values)}
    assert await committed(kafka, chosen.group_id) == {(topic, 0): len(values)}


@pytest.mark.parametrize("encoding", ["auto", "otlp_proto"])
@pytest.mark.trouble("C09")
async def test_records_that_cannot_be_read_hold_up_nothing(
    encoding: str, kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    topic, letters = kafka.topic(), kafka.topic()
    poison = [(1, CUT), (2, b"hello-CANARY"), (3, b"\0\0\0")]
    values = [traces(), *(value for _, value in poison), LOGS_RECORD, traces((b"A" * 16, b"B" * 8))]
    kafka.send(topic, [Record(value, b"key", (("tenant", b"x"),)) for value in values])
    chosen = settings(kafka.bootstrap, topic, encoding=encoding, dead_letter={"topic": letters})
    async with reading(chosen) as now:
        await now.until(done(len(values)))
    assert [span.trace_id for span in now.line.spans] == [TRACE_ID, b"A" * 16]
    assert now.counts.requests == {"ok": 2, "malformed": 3, "partial": 1}
    assert now.counts.spans == {"invalid": 1}, "the log record on a topic of traces"
    assert await committed(kafka, chosen.group_id) == {(topic, 0): len(values)}
    kept = await asyncio.to_thread(kafka.read, letters, len(poison))
    for record, (offset, value) in zip(kept, poison, strict=True):
        headers = dict(record.headers)
        assert (record.key, record.value, headers["tenant"]) == (b"key", value, b"x")
        assert headers["ctxscore.topic"] == topic.encode()
        assert (headers["ctxscore.partition"], headers["ctxscore.offset"]) == (b"0", str(offset).encode())
        assert headers["ctxscore.error"]
    said = [line.getMessage() for line in caplog.records if "cannot be read" in line.getMessage()]
    assert [f"{topic}[0]@{offset} " in line for line, (offset, _) in zip(said, poison, strict=True)] == [True] * 3
    assert "CANARY" not in caplog.text


async def test_dead_letters_in_a_file(kafka: Kafka, tmp_path: Path) -> None:
    topic, file = kafka.topic(), tmp_path / "letters.jsonl"
    kafka.send(topic, [Record(b"hello", None, (("tenant", b"\xff"),))])
    async with reading(settings(kafka.bootstrap, topic, dead_letter={"file": str(file)})) as now:
        await now.until(done(1))
    [letter] = read_file(file)
    assert (letter.topic, letter.partition, letter.offset, letter.key, letter.value) == (topic, 0, 0, None, b"hello")
    assert list(letter.headers) == [("tenant", b"\xff")]


async def test_chosen_headers_become_resource_attributes(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [Record(request(rag(1)), None, (("tenant", b"acme"), ("other", b"no"))), Record(traces())])
    async with reading(settings(kafka.bootstrap, topic, headers_as_resource=["tenant"])) as now:
        await now.until(done(2))
    root, retriever, plain = now.line.spans
    assert root.resource.attributes == {"service.name": "shop", "kafka.header.tenant": "acme"}
    assert retriever.resource is root.resource
    assert "kafka.header.tenant" not in plain.resource.attributes


async def test_several_topics_a_pattern_and_a_topic_of_logs(kafka: Kafka) -> None:
    prefix = kafka.topic().replace("t-", "p.")
    topics = [f"{prefix}.a", f"{prefix}.b"]
    for topic in topics:
        kafka.create_topic(topic)
        kafka.send(topic, [Record(traces())])
    log_topic = f"{prefix.replace('p.', 'l.')}.logs"
    kafka.create_topic(log_topic)
    kafka.send(log_topic, [Record(logs())])
    listed = settings(kafka.bootstrap, *topics, logs_topics=[log_topic])
    pattern = settings(kafka.bootstrap, pattern=rf"{prefix}\..*", logs_topics=[log_topic])
    for chosen in (listed, pattern):
        async with reading(chosen) as now:
            await now.until(done(3))
        assert [span.trace_id for span in now.line.spans] == [TRACE_ID] * 2
        assert [(log.trace_id, log.span_id) for log in now.line.logs] == [(TRACE_ID, SPAN_ID)]


async def test_a_topic_that_is_listed_for_both_signals_carries_both(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [Record(traces()), Record(logs())])
    async with reading(settings(kafka.bootstrap, topic, logs_topics=[topic])) as now:
        await now.until(done(2))
    assert (len(now.line.spans), len(now.line.logs)) == (1, 1)


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_codecs_and_records_of_eight_megabytes(codec: str | None, kafka: Kafka) -> None:
    topic = f"big-{codec}-{kafka.topic()}"
    kafka.create_topic(topic, 1, {"max.message.bytes": str(16 << 20)})
    large = traces(text="document " * ((8 << 20) // 9))
    kafka.send(
        topic, [Record(traces()), Record(large), Record(traces())], compression_type=codec, max_request_size=1 << 25
    )
    async with reading(settings(kafka.bootstrap, topic)) as now:
        await now.until(done(3))
    assert [len(str(span.attributes["input.value"])) for span in now.line.spans] == [11, (8 << 20) // 9 * 9, 11]


async def test_spans_of_one_trace_on_several_partitions_are_said_once(
    kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    topic = kafka.topic(2)
    pieces = [Record(request([span]), partition=n) for trace in (1, 2) for n, span in enumerate(rag(trace))]
    kafka.send(topic, [*pieces, *pieces, *(Record(request([span]), partition=0) for span in rag(3))])
    with caplog.at_level(logging.WARNING):
        async with reading(settings(kafka.bootstrap, topic)) as now:
            await now.until(done(10))
    assert now.counts.split == {"split": 2}
    [line] = [record.getMessage() for record in caplog.records if "partition_traces_by_id" in record.getMessage()]
    assert topic in line


@pytest.mark.trouble("C27")
async def test_what_is_open_is_not_committed_and_comes_again_as_a_repeat(kafka: Kafka) -> None:
    topic, line = kafka.topic(), Hearer(holds=True)
    kafka.send(topic, [Record(traces()) for _ in range(3)])
    chosen = settings(kafka.bootstrap, topic)
    async with reading(chosen, line) as now:
        await now.until(done(3))
        line.held[0].settle()
        await asyncio.to_thread(kafka.send, topic, [Record(traces())])
        await now.until(done(4))
        assert now.source.oldest_uncommitted_seconds() > 0
        assert now.source.lag() == 3
    assert await committed(kafka, chosen.group_id) == {(topic, 0): 1}
    await asyncio.to_thread(kafka.send, topic, [Record(traces())])
    async with reading(chosen) as again:
        await again.until(done(4))
    assert [delivery.redelivered for delivery in again.line.deliveries] == [True, True, True, False]
    assert await committed(kafka, chosen.group_id) == {(topic, 0): 5}


async def test_a_group_that_begins_at_the_end_has_its_place_from_then_on(kafka: Kafka) -> None:
    """What comes between its first start and its first record is not lost, even if it reads nothing before it ends."""
    topic = kafka.topic()
    kafka.send(topic, [Record(traces((b"1" * 16, b"1" * 8)))])
    chosen = settings(kafka.bootstrap, topic, start="latest")
    async with reading(chosen) as now:
        await now.until(lambda it: it.source.assigned_partitions() == 1)
    await asyncio.to_thread(kafka.send, topic, [Record(traces((b"2" * 16, b"2" * 8)))])
    async with reading(chosen) as again:
        await again.until(done(1))
    assert [span.trace_id for span in again.line.spans] == [b"2" * 16]


@pytest.mark.trouble("C07")
async def test_a_full_line_costs_neither_records_nor_membership(kafka: Kafka) -> None:
    topic, line = kafka.topic(2), Hearer(room_left=2)
    kafka.send(topic, [Record(traces((bytes([n]) * 16, b"1" * 8)), partition=n % 2) for n in range(1, 11)])
    chosen = settings(kafka.bootstrap, topic, session_timeout="2s")
    async with reading(chosen, line) as now:
        await now.until(lambda it: len(it.line.deliveries) == 2)
        await asyncio.sleep(4)
        assert len(line.deliveries) == 2
        line.room_left = 100
        await now.until(done(10))
        assert now.source.unhealthy() is None
    assert {span.trace_id[0] for span in line.spans} == set(range(1, 11))
    assert not [delivery for delivery in line.deliveries if delivery.redelivered], "the group was never formed anew"
    assert sum((await committed(kafka, chosen.group_id)).values()) == 10


@pytest.mark.parametrize(("size", "wait", "soonest", "latest"), [("1MiB", "1500ms", 0.5, 3.0), ("1B", "5s", 0.0, 1.5)])
async def test_a_lone_record_is_read_when_the_fetch_has_waited_and_at_once_where_it_is_enough(
    size: str, wait: str, soonest: float, latest: float, kafka: Kafka
) -> None:
    """The first fetch after an answer begins at once, so a record that is sent then waits nearly as long as it may."""
    topic = kafka.topic()
    chosen = settings(kafka.bootstrap, topic, fetch_min_size=size, fetch_max_wait=wait)
    kafka.send(topic, [Record(request(rag(1)))])
    async with reading(chosen) as now:
        await now.until(done(1))
        await asyncio.to_thread(kafka.send, topic, [Record(request(rag(2)))])
        sent = time.monotonic()
        await now.until(done(2))
        waited = time.monotonic() - sent
    assert soonest < waited < latest
