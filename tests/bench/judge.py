"""`python -m tests.bench.judge`: what the judging costs beside litellm, and how much of litellm's ceiling it reaches.

Runs of 5 contexts of ~800 characters with a response, both scorers, one call a run. Three figures:

* CPU of a run of our own: the whole judge with litellm's call replaced by one that returns at once;
* calls a second of bare `litellm.acompletion` at concurrency 128, with the same messages, and of our judge, taken in
  turn against the same scripted server in a process of its own, for a model that answers at once and after 1 s;
* with `--memory`, and nothing else then: resident memory over 20,000 runs of 4 kB documents, when idle afterwards, and
  on a second event loop. Exit 1 where it has grown by more than 50 MiB since the first 1,000.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from statistics import median
from types import SimpleNamespace
from typing import Any

from otel_ctxscore.core.model import Context, RagRun, Retrieval
from otel_ctxscore.judges import prompt
from otel_ctxscore.litellm_judge import LiteLLMJudge
from otel_ctxscore.testing import Reply, ScriptedJudgeServer, verdicts
from tests.bench.process import resident_mib

MODEL = "openai/my-own-7b"
CONTEXTS = 5
AT_ONCE = 128
ROUNDS = 5
PROMISED_CPU_MS = 0.6
PROMISED_SHARE = 0.85
PROMISED_GROWTH = 50
"""MiB."""
THOUSANDS, IDLE_SECONDS = 20, 60.0
WORDS = [
    "the",
    "of",
    "port",
    "ledger",
    "service",
    "listens",
    "retrieval",
    "evaluation",
    "system",
    "answer",
    "kettle",
    "guard",
    "boils",
    "water",
    "[0]",
    "{x}",
    "<b>",
]


def runs(count: int, characters: int = 800, seed: int = 1) -> list[RagRun]:
    """Runs that all differ."""
    draw = random.Random(seed)

    def text() -> str:
        return " ".join(draw.choices(WORDS, k=characters // 6))

    return [
        RagRun(f"Which port {n}?", [Retrieval([Context(text()) for _ in range(CONTEXTS)])], "It is 7443.")
        for n in range(count)
    ]


@contextmanager
def server(latency: float) -> Iterator[str]:
    """The URL of a scripted judge in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.judge", "--serve", str(latency)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.communicate("")


def serve(latency: float) -> None:
    reply = Reply(content=verdicts([True, False, True, False, False]), delay=latency)
    with ScriptedJudgeServer(replies=[reply], keep=0) as scripted:
        print(scripted.url, flush=True)
        sys.stdin.read()


def own_cpu_ms(count: int = 2000) -> float:
    """CPU of one run without the call, in ms: best of several."""
    judge = LiteLLMJudge(MODEL, api_key="none")
    content = json.dumps(verdicts([True, False, True, False, False]))
    message = SimpleNamespace(content=content, tool_calls=None, provider_specific_fields=None)
    usage = SimpleNamespace(prompt_tokens=900, completion_tokens=90)
    response = SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")], usage=usage, model="m")

    async def at_once(**call: Any) -> Any:
        return response

    completion: Any = judge.completions[0]
    completion.litellm = SimpleNamespace(acompletion=at_once)

    async def measure(asked: list[RagRun]) -> float:
        began = time.process_time()
        for run in asked:
            await judge.judge(run)
        return (time.process_time() - began) / len(asked) * 1000

    return min(asyncio.run(measure(runs(count // ROUNDS, seed=n))) for n in range(ROUNDS))


async def rate(work: Callable[[RagRun], Awaitable[object]], asked: list[RagRun]) -> tuple[float, float]:
    """Runs a second and CPU ms a run, at AT_ONCE runs at the same time."""
    left = list(asked)

    async def worker() -> None:
        while left:
            await work(left.pop())

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return len(asked) / (time.perf_counter() - began), (time.process_time() - cpu) / len(asked) * 1000


async def against_litellm(url: str, count: int) -> None:
    import litellm

    judge = LiteLLMJudge(MODEL, api_base=url, api_key="none", max_concurrency=AT_ONCE)
    system = prompt.instructions(None)

    async def bare(run: RagRun) -> object:
        return await litellm.acompletion(
            model=MODEL,
            api_base=url,
            api_key="none",
            messages=messages_of[id(run)],
            max_tokens=1000,
            temperature=0,
            num_retries=0,
            max_retries=0,
        )

    ours, theirs = [], []
    for turn in range(ROUNDS + 1):
        asked = runs(count, seed=turn)
        messages_of = {
            id(run): list(
                prompt.question(system, prompt.exhibit(run, str, 0, prompt.PROMPT_TOKENS), range(CONTEXTS)).messages
            )
            for run in asked
        }
        if turn % 2:
            own, its = await rate(judge.judge, asked), await rate(bare, asked)
        else:
            its, own = await rate(bare, asked), await rate(judge.judge, asked)
        if turn:  # the first one warms up
            ours.append(own)
            theirs.append(its)
    share = median(o[0] / t[0] for o, t in zip(ours, theirs, strict=True))
    print(f"  ours     {median(r for r, _ in ours):7.0f} runs/s  {median(c for _, c in ours):5.2f} ms CPU")
    print(f"  litellm  {median(r for r, _ in theirs):7.0f} calls/s {median(c for _, c in theirs):5.2f} ms CPU")
    print(f"  ratio    {share:7.1%}  (promised >= {PROMISED_SHARE:.0%})")


async def memory(url: str, thousands: int) -> float:
    """MiB after the first thousand runs; prints how it goes on."""
    judge = LiteLLMJudge(MODEL, api_base=url, api_key="none", max_concurrency=AT_ONCE)
    first = 0.0
    for thousand in range(thousands):
        await rate(judge.judge, runs(1000, 4000, seed=thousand))
        first = first or resident_mib()
        print(f"  after {thousand + 1:2} 000 runs: {resident_mib():.0f} MiB", flush=True)
    return first


def memory_stays(url: str) -> bool:
    """Over many runs, when idle, and on a second event loop of the same process."""
    first = asyncio.run(memory(url, THOUSANDS))
    grown = resident_mib() - first
    time.sleep(IDLE_SECONDS)
    print(f"  idle for {IDLE_SECONDS:g} s: {resident_mib():.0f} MiB")
    print("  on a second event loop:")
    asyncio.run(memory(url, 1))
    print(f"  grown by {grown:+.0f} MiB since the first 1 000 runs (promised <= {PROMISED_GROWTH} MiB)")
    return grown <= PROMISED_GROWTH


def main() -> None:
    if "--memory" in sys.argv:
        print("Memory, documents of 4 kB, a judge that answers after 20 ms:")
        with server(0.02) as url:
            sys.exit(not memory_stays(url))
    cpu = own_cpu_ms()
    print(f"CPU of our own beside the call: {cpu:.3f} ms a run (promised <= {PROMISED_CPU_MS})")
    for latency, count in ((0.0, 1000), (1.0, 1000)):
        print(f"A judge that answers after {latency:g} s, {AT_ONCE} at once, median of {ROUNDS} turns:")
        with server(latency) as url:
            asyncio.run(against_litellm(url, count))


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve(float(sys.argv[-1]))
    else:
        main()
