"""Cases of single parts, with the input that they name."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest

from otel_ctxscore.core.assembly import Limits, TraceAssembler
from otel_ctxscore.core.codec import fuller, take_traces
from otel_ctxscore.core.outcomes import Closed
from otel_ctxscore.core.receipts import Receipt
from otel_ctxscore.core.sampling import Sampler
from otel_ctxscore.core.spans import Delivery
from otel_ctxscore.telemetry import catalogue
from tests.cli.run import run as command
from tests.io.kafka.replicas import Replica, World
from tests.io.kafka.simulated import Cluster
from tests.otlp import rag, request, span
from tests.troubles.spans import cases
from tests.virtual_time import run


def of(case: str) -> Any:
    return cases()[case]["input"]


def values(records: list[dict[str, str]]) -> list[bytes]:
    return [bytes.fromhex(r["value_hex"]) if "value_hex" in r else r["value"].encode() for r in records]


@pytest.mark.trouble("C09")
@pytest.mark.parametrize("encoding", ["auto", "otlp_proto"])
def test_poison_records_hold_up_nothing(encoding: str) -> None:
    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        for value in values(of("C09")["kafka_records"]):
            cluster.append(0, value)
        replica = await Replica(world, cluster.join, encoding=encoding).start()
        await asyncio.sleep(40)
        assert cluster.done_with
        assert cluster.generation == 1, "nobody joined anew"
        asked = {evaluation.run.query for evaluation in world.emitted}
        assert asked == {"Which port?", "Which owner?"}
        assert replica.metrics.total(catalogue.REQUESTS, "result")["malformed"] == (2 if encoding == "auto" else 3)
        await replica.stop()

    run(scenario())


@pytest.mark.trouble("C80")
def test_the_prefix_of_a_registry_is_read() -> None:
    async def scenario() -> None:
        cluster, world = Cluster(partitions=1), World()
        for value in values(of("C80")["kafka_records"]):
            cluster.append(0, value)
        replica = await Replica(world, cluster.join).start()
        await asyncio.sleep(60)
        assert cluster.done_with
        counted = replica.metrics.total(catalogue.SPANS, "result")
        assert (counted["kept"], counted["duplicate"], counted["invalid"]) == (1, 2, 0)
        await replica.stop()

    run(scenario())


@pytest.mark.trouble("C38")
def test_a_rate_chooses_the_same_traces_everywhere() -> None:
    ids = [hashlib.sha256(f"t{n}".encode()).digest()[:16] for n in range(10_000)]
    alike = [bytes(12) + hashlib.sha256(f"t{n}".encode()).digest()[:4] for n in range(10_000)]
    kept = {rate: {one for one in ids if Sampler(rate).keeps(one)} for rate in of("C38")["rates"]}
    assert kept[0] == set()
    assert len(kept[1]) == len(ids)
    assert kept[0.1] < kept[0.25]
    for some in (ids, alike):
        assert 2300 < sum(Sampler(0.25).keeps(one) for one in some) < 2700


@pytest.mark.trouble("C58")
def test_long_and_short_traces_and_those_that_never_end() -> None:
    assembler = TraceAssembler(Limits(quiet_period=5, idle=5, max_age=60, max_traces=1000, late_window=0), fuller)

    def add(spans: list[dict[str, Any]], now: float) -> None:
        assembler.add(Delivery(take_traces(request(spans), "json", lambda _: True).spans, Receipt()), now)

    long, short = 1, 2
    retriever, root = rag(long)[1], rag(long)[0]
    closed: dict[int, tuple[float, Closed | None, int]] = {}

    def tick(now: float) -> None:
        for one in assembler.due(now):
            closed[int(one.trace_id.hex(), 16)] = (now, one.closed, len(one.spans))
            assembler.release(one, again=False)

    add([retriever], 0)
    add(rag(short), 0.2)
    for now in range(1, 47):
        if now % 3 == 0 and now < 40:
            add([span(long, 100 + now, 1, {"k": now})], now)
        if now == 40:
            add([root], now)
        tick(now)
    at, why, spans = closed[short]
    assert (at <= 6, why, spans) == (True, Closed.ROOT_SEEN, 2)
    at, why, spans = closed[long]
    assert (40 < at <= 46, why, spans) == (True, Closed.ROOT_SEEN, 15)

    for n in range(5000):
        add([span(1000 + n, 1, 9, {"k": n})], 50 + n / 1000)
        tick(50 + n / 1000)
        assert assembler.open_traces <= 1000
    tick(56)
    tick(116)
    assert sum(why is Closed.EVICTED for _, why, _ in closed.values()) == 4000
    assert len(closed) == 5002
    assert (assembler.open_traces, assembler.open_bytes) == (0, 0)


CONFIGS = {
    "sources: {kafka: {brokers: ['h:1'], encoding: otlp_porto}}": ("sources.kafka.encoding", "otlp_proto"),
    "sampling: {rate: 1.5}": ("sampling.rate", "1.5"),
    "sampling: {rate: '10%'}": ("sampling.rate", "10%"),
    "scorers: {context_precison: {}}": ("scorers.context_precison", "context_precision"),
    "judge: {type: litellm, model: ''}": ("judge.model", "is empty"),
    "judge: {type: litellm, model: m, deadline: '-1s', api_key: CANARY}": ("judge.deadline", "-1s"),
    "unknown_key: 1": ("unknown_key", "unknown key"),
    "sources: {kafka: {brokers: []}, otlp: null}": ("sources.kafka.brokers", "at least 1"),
}
"""The faults of the case under the names of this configuration; what the line has to hold."""


@pytest.mark.trouble("C82")
@pytest.mark.parametrize("text", CONFIGS)
@pytest.mark.parametrize("arguments", [["check"], ["serve", "-c"]])
def test_a_wrong_configuration_ends_with_a_line_that_names_it(tmp_path: Any, text: str, arguments: list[str]) -> None:
    assert len(CONFIGS) == len(of("C82")["configs"])
    (tmp_path / "c.yaml").write_text(text)
    ended = command(*arguments, str(tmp_path / "c.yaml"))
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    assert all(word in line for word in CONFIGS[text])
    assert "CANARY" not in line
