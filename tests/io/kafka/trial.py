"""Runs written to a topic while replicas of the service die, come and go; then every run is looked for at the sink."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiokafka.errors import KafkaError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_ctxscore.core.assembly import Limits, TraceAssembler
from otel_ctxscore.core.codec import fuller, take_traces
from otel_ctxscore.core.conventions import extract
from otel_ctxscore.core.opening import open_trace
from otel_ctxscore.core.receipts import Receipt
from otel_ctxscore.core.spans import Delivery
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.io.spans import evaluation_spans
from otel_ctxscore.scorers.context_precision import ContextPrecision
from tests.io.kafka.scorer import Scorer
from tests.io.kafka.slow_judge import factory
from tests.io.kafka.test_at_least_once import PIECES, pieces
from tests.services.config import Config
from tests.services.kafka import Kafka, Record
from tests.services.process import wait_until

PARTITIONS = 3
INTERLEAVED = 40
"""Traces whose records lie between one another."""


@dataclass(frozen=True)
class Sent:
    """One evaluation span as the sink has it."""

    trace_id: str
    span_id: str
    redelivered: bool
    verdicts: tuple[Any, ...]


@dataclass
class Found:
    """What became of the runs."""

    runs: int
    missing: int
    repeats: int
    unmarked_repeats: int
    marked_changes: int
    unmarked_changes: int
    marked_firsts: int
    """Runs that no evaluation without the mark came of."""
    counted: int
    """Traces that all processes counted as scored, as of the last scrape of each."""
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.runs} runs, {self.missing} missing at the sink, {self.repeats} repeats ({self.unmarked_repeats}"
            f" without their mark), {self.marked_changes} changed, {self.unmarked_changes} without it,"
            f" {self.marked_firsts} marked at first; the counters say {self.counted} scored:"
            f" {self.counted - self.runs:+d}; {self.seconds:.0f} s"
        )

    @property
    def right(self) -> bool:
        return not (self.missing or self.unmarked_repeats or self.unmarked_changes)


@dataclass
class Trial:
    """A topic with `runs` runs, written over `seconds`, read by `replicas` processes.

    `disturb(trial)` is called again and again until all is written, and at least `rounds` times.
    """

    kafka: Kafka
    folder: Path
    runs: int
    seconds: float
    replicas: int = 2
    judging_seconds: float = 0.05
    sinks: Config = field(default_factory=dict)
    seed: int = 1

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.topic, self.scores = self.kafka.topic(PARTITIONS), self.kafka.topic(PARTITIONS)
        self.group = f"g-{self.topic}"
        self.scorers = [self.scorer(n) for n in range(self.replicas)]
        self.left: list[Scorer] = []
        self._written, self._over = threading.Event(), threading.Event()

    def scorer(self, number: int) -> Scorer:
        source = {
            "brokers": [self.kafka.bootstrap], "topics": [self.topic], "group_id": self.group,
            "start": "earliest", "session_timeout": "3s",
        }  # fmt: skip
        given = {
            "sources": {"kafka": source},
            "sinks": self.sinks or {"kafka": {"brokers": [self.kafka.bootstrap], "topic": self.scores}},
            "judge": {"options": {"seconds": self.judging_seconds}},
        }
        return Scorer(self.folder / f"replica{number}", given)

    def run(self, disturb: Callable[[Trial], None], rounds: int) -> None:
        """Write, disturb, and wait until all that was written is committed."""
        self._all(Scorer.start, self.scorers)
        writing = threading.Thread(target=self._write)
        writing.start()
        watching = threading.Thread(target=self._watch)
        watching.start()
        try:
            done = 0
            while done < rounds or not self._written.is_set():
                if done < rounds:
                    disturb(self)
                    done += 1
                else:
                    self._written.wait(0.2)
            wait_until(self._all_committed, 120, f"commit of all {self.runs} runs")
        finally:
            writing.join()
            self._over.set()
            watching.join()
            for scorer in self.scorers:
                scorer.scrape()
            self._all(Scorer.stop, [*self.scorers, *self.left])

    def kill_one(self) -> None:
        """At a random moment a random process that reads dies; another takes its place."""
        wait_until(self._all_read, 60, "replicas that read all partitions")
        time.sleep(self.random.uniform(1, 6))
        reading = [scorer for scorer in self.scorers if scorer.partitions()]
        victim = self.random.choice(reading or self.scorers)
        victim.kill()
        victim.start()

    def _all_read(self) -> bool:
        return sum(scorer.partitions() for scorer in self.scorers) == PARTITIONS

    def _all(self, work: Callable[[Scorer], object], scorers: Iterable[Scorer]) -> None:
        threads = [threading.Thread(target=work, args=(scorer,)) for scorer in scorers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _write(self) -> None:
        try:
            batches = range(1, self.runs + 1, INTERLEAVED)
            for first in batches:
                numbers = range(first, min(first + INTERLEAVED, self.runs + 1))
                written = [pieces(number) for number in numbers]
                for piece in range(PIECES):
                    records = [
                        Record(w[piece], partition=n % PARTITIONS) for n, w in zip(numbers, written, strict=True)
                    ]
                    self._send(records)
                time.sleep(self.seconds / len(batches))
        finally:
            self._written.set()

    def _send(self, records: list[Record]) -> None:
        """Send them, waiting for a broker that is away."""
        while True:
            try:
                return self.kafka.send(self.topic, records, request_timeout_ms=5000)
            except KafkaError:
                time.sleep(0.5)

    def _watch(self) -> None:
        while not self._over.wait(1):
            for scorer in [*self.scorers, *self.left]:
                scorer.scrape()

    def _all_committed(self) -> bool:
        try:
            committed, ends = self.kafka.committed(self.group), self.kafka.end_offsets(self.topic)
        except KafkaError:
            return False
        return self._written.is_set() and all(committed.get((self.topic, n), 0) >= end for n, end in ends.items())

    # ---- what is at the sink ------------------------------------------------------------------------------------

    def at_the_topic(self) -> list[Sent]:
        """The evaluation spans in the topic of scores."""
        count = sum(self.kafka.end_offsets(self.scores).values())
        return [sent for record in self.kafka.read(self.scores, count) for sent in spans_of(record.value or b"")]

    def judge(self, sent: list[Sent]) -> Found:
        """Compare what was sent with what has to be there."""
        expected = {number: expectation(number) for number in range(1, self.runs + 1)}
        by_id: dict[tuple[str, str], list[Sent]] = {}
        for one in sent:
            by_id.setdefault((one.trace_id, one.span_id), []).append(one)
        ids = set(expected.values())
        firsts = Counter(one.trace_id for one in sent if not one.redelivered)
        foreign = [one for one in sent if (one.trace_id, one.span_id) not in ids or len(one.verdicts) != 2]
        return Found(
            runs=self.runs,
            missing=len(ids - set(by_id)),
            repeats=len(sent) - len(by_id),
            unmarked_repeats=sum(count - 1 for count in firsts.values()),
            marked_changes=sum(one.redelivered for one in foreign),
            unmarked_changes=sum(not one.redelivered for one in foreign),
            marked_firsts=self.runs - len(firsts),
            counted=sum(sum(scorer.scored.values()) for scorer in [*self.scorers, *self.left]),
        )


def spans_of(body: bytes) -> list[Sent]:
    """The evaluation spans of a request."""
    found = []
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for span in (span for scope in resource.scope_spans for span in scope.spans):
            attributes = {one.key: one.value for event in span.events for one in event.attributes}
            own = {one.key: one.value for one in span.attributes}
            marked = "ctxscore.redelivered" in attributes or "ctxscore.redelivered" in own
            verdicts = tuple(value.bool_value for key, value in own.items() if key.endswith(".useful"))
            found.append(Sent(span.trace_id.hex(), span.span_id.hex(), marked, verdicts))
    return found


def expectation(number: int) -> tuple[str, str]:
    """Trace id and id of the evaluation span of a run, from the same parts in this process."""
    assembler = TraceAssembler(Limits(), fuller)
    for piece in pieces(number):
        assembler.add(Delivery(take_traces(piece, "json", lambda _: True).spans, Receipt()), 0)
    [assembled] = assembler.drain(0)
    [run] = extract(open_trace(assembled)).runs
    evaluation = asyncio.run(evaluate(run, factory(), [ContextPrecision()]))
    [span] = evaluation_spans(evaluation)
    context = span.get_span_context()
    assert context is not None
    return f"{context.trace_id:032x}", f"{context.span_id:016x}"
