"""C73 of `troubles/cases.jsonl`: runs that have passed leave nothing behind, in litellm's queues or in ours."""

from __future__ import annotations

import asyncio
import gc
import os
import random

import pytest

from otel_ctxscore import Context, LiteLLMJudge, RagRun, Retrieval
from otel_ctxscore.testing import Reply, ScriptedJudgeServer, verdicts

WARM, MORE, AT_ONCE = 1000, 1500, 64
CHARACTERS = 4000
GROWTH_MIB = 50
"""What the case allows over 20,000 runs; `python -m tests.bench.judge --memory` makes as many."""


def resident_mib() -> float:
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


async def judge_all(judge: LiteLLMJudge, first: int, count: int) -> None:
    """Judge runs that all differ, with documents of 4 kB."""
    draw = random.Random(first)
    numbers = iter(range(first, first + count))

    async def worker() -> None:
        for number in numbers:
            text = f"{number} {draw.random()} " * (CHARACTERS // 25)
            await judge.judge(RagRun(f"Which port {number}?", [Retrieval([Context(text)])], "It is 7443."))

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    assert len(asyncio.all_tasks()) <= 4  # litellm's own worker, and us


@pytest.mark.slow
def test_c73_memory_after_many_runs_is_that_after_the_first_thousand() -> None:
    with ScriptedJudgeServer(replies=[Reply(content=verdicts([True]))], keep=0) as server:
        judge = LiteLLMJudge("openai/any", api_base=server.url, api_key="none", max_concurrency=AT_ONCE)

        async def measured() -> tuple[float, float]:
            await judge_all(judge, 0, WARM)
            before = resident_mib()
            await judge_all(judge, WARM, MORE)
            return before, resident_mib()

        before, after = asyncio.run(measured())
        asyncio.run(judge_all(judge, WARM + MORE, 5))  # and in an event loop of its own, as in a test suite
    assert after - before < GROWTH_MIB * MORE / 20_000 + 10  # the allocator's own ups and downs
