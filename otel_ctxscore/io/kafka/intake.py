"""One record into the line, or to the dead letters."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable

from aiokafka.errors import MessageSizeTooLargeError
from aiokafka.structs import ConsumerRecord

from otel_ctxscore.core.codec import Malformed, Taken
from otel_ctxscore.core.offsets import PartitionLedger
from otel_ctxscore.core.spans import Delivery
from otel_ctxscore.io.kafka.dead_letters import DeadLetter, DeadLetters
from otel_ctxscore.io.kafka.records import RecordReader
from otel_ctxscore.ports import Full, IntakeCounts, Line

log = logging.getLogger(__name__)

REMEMBERED_TRACES = 100_000
"""Traces whose partition is remembered, to notice where their spans come on another."""


class Intake:
    """Reads records, hands them to the line and counts.

    `split` counts the traces that came on partitions with several numbers: replicas would each see a part of them.
    (Partitions of several topics with one number go to one replica.) The first is said in the log.
    """

    def __init__(
        self,
        reader: RecordReader,
        counts: IntakeCounts,
        split: Callable[[int], None],
        dead_letters: DeadLetters | None,
        source: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._counts = counts
        self._count_split = split
        self._dead_letters = dead_letters
        self._source = source
        self._clock = clock
        self._seen_on: OrderedDict[bytes, int] = OrderedDict()
        self._split: OrderedDict[bytes, None] = OrderedDict()
        self._said_split = False

    async def take(self, line: Line, ledger: PartitionLedger, record: ConsumerRecord) -> None:
        """Hand one record over. Raises Full, with the ledger as it was; KafkaError or OSError where a record that
        cannot be read could not be put with the dead letters."""
        offset = record.offset
        if not ledger.wants(offset):
            return
        try:
            taken = self._reader.read(record.topic, record.value, record.headers, line.keeps)
        except Malformed as error:
            await self._bury(record, str(error))
            ledger.take(offset, self._clock()).settle()
            return
        if taken.spans or taken.logs:
            redelivered, receipt = ledger.redelivers(offset), ledger.take(offset, self._clock())
            try:
                line.accept(Delivery(taken.spans, receipt, taken.logs, redelivered, self._source))
            except Full:
                ledger.put_back(offset)
                raise
            receipt.settle()
            self._notice_split(record, taken)
        else:
            ledger.pass_over(offset)
        self._count(record, taken)

    def _count(self, record: ConsumerRecord, taken: Taken) -> None:
        self._counts.request("partial" if taken.invalid else "ok")
        for result, count in (("sampled_out", taken.sampled_out), ("own", taken.own), ("invalid", taken.invalid)):
            if count:
                self._counts.counted(result, count)
        for complaint in taken.complaints:
            log.warning("kafka: %s[%d]@%d: %s", record.topic, record.partition, record.offset, complaint)

    async def _bury(self, record: ConsumerRecord, error: str) -> None:
        place = (record.topic, record.partition, record.offset)
        if self._dead_letters is not None:
            letter = DeadLetter(*place, error, record.key, record.value, record.headers)
            try:
                await self._dead_letters.put(letter)
            except MessageSizeTooLargeError as why:
                log.error("kafka: %s[%d]@%d is too large for the dead letters: %s", *place, why)
        self._counts.request("malformed")
        log.warning("kafka: %s[%d]@%d cannot be read: %s", *place, error)

    def _notice_split(self, record: ConsumerRecord, taken: Taken) -> None:
        for trace_id in {span.trace_id for span in taken.spans} | {one.trace_id for one in taken.logs}:
            known = self._seen_on.setdefault(trace_id, record.partition)
            if known == record.partition or trace_id in self._split:
                continue
            self._split[trace_id] = None
            self._count_split(1)
            if not self._said_split:
                self._said_split = True
                log.warning(
                    "kafka: spans of trace %s come on partitions %d and %d of %s: set partition_traces_by_id: true in"
                    " the Collector's kafka exporter, or run a single replica",
                    trace_id.hex(), known, record.partition, record.topic,
                )  # fmt: skip
        for remembered in (self._seen_on, self._split):
            while len(remembered) > REMEMBERED_TRACES:
                remembered.popitem(last=False)
