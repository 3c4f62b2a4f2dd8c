"""Reads OTLP from Kafka, at least once: an offset is committed when everything below it is done with."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import ConsumerRecord, OffsetAndMetadata

from otel_ctxscore.config.model import KafkaSource as Settings
from otel_ctxscore.core.codec import Malformed, Taken
from otel_ctxscore.core.model import Delivery
from otel_ctxscore.core.offsets import PartitionLedger
from otel_ctxscore.core.receipts import Outcome
from otel_ctxscore.io.kafka.client import connection
from otel_ctxscore.io.kafka.dead_letters import DeadLetter, DeadLetterFile, DeadLetters, DeadLetterTopic
from otel_ctxscore.io.kafka.records import RecordReader
from otel_ctxscore.ports import Full, IntakeCounts, Line

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
POLL_RECORDS = 2000
COMMIT_SECONDS = 1.0
BACK_OFF_SECONDS = (1.0, 30.0)
UNHEALTHY_SECONDS = 60.0
"""A consumer that has not read from its brokers for this long is not healthy."""
PROBE_SECONDS = 15.0
REMEMBERED_TRACES = 100_000
_HIGH = "ctxscore:high="
ASSIGNORS = (StickyPartitionAssignor, RoundRobinPartitionAssignor, RangePartitionAssignor)


class KafkaSource:
    """A consumer of topics with OTLP. One line says it where spans of one trace come on several partitions.

    The highest offset handed out is written into the metadata of the commit before a record is handed out, so that
    whoever reads it again, after a crash or a rebalance, knows that what comes of it may be a repeat.
    """

    name = "kafka"

    def __init__(
        self, settings: Settings, *, counts: IntakeCounts, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings
        self._counts = counts
        self._clock = clock
        self._connection = connection(settings.brokers, settings.security)
        self._reader = RecordReader(settings.encoding, frozenset(settings.headers_as_resource))
        self._logs_topics = frozenset(settings.logs_topics)
        self._dead_letters = self._make_dead_letters()
        self._ledgers: dict[TopicPartition, PartitionLedger] = {}
        self._committed: dict[TopicPartition, tuple[int, int]] = {}
        self._seen_on: OrderedDict[bytes, TopicPartition] = OrderedDict()
        self.split_traces = 0
        self._consumer: AIOKafkaConsumer | None = None
        self._admin: AIOKafkaAdminClient | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._alive = clock()
        self._committed_at = self._probed_at = clock()
        self._trouble: str | None = None

    def _make_dead_letters(self) -> DeadLetters | None:
        chosen = self.settings.dead_letter
        if chosen is None:
            return None
        return DeadLetterFile(chosen.file) if chosen.file else DeadLetterTopic(chosen.topic or "", self._connection)

    # ---- the life of the source ---------------------------------------------------------------------------------

    async def start(self, line: Line) -> None:
        """Begin to read in the background. Brokers that cannot be reached yet are tried again, not given up."""
        self._line = line
        self._task = asyncio.create_task(self._run(), name="kafka source")

    async def stop(self) -> None:
        """Read no more. The group membership stays, so that what was read can still be committed."""
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """Commit what is done with and leave the group."""
        try:
            await self._commit()
        except KafkaError as error:
            log.warning("kafka: the last commit failed: %s", error)
        await self._disconnect()
        if self._dead_letters is not None:
            await self._dead_letters.close()

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
        if self._consumer is None:
            return 0
        ends = ((self._consumer.highwater(tp), ledger) for tp, ledger in self._ledgers.items())
        return sum(max(0, end - ledger.committable) for end, ledger in ends if end is not None)

    def oldest_uncommitted(self) -> float | None:
        """When the oldest record that is not done with was read."""
        return min((age for ledger in self._ledgers.values() if (age := ledger.oldest()) is not None), default=None)

    async def _run(self) -> None:
        """Read until stopped, connecting anew after whatever goes wrong."""
        pause = BACK_OFF_SECONDS[0]
        while not self._stopping.is_set():
            try:
                await self._connect()
                pause = BACK_OFF_SECONDS[0]
                await self._read()
                return
            except (KafkaError, OSError, TimeoutError) as error:
                self._trouble = f"{type(error).__name__}: {error}"
                log.warning("kafka: %s; trying again in %g s", self._trouble, pause)
            except Exception as error:
                self._trouble = f"{type(error).__name__}: {error}"
                log.exception("kafka: the consumer failed; trying again in %g s", pause)
            await self._disconnect()
            await _either(self._stopping.wait(), pause)
            pause = min(pause * 2, BACK_OFF_SECONDS[1])

    async def _connect(self) -> None:
        settings = self.settings
        self._admin = AIOKafkaAdminClient(**self._connection)
        await self._admin.start()
        self._consumer = AIOKafkaConsumer(
            **self._connection,
            group_id=settings.group_id,
            enable_auto_commit=False,
            auto_offset_reset=settings.start,
            session_timeout_ms=int(settings.session_timeout * 1000),
            heartbeat_interval_ms=max(100, int(settings.session_timeout * 1000 / 5)),
            max_partition_fetch_bytes=8 << 20,
            partition_assignment_strategy=ASSIGNORS,
        )
        await self._consumer.start()
        rebalanced = _Rebalanced(self)
        if settings.pattern is not None:
            topics = "|".join([settings.pattern, *settings.logs_topics])
            self._consumer.subscribe(pattern=f"^(?:{topics})$", listener=rebalanced)
        else:
            self._consumer.subscribe([*settings.topics, *settings.logs_topics], listener=rebalanced)

    async def _disconnect(self) -> None:
        consumer, self._consumer = self._consumer, None
        admin, self._admin = self._admin, None
        self._drop_ledgers(list(self._ledgers))
        for client in (consumer.stop if consumer else None, admin.close if admin else None):
            if client is not None:
                try:
                    await asyncio.wait_for(client(), 5)
                except (KafkaError, OSError, TimeoutError) as error:
                    log.debug("kafka: closing: %s", error)

    # ---- reading ------------------------------------------------------------------------------------------------

    @property
    def _reading(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise IllegalStateError("not connected")
        return self._consumer

    async def _read(self) -> None:
        while not self._stopping.is_set():
            self._rewind()
            batch = await self._reading.getmany(timeout_ms=int(POLL_SECONDS * 1000), max_records=POLL_RECORDS)
            if batch:
                self._alive = self._clock()
                await self._hand_over(batch)
            await self._look_after()

    async def _hand_over(self, batch: dict[TopicPartition, list[ConsumerRecord]]) -> None:
        """Reserve the offsets of a batch, then hand its records to the line, waiting while it is full."""
        waiting: deque[tuple[TopicPartition, PartitionLedger, ConsumerRecord]] = deque()
        reserve: dict[TopicPartition, int] = {}
        for tp, records in batch.items():
            ledger = await self._ledger(tp, records[0].offset)
            waiting.extend((tp, ledger, record) for record in records)
            reserve[tp] = records[-1].offset
        if not await self._commit(reserve):
            return
        while waiting and not self._stopping.is_set():
            tp, ledger, record = waiting[0]
            if self._ledgers.get(tp) is not ledger:
                waiting.popleft()  # the partition went to another member, which reads this record again
                continue
            try:
                await self._take(tp, ledger, record)
                waiting.popleft()
            except Full:
                self._relieve()
                await self._wait_for_room(waiting)

    async def _wait_for_room(self, waiting: deque[tuple[TopicPartition, PartitionLedger, ConsumerRecord]]) -> None:
        """Keep the membership while the line is full: poll, but take nothing."""
        consumer = self._reading
        consumer.pause(*consumer.assignment())
        await _either(self._line.room(), POLL_SECONDS)
        for tp, records in (await consumer.getmany(timeout_ms=0)).items():  # of partitions assigned meanwhile
            ledger = await self._ledger(tp, records[0].offset)
            if await self._commit({tp: records[-1].offset}):
                waiting.extend((tp, ledger, record) for record in records)
        self._alive = self._clock()
        await self._look_after()
        consumer.resume(*consumer.assignment())

    async def _take(self, tp: TopicPartition, ledger: PartitionLedger, record: ConsumerRecord) -> None:
        """One record into the line, or to the dead letters. Raises Full."""
        redelivered = ledger.redelivers(record.offset)
        try:
            taken = self._decode(record)
        except Malformed as error:
            receipt = ledger.take(record.offset, self._clock())
            await self._bury(record, str(error))
            if receipt is not None:
                receipt.settle()
            return
        if not taken.spans and not taken.logs:
            ledger.pass_over(record.offset)
            self._count(taken)
            return
        receipt = ledger.take(record.offset, self._clock())
        if receipt is None:
            return
        try:
            self._line.accept(Delivery(taken.spans, receipt, taken.logs, redelivered, self.name))
        except Full:
            receipt.settle(Outcome.FAILED)  # it stays open, and is taken again as soon as there is room
            raise
        receipt.settle()
        self._count(taken)
        self._notice_split(tp, taken)

    def _decode(self, record: ConsumerRecord) -> Taken:
        if not record.value:
            return Taken()  # a tombstone
        return self._reader.read(record.value, record.headers, self._line.keeps, logs=record.topic in self._logs_topics)

    def _count(self, taken: Taken) -> None:
        self._counts.request("partial" if taken.invalid else "ok")
        for result, count in (("sampled_out", taken.sampled_out), ("own", taken.own), ("invalid", taken.invalid)):
            if count:
                self._counts.counted(result, count)

    async def _bury(self, record: ConsumerRecord, error: str) -> None:
        self._counts.request("malformed")
        log.warning("kafka: %s[%d]@%d cannot be read: %s", record.topic, record.partition, record.offset, error)
        if self._dead_letters is not None:
            place = (record.topic, record.partition, record.offset)
            await self._dead_letters.put(DeadLetter(*place, error, record.key, record.value, record.headers))

    def _notice_split(self, tp: TopicPartition, taken: Taken) -> None:
        """Notice where spans of one trace come on several partitions: replicas would each see a part of it."""
        for trace_id in {span.trace_id for span in taken.spans}:
            known = self._seen_on.setdefault(trace_id, tp)
            if known.topic == tp.topic and known.partition != tp.partition:
                self.split_traces += 1
                if self.split_traces == 1:
                    log.warning(
                        "kafka: spans of trace %s come on partitions %d and %d of %s: set partition_traces_by_id: true"
                        " in the Collector's kafka exporter, or run a single replica",
                        trace_id.hex(), known.partition, tp.partition, tp.topic,
                    )  # fmt: skip
        while len(self._seen_on) > REMEMBERED_TRACES:
            self._seen_on.popitem(last=False)

    # ---- offsets ------------------------------------------------------------------------------------------------

    async def _ledger(self, tp: TopicPartition, first: int) -> PartitionLedger:
        """The ledger of a partition. A record can come before the callback that says it is assigned has ended."""
        known = self._ledgers.get(tp)
        if known is None:
            known = PartitionLedger(first, watermark=await self._watermark(tp))
            self._ledgers[tp] = known
        return known

    async def _watermark(self, tp: TopicPartition) -> int:
        """The highest offset that was ever handed out, from the metadata of the last commit."""
        if self._admin is None:
            return -1
        found = await self._admin.list_consumer_group_offsets(self.settings.group_id, partitions=[tp])
        metadata = found[tp].metadata if tp in found else ""
        high = (metadata or "").removeprefix(_HIGH)
        return int(high) if high.lstrip("-").isdigit() else -1

    async def _commit(self, reserve: dict[TopicPartition, int] | None = None) -> bool:
        """Commit what is done with, and the highest offset that was or, with `reserve`, is about to be handed out.
        False where the partitions are no longer ours."""
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        state: dict[TopicPartition, tuple[int, int]] = {}
        for tp, ledger in self._ledgers.items():
            state[tp] = (ledger.committable, max(ledger.high, (reserve or {}).get(tp, -1)))
            if self._committed.get(tp) != state[tp]:
                offsets[tp] = OffsetAndMetadata(state[tp][0], f"{_HIGH}{state[tp][1]}")
        self._committed_at = self._clock()
        if not offsets or self._consumer is None:
            return True
        try:
            await self._consumer.commit(offsets)
        except (CommitFailedError, IllegalStateError) as error:
            log.info("kafka: not committed, the partitions went to another member: %s", error)
            return False
        self._committed.update(state)
        return True

    def _rewind(self) -> None:
        """Read again from the lowest offset that failed."""
        for tp, ledger in self._ledgers.items():
            offset = ledger.rewind()
            if offset is not None and tp in self._reading.assignment():
                log.warning("kafka: %s[%d]: reading again from offset %d", tp.topic, tp.partition, offset)
                self._reading.seek(tp, offset)

    async def _look_after(self) -> None:
        """What has to happen from time to time while reading."""
        now = self._clock()
        if now - self._committed_at >= COMMIT_SECONDS:
            await self._commit()
        if now - self._probed_at >= PROBE_SECONDS:
            self._probed_at = now
            await self._probe()
        self._relieve()

    async def _probe(self) -> None:
        """Ask the brokers something: a consumer that only looks alive is found out and connected anew."""
        async with asyncio.timeout(PROBE_SECONDS):
            await self._reading.topics()
            await self._reading.end_offsets(list(self._reading.assignment()))
        self._alive = self._clock()
        self._trouble = None

    def _relieve(self) -> None:
        """Close the oldest traces where a record has waited too long to be committed."""
        oldest = self.oldest_uncommitted()
        if oldest is not None and self._clock() - oldest > self.settings.max_uncommitted_age:
            self._line.relieve()

    async def _revoked(self, revoked: Iterable[TopicPartition]) -> None:
        await self._commit()
        self._drop_ledgers(revoked)

    def _drop_ledgers(self, partitions: Iterable[TopicPartition]) -> None:
        """Partitions that are no longer ours: whoever has them next reads again what is not done with here."""
        for tp in partitions:
            self._committed.pop(tp, None)
            ledger = self._ledgers.pop(tp, None)
            if ledger is not None:
                self._line.give_up(ledger)


class _Rebalanced(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, source: KafkaSource) -> None:
        self._source = source

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        await self._source._revoked(revoked)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        log.info("kafka: reading %s", ", ".join(sorted(f"{tp.topic}[{tp.partition}]" for tp in assigned)) or "nothing")


async def _either(awaitable: Any, seconds: float) -> None:
    """Wait for something, but no longer than that."""
    try:
        await asyncio.wait_for(awaitable, seconds)
    except TimeoutError:
        return
