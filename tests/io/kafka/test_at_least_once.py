"""Crashes, rebalances, outages and refusals in any order, on a simulated log: no run is lost, each repeat says so."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from aiokafka.errors import KafkaConnectionError
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from otel_ctxscore.core.assembly import Limits
from otel_ctxscore.core.offsets import TRIES, PartitionLedger
from otel_ctxscore.io.kafka import assignment
from tests.io.kafka.replicas import LIMITS, Replica, World
from tests.io.kafka.simulated import Cluster
from tests.otlp import request, span
from tests.virtual_time import VirtualTimeLoop

T = TypeVar("T")
PIECES = 3
DOCUMENTS = ("a", "b")
NARROW = replace(LIMITS, max_traces=3)
"""So few traces that the line is full again and again."""
SEARCH = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


def pieces(trace: int) -> list[bytes]:
    """A trace in three records: its root, its retriever and another span."""
    texts = {f"retrieval.documents.{n}.document.content": text for n, text in enumerate(DOCUMENTS)}
    kind = "openinference.span.kind"
    root = span(trace, 1, None, {kind: "CHAIN", "input.value": f"question {trace}", "output.value": "7443."})
    retriever = span(trace, 2, 1, {kind: "RETRIEVER", "input.value": f"question {trace}", **texts})
    return [request([one]) for one in (root, retriever, span(trace, 3, 1, {"other": 1}))]


class Group(RuleBasedStateMachine):
    """Replicas of one group that read a topic whose traces lie interleaved."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualTimeLoop()
        self.world = self.loop.run_until_complete(self._world())
        self.cluster = Cluster()
        self.replicas: list[Replica] = []
        self.traces = self.refusals = 0
        self.join_group()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        result = self.loop.run_until_complete(asyncio.wait_for(work, 3600))
        while self.world.died:
            dead = self.world.died.pop()
            self.replicas.remove(dead)
            self.loop.run_until_complete(self.cluster.lose(dead.source._member))
            if not self.replicas:
                self.join_group()
        return result

    async def _world(self) -> World:
        return World()

    @rule(count=st.integers(1, 6))
    def produce(self, count: int) -> None:
        new = range(self.traces + 1, self.traces + count + 1)
        self.traces += count
        written = [pieces(trace) for trace in new]
        for piece in range(PIECES):
            for place, trace in enumerate(new):
                self.cluster.append(trace % self.cluster.partitions, written[place][piece])

    @rule(seconds=st.sampled_from([0.1, 1, 3, 5, 6, 12, 40]))
    def let_time_pass(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))

    @precondition(lambda self: len(self.replicas) < 3)
    @rule(limits=st.sampled_from([LIMITS, NARROW]))
    def join_group(self, limits: Limits = LIMITS) -> None:
        async def join() -> Replica:
            return await Replica(self.world, self.cluster.join, limits).start()

        self.replicas.append(self.run(join()))

    @precondition(lambda self: len(self.replicas) > 1)
    @rule(choice=st.integers(0, 5), notice=st.sampled_from([0.0, 6.0]))
    def kill(self, choice: int, notice: float) -> None:
        """A process dies; the group finds out when its session is over, its place taken by another at once."""
        replica = self.replicas.pop(choice % len(self.replicas))

        async def die() -> None:
            await replica.kill()
            await asyncio.sleep(notice)
            member = replica.source._member
            await self.cluster.lose(member)

        self.run(die())

    @precondition(lambda self: len(self.replicas) > 1)
    @rule(choice=st.integers(0, 5))
    def stop(self, choice: int) -> None:
        self.world.reachable.set()
        self.world.fatal = False
        self.run(self.replicas.pop(choice % len(self.replicas)).stop())

    @rule()
    def next_to_send_dies(self) -> None:
        self.world.fatal = True

    @rule()
    def rebalance(self) -> None:
        self.run(self.cluster.rebalance())

    @rule(seconds=st.sampled_from([0, 2, 30]))
    def judge_becomes(self, seconds: float) -> None:
        self.world.judging_seconds = seconds

    @precondition(lambda self: self.refusals < TRIES - 1)
    @rule()
    def sink_refuses_one(self) -> None:
        self.refusals += 1
        self.world.refusals += 1

    @rule(reachable=st.booleans())
    def sink_is(self, reachable: bool) -> None:
        self.world.reachable.set() if reachable else self.world.reachable.clear()

    @rule(down=st.booleans(), hangs=st.booleans())
    def brokers_are(self, down: bool, hangs: bool) -> None:
        self.cluster.down, self.cluster.hangs = down, hangs

    @rule(
        call=st.sampled_from(["poll", "commit", "committed", "ends"]),
        fault=st.sampled_from([asyncio.CancelledError, ZeroDivisionError, KafkaConnectionError]),
    )
    def client_fails(self, call: str, fault: type[BaseException]) -> None:
        """In a way that it should not: with a cancellation of its own, or a fault of its code."""
        self.cluster.faults[call] = fault()

    def teardown(self) -> None:
        """Everything works again; after a while nothing is left to do."""
        self.cluster.down = self.cluster.hangs = self.world.fatal = False
        self.world.reachable.set()
        self.world.judging_seconds = 0
        self.run(asyncio.sleep(600))
        try:
            self.check()
        finally:
            self.loop.run_until_complete(self.end())
            self.loop.close()

    async def end(self) -> None:
        for replica in self.replicas:
            await replica.stop()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)

    def check(self) -> None:
        assert self.cluster.done_with
        whole = {
            int(evaluation.run.trace_id or "", 16)
            for evaluation in self.world.emitted
            if [context.text for context in evaluation.run.judged] == list(DOCUMENTS)
        }
        assert whole == set(range(1, self.traces + 1)), "a run is lost"
        firsts = Counter(evaluation.run.trace_id for evaluation in self.world.emitted if not evaluation.run.redelivered)
        assert not [trace for trace, count in firsts.items() if count > 1], "a repeat does not say so"


TestGroup = Group.TestCase
TestGroup.settings = SEARCH


class CommitsTooMuch(PartitionLedger):
    """Broken: what was handed out counts as done with."""

    @property
    def committable(self) -> int:
        return self._next


class ForgetsWhatWasUsed(PartitionLedger):
    """Broken: nobody is told what may have been sent."""

    @property
    def used(self) -> int:
        return -1

    async def secured(self, offset: int) -> None:
        return


class DoesNotWait(PartitionLedger):
    """Broken: it is sent before it is noted."""

    async def secured(self, offset: int) -> None:
        return


class ForgetsFailures(PartitionLedger):
    """Broken: what failed is not read again."""

    def rewind(self) -> int | None:
        return None


def dies_as_it_sends(group: Group) -> None:
    group.produce(count=6)
    group.next_to_send_dies()
    group.let_time_pass(seconds=12)


def dies_as_it_holds(group: Group) -> None:
    group.produce(count=6)
    group.let_time_pass(seconds=3)
    group.join_group()
    group.kill(choice=0, notice=0.0)


def is_refused(group: Group) -> None:
    group.produce(count=6)
    group.sink_refuses_one()
    group.let_time_pass(seconds=12)


BROKEN = [
    (CommitsTooMuch, dies_as_it_holds),
    (ForgetsWhatWasUsed, dies_as_it_sends),
    (DoesNotWait, dies_as_it_sends),
    (ForgetsFailures, is_refused),
]


@pytest.mark.parametrize(("broken", "happens"), BROKEN)
def test_a_broken_ledger_is_found_out(
    broken: type[PartitionLedger], happens: Callable[[Group], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Group()
    happens(right)
    right.teardown()
    monkeypatch.setattr(assignment, "PartitionLedger", broken)
    wrong = Group()
    happens(wrong)
    with pytest.raises(AssertionError):
        wrong.teardown()
