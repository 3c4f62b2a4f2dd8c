"""`python -m tests.bench.state`: what the state file costs the event loop, and the start of the service.

* Runs with great documents: how long it takes to hand one over, and how long a task that wakes each millisecond had to
  wait, beside the same with small ones.
* A file of `--mib` MiB: seconds until it is opened by a service, and until a command has looked through it first.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path
from statistics import median

from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.model import Context, Evaluation, Judgement, RagRun, Retrieval, Verdict
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.io.state import Database, History, opened
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.testing import ScriptedJudge
from tests.bench.process import MIB

RUNS, EVERY = 20, 0.1
SHAPES = ((5, 800), (30, 100_000))
"""Documents of a run, and their characters."""
WORDS = [
    "ledger",
    "port",
    "canteen",
    "opens",
    "the",
    "third",
    "noon",
    "listens",
    "naïve",
    "Größe",
    "information",
    "retrieval",
    "answer",
]
ROW = 100_000
LARGEST = 1 << 40


async def judged(number: int, documents: int, characters: int, draw: random.Random) -> Evaluation:
    """A run whose documents are words and numbers."""
    texts = [
        " ".join(f"{draw.choice(WORDS)}{draw.randrange(1000)}" for _ in range(characters // 9))[:characters]
        for _ in range(documents)
    ]
    contexts = [Context(text, f"doc-{place}") for place, text in enumerate(texts)]
    run = RagRun("Which port?", [Retrieval(contexts)], "7443", trace_id=f"{number:032x}", span_id="00000000000000a1")
    verdicts = Judgement([Verdict(True)] * documents)
    return await evaluate(run, ScriptedJudge(lambda _: verdicts), [ContextPrecision()])


async def stalls(documents: int, characters: int, folder: Path) -> str:
    """A row: to hand a run over (median), and the gaps of the loop (99 %, longest)."""
    draw = random.Random(1)
    runs = [await judged(number, documents, characters, draw) for number in range(RUNS)]
    state = Database(folder / f"{characters}", max_size=LARGEST, max_age=1e9)
    history, gaps, taken = History(state), list[float](), list[float]()

    async def watch() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            gaps.append(now - last - 0.001)
            last = now

    watching = asyncio.create_task(watch())
    for number, run in enumerate(runs):
        began = time.perf_counter()
        history.finished(Finished(number.to_bytes(16), TraceOutcome.SCORED, service="shop", evaluations=[run]))
        taken.append(time.perf_counter() - began)
        await asyncio.sleep(EVERY)
    history.save()
    await state.flush()
    watching.cancel()
    assert not state.dropped
    await state.close()
    found = (median(taken), sorted(gaps)[int(len(gaps) * 0.99)], max(gaps))
    return f"| {documents} x {characters:,} | {' | '.join(f'{one * 1000:.1f} ms' for one in found)} |"


async def start(mib: int, folder: Path) -> str:
    """Seconds until a file is open, for a service and for a command."""
    state = opened(folder, max_size=LARGEST, max_age=1e9)
    for number in range(mib * MIB // ROW):
        state.write("INSERT INTO verdicts VALUES (?, 0, ?)", (str(number), "x" * ROW))
        if number % 100 == 0:
            await state.flush()
    await state.close()
    seconds = []
    for open_it in (opened, lambda folder, **kept: Database(folder / "state.sqlite3", **kept)):
        began = time.perf_counter()
        state = open_it(folder, max_size=LARGEST, max_age=1e9)
        seconds.append(time.perf_counter() - began)
        await state.close()
    size = (folder / "state.sqlite3").stat().st_size / MIB
    return f"{size:.0f} MiB: open for a service after {seconds[0]:.2f} s, for a command, looked through, {seconds[1]:.2f} s"


async def main(mib: int) -> None:
    """A table, and a line."""
    with tempfile.TemporaryDirectory() as folder:
        print("| documents x characters | handed over | gaps of the loop, 99 % | longest |\n|---|--:|--:|--:|")
        for shape in SHAPES:
            print(await stalls(*shape, Path(folder)), flush=True)
        print("\n" + await start(mib, Path(folder)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=800)
    asyncio.run(main(parser.parse_args().mib))
