"""The past, judged apart from the live service: resumable, to JSON lines, with its history as metrics."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from otel_ctxscore import batch, parts
from otel_ctxscore.config import Config
from otel_ctxscore.core.assembly import TraceAssembler
from otel_ctxscore.core.codec import Malformed, fuller
from otel_ctxscore.core.lines import Line
from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.core.offsets import PartitionLedger
from otel_ctxscore.core.opening import open_trace
from otel_ctxscore.core.receipts import Receipt
from otel_ctxscore.core.spans import Delivery, Trace
from otel_ctxscore.io.file import Report
from otel_ctxscore.judging import Judging

CHECKPOINT_TRACES = 200
"""So many traces are written between two times that the progress is kept."""
Found = Trace | RagRun


@dataclass(slots=True)
class Progress:
    """How far a backfill is: `done` are the ids of the traces in the output, `runs` the runs in it that have none,
    `size` its bytes, `positions` the offsets to read on from. `of` stands for what is backfilled and by which judge."""

    of: str
    size: int = 0
    positions: dict[str, int] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    runs: int = 0

    @classmethod
    def load(cls, path: Path, output: Path, of: str) -> Progress:
        """What was kept, with the output cut to it; the beginning where nothing was. Raises ValueError where the output
        belongs to something else."""
        if not path.exists():
            if output.exists() and output.stat().st_size:
                raise ValueError(f"{output} is there already, without its {path.name}")
            return cls(of)
        kept = json.loads(path.read_text())
        if kept["of"] != of:
            raise ValueError(f"{output} is of another range, file or evaluator; choose another --output")
        progress = cls(of, kept["size"], kept["positions"])
        with output.open("r+b") as lines:
            lines.truncate(progress.size)
            for line in map(json.loads, lines):
                progress.add(line)
        return progress

    def add(self, line: Line) -> None:
        if trace_id := line.get("trace_id"):
            self.done.add(str(trace_id))
        else:
            self.runs += 1

    def keep(self, path: Path) -> None:
        aside = path.with_name(path.name + ".new")
        aside.write_text(json.dumps({"of": self.of, "size": self.size, "positions": self.positions}))
        aside.replace(path)


def identity(config: Config, what: object) -> str:
    """Of a backfill: what is read, and under which evaluators and extraction."""
    judged = [config.judge.model_dump(mode="json"), config.scorers.model_dump(mode="json")]
    read = [config.extraction.model_dump(mode="json"), config.sampling.model_dump(mode="json")]
    return hashlib.blake2b(json.dumps([what, judged, read], default=str).encode(), digest_size=8).hexdigest()


# ---- reading ----------------------------------------------------------------------------------------------------


async def of_files(paths: list[str], config: Config, progress: Progress, report: Report) -> AsyncIterator[Found]:
    """The traces and runs of files that are not done with."""
    keeps, left_out = _keeps(config, progress), progress.runs
    for one in batch.traces(paths, keeps, report, config):
        if isinstance(one, RagRun) and not one.trace_id and left_out:
            left_out -= 1
        else:
            yield one


async def of_kafka(past: Any, reader: Any, config: Config, progress: Progress, report: Report) -> AsyncIterator[Found]:
    """The traces of a range of topics, assembled by the records' own time, so that the past is cut as the present is.

    The receipts of a trace settle its records; `progress.positions` follows.
    """
    keeps, assembler = _keeps(config, progress), TraceAssembler(parts.limits(config), fuller)
    ledgers: dict[str, PartitionLedger] = {}
    now = 0.0
    async for record in past.records():
        now = max(now, record.timestamp / 1000)
        place = f"{record.topic}[{record.partition}]"
        ledger = ledgers.setdefault(place, PartitionLedger(record.offset))
        try:
            taken = reader.read(record.topic, record.value, record.headers, keeps)
        except Malformed as error:
            report.unreadable += 1
            report.complain(f"{place}@{record.offset}: {error}")
            ledger.pass_over(record.offset)
            continue
        report.sampled_out, report.invalid = report.sampled_out + taken.sampled_out, report.invalid + taken.invalid
        receipt = ledger.take(record.offset, now)
        assembler.add(Delivery(taken.spans, receipt, taken.logs), now)
        receipt.settle()
        for assembled in assembler.due(now):
            assembler.release(assembled)
            yield open_trace(assembled)
        progress.positions |= {place: one.committable for place, one in ledgers.items()}
    for assembled in assembler.drain(now):
        assembler.release(assembled)
        yield open_trace(assembled)


def _keeps(config: Config, progress: Progress) -> Callable[[bytes], bool]:
    sampled = parts.sampler(config).keeps
    return lambda trace_id: trace_id.hex() not in progress.done and sampled(trace_id)


# ---- judging ----------------------------------------------------------------------------------------------------


async def run(
    found: AsyncIterator[Found], config: Config, judging: Judging, progress: Progress, output: Path, kept: Path
) -> AsyncIterator[list[Evaluation]]:
    """Judge, write the lines, keep the progress; yields the evaluations of each trace when its lines are written."""
    written = 0
    with output.open("ab") as out:
        async for one, scored in batch.score_each(found, config, judging):
            text = b"".join(_text(line, one, evaluation) for line, evaluation in scored)
            out.write(text)
            progress.size += len(text)
            if isinstance(one, Trace):
                for receipt in filter(_is_open, one.receipts):  # those of files are settled when read
                    receipt.settle()
            written += 1
            if written % CHECKPOINT_TRACES == 0:
                out.flush()
                progress.keep(kept)
            yield [replace(evaluation, backfill=True) for _, evaluation in scored if evaluation is not None]
        out.flush()
        progress.keep(kept)


def _is_open(receipt: Receipt) -> bool:
    return receipt.open


def _text(line: Line, one: Found, evaluation: Evaluation | None) -> bytes:
    """The line of `score`, with `backfill`, the time of what was judged and, where no run was read, the service."""
    when = evaluation.run.end_ns if evaluation is not None else 0
    further: Line = {"backfill": True}
    if isinstance(one, Trace):
        when = when or max((span.end_ns for span in one.spans), default=0)
        if one.spans and "service" not in line:
            further["service"] = one.spans[0].resource.attributes.get("service.name")
    further["time"] = datetime.fromtimestamp(when / 1e9, UTC).isoformat(timespec="milliseconds") if when else None
    return json.dumps(line | further, ensure_ascii=False).encode() + b"\n"
