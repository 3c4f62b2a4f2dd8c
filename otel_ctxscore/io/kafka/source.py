"""Reads OTLP from Kafka, at least once: an offset is committed when everything below it is done with."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord

from otel_ctxscore.config.intake import KafkaSource as Settings
from otel_ctxscore.core.offsets import PartitionLedger
from otel_ctxscore.io.kafka.assignment import Assignment
from otel_ctxscore.io.kafka.client import connection
from otel_ctxscore.io.kafka.dead_letters import dead_letters
from otel_ctxscore.io.kafka.group import AiokafkaMember, Batch, Member, Rebalanced, names
from otel_ctxscore.io.kafka.intake import Intake
from otel_ctxscore.io.kafka.records import reader_of
from otel_ctxscore.ports import Full, IntakeCounts, Line

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
POLL_RECORDS = 2000
COMMIT_SECONDS = 1.0
SECURE_SECONDS = 0.1
"""How long traces that wait for a commit are gathered for it."""
PROBE_SECONDS = 15.0
STUCK_SECONDS = 45.0
"""What takes longer than this, of the brokers or of forming the group, is given up: the consumer connects anew."""
UNHEALTHY_SECONDS = 60.0
"""A consumer that has not read from its brokers for this long is not healthy."""
BACK_OFF_SECONDS = (1.0, 30.0)
REWIND_SECONDS = (1.0, 60.0)
"""Pauses before what failed is read again: the first, and the longest of those that follow one another."""
STOP_SECONDS = 1.5
TURN_SECONDS = 0.02
"""How long records are handed over before others have their turn on the event loop."""

FAULTS = (Exception, asyncio.CancelledError)
Join = Callable[[Rebalanced], Awaitable[Member]]
Waiting = deque[tuple[PartitionLedger, ConsumerRecord]]


class KafkaSource:
    """A consumer of topics with OTLP.

    The highest offset of which something went down the line is written into the metadata of the commit, before
    anything that came of it is counted or sent: whoever reads it again, after a crash or a rebalance, knows that what
    comes of it may be a repeat. What was only held when a process died is read again as new.

    `split` counts traces whose spans come on several partitions, `reconnected` is told why the consumer connects anew.
    `join` makes a member of the group that is none of aiokafka's; `clock` is a steady clock in seconds.
    """

    name = "kafka"

    def __init__(
        self,
        settings: Settings,
        *,
        counts: IntakeCounts,
        split: Callable[[int], None] = lambda n: None,
        reconnected: Callable[[str], None] = lambda cause: None,
        join: Join | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._clock = clock
        self._reconnected = reconnected
        self._connection = connection(settings.brokers, settings.security, renewed=lambda: reconnected("token"))
        self._join = join or self._join_group
        self._dead_letters = dead_letters(settings.dead_letter, self._connection)
        self._intake = Intake(reader_of(settings), counts, split, self._dead_letters, self.name, clock)
        self._member: Member | None = None
        self._assignment: Assignment | None = None
        self._assigned, self._wanted = asyncio.Event(), asyncio.Event()
        self._fault: Exception | None = None
        self._task: asyncio.Task[None] | None = None
        self._committing: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._without_since = clock()
        self._trouble: str | None = None
        self._positions: dict[TopicPartition, int] = {}
        self._alive = self._probed_at = clock()
        self._rewind_at, self._rewind_pause = clock(), REWIND_SECONDS[0]

    async def _join_group(self, rebalanced: Rebalanced) -> Member:
        return await AiokafkaMember.join(self.settings, self._connection, rebalanced)

    # ---- the life of the source ---------------------------------------------------------------------------------

    async def start(self, line: Line) -> None:
        """Begin to read in the background. Brokers that cannot be reached yet are tried again, not given up."""
        self._line = line
        self._task = asyncio.create_task(self._run(), name="kafka source")

    async def stop(self) -> None:
        """Read no more. The group membership stays, and commits go on."""
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=STOP_SECONDS)
            self._task.cancel()
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """Commit what is done with and leave the group."""
        self._stop_committing()
        try:
            if self._assignment is not None:
                await self._assignment.commit()
        except (KafkaError, OSError) as error:
            log.warning("kafka: the last commit failed: %s", said(error))
        finally:
            await self._leave()
            if self._dead_letters is not None:
                await self._dead_letters.close()

    async def _run(self) -> None:
        """Read until stopped, connecting anew after whatever goes wrong."""
        pause = BACK_OFF_SECONDS[0]
        while not self._stopping.is_set():
            try:
                async with asyncio.timeout(STUCK_SECONDS):
                    self._member = await self._join(self)
                await self._read(self._member)
                return
            except (KafkaError, OSError, TimeoutError) as error:
                self._trouble = said(error)
                log.warning("kafka: %s; connecting anew in %g s", self._trouble, pause)
            except FAULTS as error:
                self._trouble = said(_fault(error))
                log.exception("kafka: the consumer failed; connecting anew in %g s", pause)
            self._reconnected("fault")
            healthy = self._assigned.is_set()
            await self._leave()
            await _either(self._stopping.wait(), pause)
            pause = BACK_OFF_SECONDS[0] if healthy else min(pause * 2, BACK_OFF_SECONDS[1])

    async def _commit(self, assignment: Assignment) -> None:
        """Commit from time to time, and when something waits for it, as long as the assignment lasts. A fault is raised
        in the loop that reads."""
        committed_at = self._clock()
        while True:
            await _either(self._wanted.wait(), COMMIT_SECONDS)
            await asyncio.sleep(SECURE_SECONDS if self._wanted.is_set() else 0)
            self._wanted.clear()
            try:
                async with asyncio.timeout(STUCK_SECONDS):
                    if await assignment.commit():
                        committed_at = self._clock()
                if self._clock() - committed_at > STUCK_SECONDS:
                    raise TimeoutError("commits are refused, and the group is not formed anew")
            except FAULTS as error:
                self._fault = _fault(error)
            if assignment.waited_for:
                self._wanted.set()

    def _stop_committing(self) -> None:
        committing, self._committing = self._committing, None
        if committing is not None:
            committing.cancel()

    async def _leave(self) -> None:
        ended = self._end_assignment()
        if ended is not None:
            ended.withdraw()
        member, self._member = self._member, None
        if member is not None:
            await member.close()

    # ---- what is ours -------------------------------------------------------------------------------------------

    async def revoked(self) -> None:
        ended = self._end_assignment()
        if ended is not None:
            try:
                # Longer than that the group would not wait for a member that it cannot reach either.
                async with asyncio.timeout(self.settings.session_timeout):
                    await ended.commit()
            except FAULTS as error:
                log.warning("kafka: not committed before the group is formed anew: %s", said(_fault(error)))
            finally:
                ended.withdraw()

    async def assigned(self, partitions: Collection[TopicPartition]) -> None:
        if (ended := self._end_assignment()) is not None:  # nobody said that it was revoked
            ended.withdraw()
        member = self._member
        if member is None:
            return
        assignment = Assignment(member, self._wanted.set)
        try:
            async with asyncio.timeout(STUCK_SECONDS):
                if partitions:
                    written, begins = await member.committed(partitions), await member.begins(partitions)
                    for partition in partitions:
                        await assignment.take_on(partition, written.get(partition), begins.get(partition, 0))
        except FAULTS as error:  # whatever it is: aiokafka would go on, with partitions that nobody reads
            self._fault = _fault(error)  # raised in the loop: it connects anew
            return
        self._assignment, self._positions = assignment, {}
        self._committing = asyncio.create_task(self._commit(assignment), name="kafka commits")
        self._alive = self._clock()
        self._assigned.set()
        log.info("kafka: reading %s", names(partitions) or "nothing")

    def _end_assignment(self) -> Assignment | None:
        """Hand nothing more out, and drop what lies open: whoever has the partitions next reads it again."""
        self._stop_committing()
        ended, self._assignment = self._assignment, None
        self._assigned.clear()
        if ended is not None:
            self._without_since = self._clock()
            for _, ledger in ended.ledgers():
                self._line.give_up(ledger)
        return ended

    # ---- reading ------------------------------------------------------------------------------------------------

    async def _read(self, member: Member) -> None:
        self._fault, self._without_since = None, self._clock()
        while not self._stopping.is_set():
            async with asyncio.timeout(STUCK_SECONDS):
                batch = await member.poll(POLL_SECONDS, POLL_RECORDS)
            if batch:
                self._alive = self._clock()
                await self._hand_over(member, batch)
            await self._look_after(member)

    async def _hand_over(self, member: Member, batch: Batch) -> None:
        """Hand records to the line; those of partitions that are not ours yet come again."""
        assignment, waiting = self._assignment, Waiting()
        for partition, records in batch.items():
            ledger = assignment.ledger(partition) if assignment is not None else None
            if ledger is not None:
                waiting.extend((ledger, record) for record in records)
            else:
                member.seek(partition, records[0].offset)
        if assignment is not None:
            await self._work_off(member, assignment, waiting)
        else:
            await _either(self._assigned.wait(), POLL_SECONDS)

    async def _work_off(self, member: Member, assignment: Assignment, waiting: Waiting) -> None:
        """Hand records over as long as they are ours, and wait while the line is full."""
        turn_ends = self._clock() + TURN_SECONDS
        while waiting and self._assignment is assignment and not self._stopping.is_set():
            try:
                await self._intake.take(self._line, *waiting[0])
                waiting.popleft()
            except Full:
                await self._wait_for_room(member)
            if self._clock() > turn_ends:
                await asyncio.sleep(0)
                turn_ends = self._clock() + TURN_SECONDS

    async def _wait_for_room(self, member: Member) -> None:
        """Nothing more is read meanwhile, and the membership stays."""
        self._positions = {}  # to stand still is right now
        await _either(self._line.room(), POLL_SECONDS)
        async with asyncio.timeout(STUCK_SECONDS):
            await member.stay()
        await self._look_after(member)

    # ---- what has to happen from time to time -------------------------------------------------------------------

    async def _look_after(self, member: Member) -> None:
        now, assignment = self._clock(), self._assignment
        if self._fault is not None:
            raise self._fault
        if assignment is not None:
            if now - self._probed_at >= PROBE_SECONDS:
                await self._probe(member, assignment)
            self._rewind(assignment)
        elif now - self._without_since > STUCK_SECONDS:
            raise TimeoutError("the group is not formed")
        self._relieve()

    async def _probe(self, member: Member, assignment: Assignment) -> None:
        """Ask the brokers whether there is more to read: a consumer that only looks alive is found out."""
        self._probed_at = self._clock()
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                partitions = [partition for partition, _ in assignment.ledgers()]
                ends = await member.ends(partitions) if partitions else {}
                positions = {partition: await member.position(partition) for partition in partitions}
        except (KafkaError, TimeoutError) as error:
            self._trouble = said(error)
            if self.seconds_since_poll() > STUCK_SECONDS:
                raise
            return
        for partition, position in positions.items():
            if position < ends.get(partition, 0) and position == self._positions.get(partition):
                raise TimeoutError(f"{partition.topic}[{partition.partition}] is not read on from offset {position}")
        self._positions = positions
        self._alive, self._trouble = self._clock(), None

    def _rewind(self, assignment: Assignment) -> None:
        """Read again what failed, with growing pauses: a sink that refused will not have changed its mind at once."""
        now, (first, longest) = self._clock(), REWIND_SECONDS
        if now < self._rewind_at:
            return
        if assignment.rewind():
            self._rewind_at, self._rewind_pause = now + self._rewind_pause, min(self._rewind_pause * 2, longest)
        elif now > self._rewind_at + self._rewind_pause:
            self._rewind_pause = first

    def _relieve(self) -> None:
        """Close the oldest traces where a record has waited too long to be committed."""
        if self.oldest_uncommitted_seconds() > self.settings.max_uncommitted_age:
            self._line.relieve()

    # ---- what is shown ------------------------------------------------------------------------------------------

    def unhealthy(self) -> str | None:
        if self._task is not None and self._task.done() and not self._stopping.is_set():
            return "the Kafka consumer has ended"
        silent = self.seconds_since_poll()
        if silent > UNHEALTHY_SECONDS:
            return f"nothing could be read from Kafka for {silent:.0f} s{f': {self._trouble}' if self._trouble else ''}"
        return None

    def seconds_since_poll(self) -> float:
        """Seconds since the brokers last answered."""
        return self._clock() - self._alive

    def lag(self) -> int:
        """Records of the assigned partitions that are not committed as done with."""
        return self._assignment.lag() if self._assignment is not None else 0

    def assigned_partitions(self) -> int:
        """Partitions that are read here."""
        return sum(1 for _ in self._assignment.ledgers()) if self._assignment is not None else 0

    def oldest_uncommitted_seconds(self) -> float:
        """Age of the oldest record that is not done with, since it was handed out; 0 where there is none."""
        oldest = self._assignment.oldest() if self._assignment is not None else None
        return self._clock() - oldest if oldest is not None else 0.0


def said(error: BaseException) -> str:
    if isinstance(error, KafkaError):
        return str(error)  # it begins with its own name
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _fault(error: BaseException) -> Exception:
    """What went wrong. Raises `error` again where it is the cancellation of this task; any other cancellation is of a
    task of aiokafka's own, handed on to who waits for it, and a fault like others."""
    if isinstance(error, Exception):
        return error
    task = asyncio.current_task()
    if task is None or task.cancelling():
        raise error
    return ConnectionError("the client cancelled a task of its own")


async def _either(awaitable: Awaitable[Any], seconds: float) -> None:
    """Wait for something, but no longer than that."""
    try:
        await asyncio.wait_for(awaitable, seconds)
    except TimeoutError:
        return
