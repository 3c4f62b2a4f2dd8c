"""Traces and runs of files, for the commands that read them: the same parts as the service, without its clock."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

from otel_ctxscore import parts
from otel_ctxscore.config import Config
from otel_ctxscore.core.assembly import Assembled, TraceAssembler
from otel_ctxscore.core.codec import fuller
from otel_ctxscore.core.conventions import Extraction
from otel_ctxscore.core.lines import Line, refused_line, to_jsonl
from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.core.opening import open_trace
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.core.sampling import Sampler
from otel_ctxscore.core.spans import Delivery, Trace
from otel_ctxscore.io.file import InputError, Report, read
from otel_ctxscore.judging import Judging

T = TypeVar("T")
U = TypeVar("U")

AT_ONCE = 64
"""Runs that are judged at the same time; an LLM judge has its own, adaptive limit below that."""


def traces(
    paths: Iterable[str], keeps: Callable[[bytes], bool], report: Report, config: Config
) -> Iterator[Trace | RagRun]:
    """The traces of all files as one stream, each when the files end or when the caps of `assembly` push it out; and
    the runs that stand in them as such. Spans of evaluators are kept: the outcome of their traces says so. A file of
    which nothing can be read is in `report.refused`, and costs no other."""
    assembler = TraceAssembler(parts.limits(config), fuller)
    for found in _read(paths, keeps, report):
        if isinstance(found, Delivery):
            assembler.add(found, now=0.0)
            yield from map(_released(assembler), assembler.due(-1.0))
        else:
            yield found
    yield from map(_released(assembler), assembler.drain(now=0.0))


def _read(paths: Iterable[str], keeps: Callable[[bytes], bool], report: Report) -> Iterator[Delivery | RagRun]:
    for path in paths:
        try:
            yield from read([path], keeps, report, keep_own=True)
        except InputError as error:
            report.refused.append(str(error))


def _released(assembler: TraceAssembler) -> Callable[[Assembled], Trace]:
    def release(assembled: Assembled) -> Trace:
        for receipt in assembler.release(assembled):
            receipt.settle()
        return open_trace(assembled)

    return release


async def score(
    found: Iterable[Trace | RagRun], config: Config, judging: Judging
) -> AsyncIterator[tuple[Line, Evaluation | None]]:
    """A line for each run, and for each trace without one, in the order of the traces; with its evaluation."""
    async for _, lines in score_each(found, config, judging):
        for line in lines:
            yield line


async def score_each(
    found: Iterable[Trace | RagRun] | AsyncIterable[Trace | RagRun], config: Config, judging: Judging
) -> AsyncIterator[tuple[Trace | RagRun, list[tuple[Line, Evaluation | None]]]]:
    """Each trace, or run that stands alone, with its lines and evaluations, in their order."""
    sampler, extract = parts.sampler(config), parts.reader(config)

    async def lines(one: Trace | RagRun) -> tuple[Trace | RagRun, list[tuple[Line, Evaluation | None]]]:
        if isinstance(one, RagRun):
            evaluations = [await judging.evaluate(one)]
        else:
            extraction = await extract(one)
            if not extraction.runs:
                return one, [(_without_run(one, extraction), None)]
            evaluations = [await _evaluated(run, one, sampler, judging) for run in extraction.runs]
        return one, [(to_jsonl(evaluation), evaluation) for evaluation in evaluations]

    async for group in in_order(lines, found, AT_ONCE):
        yield group


def _without_run(trace: Trace, extraction: Extraction) -> Line:
    return refused_line(trace.trace_id.hex(), extraction.outcome or TraceOutcome.NOT_RAG, extraction.reason)


async def _evaluated(run: RagRun, trace: Trace, sampler: Sampler, judging: Judging) -> Evaluation:
    admitted = sampler.admitted(run, trace.trace_id)
    if admitted is None:
        return Evaluation(run, None, (), TraceOutcome.NOT_SAMPLED)
    return await judging.evaluate(admitted)


async def in_order(
    work: Callable[[T], Awaitable[U]], found: Iterable[T] | AsyncIterable[T], at_once: int
) -> AsyncIterator[U]:
    """The results of `work` on each, in their order, with at most so many under way; `found` is read as needed."""
    under_way: deque[asyncio.Future[U]] = deque()
    try:
        async for one in _each(found):
            under_way.append(asyncio.ensure_future(work(one)))
            while len(under_way) >= at_once or (under_way and under_way[0].done()):
                yield await under_way.popleft()
        while under_way:
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()


async def _each(found: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(found, AsyncIterable):
        async for one in found:
            yield one
    else:
        for one in found:
            yield one
