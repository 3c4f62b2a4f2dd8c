"""How long the page takes over a full state: `python -m tests.bench.page [--traces N] [--runs N] [--state FOLDER]`.

A ledger of 1,000,000 traces and 100,000 runs with text. Each view is asked five times over HTTP; the median
counts, and the slowest is said. Exit 1 where one takes longer than 200 ms, or the file has grown beyond its bound.
With a folder the state stays there, and is used again.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

from aiohttp.test_utils import TestClient, TestServer

from otel_ctxscore.config.outlets import Admin
from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.model import Context, Evaluation, Judgement, RagRun, Retrieval, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.io.state import Database, History
from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus, Circumstances, Pace, Series
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.testing import ScriptedJudge
from otel_ctxscore.web.app import application
from tests.web.fakes import FakeService, NoReview, snapshot

LIMIT = 0.2
MAX_SIZE = 1 << 30
DOCUMENTS, SERVICES, WORDS, TENANTS = 5000, 8, 120, 50
MONTH = 30 * 86400.0


class Past:
    """A month of traffic, whose clock goes with it."""

    def __init__(self, folder: Path, traces: int) -> None:
        self.began = time.time() - MONTH
        self.now = self.began
        self.step = MONTH / traces
        self.database = Database(folder / "state", max_size=MAX_SIZE, max_age=2 * MONTH, content_max_age=2 * MONTH)
        self.history = History(self.database, segments={"release": "v", "tenant": "t"}, clock=lambda: self.now)
        self.draw = random.Random(7)

    async def fill(self, traces: int, runs: int) -> None:
        """Every so many traces one has a run; the others are none."""
        for n in range(traces):
            self.now = self.began + n * self.step
            evaluations = [await self._evaluation(n)] if n % (traces // runs) == 0 else []
            self.history.finished(self._finished(n, evaluations))
            if n % 2000 == 0:
                await self.database.flush()
        await self.database.flush()

    def _finished(self, n: int, evaluations: list[Evaluation]) -> Finished:
        trace_id = trace(n)
        if evaluations:
            return Finished(trace_id, TraceOutcome.SCORED, service=evaluations[0].run.service, evaluations=evaluations)
        reason = Reason.NO_CONTENT if n % 3 else None
        outcome = TraceOutcome.UNSCORED if reason else TraceOutcome.NOT_RAG
        return Finished(trace_id, outcome, reason, f"service {n % SERVICES}", spans=12)

    async def _evaluation(self, n: int) -> Evaluation:
        draw = self.draw
        names = [int(DOCUMENTS * draw.random() ** 2) for _ in range(5)]
        contexts = [Context(text(draw, WORDS), f"doc-{name}", source=f"https://docs.example/{name}") for name in names]
        run = RagRun(
            text(draw, 10), [Retrieval(contexts)], text(draw, 60), trace_id=trace(n).hex(), span_id="00000000000000a1",
            service=f"service {draw.randrange(SERVICES)}", attributes={"v": f"r{n * 20 // 1_000_000}", "t": f"tenant {draw.randrange(TENANTS)}"},
        )  # fmt: skip
        verdicts = Judgement([Verdict(draw.random() < 0.6, note="a short note") for _ in contexts])
        it = await evaluate(run, ScriptedJudge(lambda _: verdicts), [ContextPrecision()])
        if n % 200:
            return it
        unscored = [replace(one, value=None, ratio=None, unscored=Reason.JUDGE_REFUSED) for one in it.scores]
        return replace(it, scores=unscored, outcome=TraceOutcome.UNSCORED, reason=Reason.JUDGE_REFUSED)


def trace(n: int) -> bytes:
    """A trace id as random as real ones are."""
    return random.Random(n).randbytes(16)


def text(draw: random.Random, words: int) -> str:
    """So many words of no meaning."""
    return " ".join(draw.choices(("ledger", "port", "canteen", "opens", "the", "third", "noon", "listens"), k=words))


ALARM = "a1b2c3d4e5"
ABSENT = f"/why?trace_id={'0' * 32}"
"""Of a trace that nobody knows, which is a 404."""
VIEWS = (
    "/",
    "/?since=7d",
    "/?since=30d",
    "/?since=30d&service=service+3",
    "/segments",
    "/segments?since=30d",
    "/segments?since=30d&service=service+3&segment=tenant&scorer=context_precision",
    "/alarms",
    f"/alarms/{ALARM}",
    "/runs",
    "/runs?sort=newest",
    "/runs?limit=200",
    "/runs?service=service+3&scorer=context_precision",
    "/runs?scorer=reciprocal_rank&below=0.4&since=7d",
    "/runs?outcome=unscored",
    "/runs?outcome=unscored&sort=newest",
    "/runs?reason=judge_refused&service=service+3",
    "/runs?reason=judge_truncated",
    "/runs?reason=judge_truncated&sort=newest",
    "/runs?segment=release&value=r3",
    "/runs?segment=release&value=none&sort=newest",
    "/runs?scorer=context_precision&below=0.01&until=2020-01-01&sort=newest",
    "/runs?since=1h",
    "/runs?cursor=0.5%2C0",
    "/documents?since=7d",
    "/documents?since=30d",
    "/documents?since=30d&by=source&service=service+3",
    f"/why?trace_id={trace(100).hex()}",
    f"/why?trace_id={trace(101).hex()}",
    ABSENT,
    "/api/v1/runs?limit=200",
    "/api/v1/overview?since=30d",
    "/api/v1/segments?since=30d&limit=200",
    f"/api/v1/alarms/{ALARM}",
)


async def service(past: Past) -> FakeService:
    """A service with that past, and an alarm about the middle of it."""
    [version] = [one.version for one in await past.history.hours.evaluators() if one.scorer == "context_precision"]
    series = Series("service 3", "context_precision", version)
    began = past.began + MONTH / 2
    record = AlarmRecord(ALARM, *series, rose=began + 86400, began=began, reference=0.9, mean=0.7)
    known = Circumstances(Pace(), segments=("release", "tenant"))
    status = AlarmStatus("alarm", 1.5, 0.9, record=record)
    return FakeService(
        history=past.history, segments=("release", "tenant"), known=known, kept={ALARM: record},
        series=[(series, status)], shown=snapshot(alarms=[record]),
    )  # fmt: skip


async def measured(http: TestClient, path: str) -> list[tuple[float, float]]:  # type: ignore[type-arg]
    """Seconds of five answers, and those that the processor worked for them, asking included."""
    found: list[tuple[float, float]] = []
    for _ in range(5):
        began, worked = time.perf_counter(), time.process_time()
        answer = await http.get(path)
        await answer.read()
        assert answer.status == (404 if path == ABSENT else 200), f"{path}: {answer.status}"
        found.append((time.perf_counter() - began, time.process_time() - worked))
    return found


async def main(traces: int, runs: int, folder: Path) -> int:
    filled = (folder / "state").exists()
    past = Past(folder, traces)
    began = time.perf_counter()
    if not filled:
        await past.fill(traces, runs)
    size = await past.database.size()
    rate = "used again" if filled else f"kept at {traces / (time.perf_counter() - began):.0f} traces/s"
    print(f"{traces} traces, {runs} runs: {size / 2**20:.0f} MiB, {rate}")
    app = application(Admin(), await service(past), Metrics(), NoReview())
    async with TestClient(TestServer(app)) as http:
        first = (await (await http.get("/api/v1/runs")).json())["runs"][0]["run_id"]
        times = {path: await measured(http, path) for path in (*VIEWS, f"/runs/{first}")}
    took = {path: median(wall for wall, _ in found) for path, found in times.items()}
    print("   median  slowest      CPU")
    for path, found in sorted(times.items(), key=lambda one: -took[one[0]]):
        slow = "  TOO SLOW" if took[path] > LIMIT else ""
        seconds = (took[path], max(wall for wall, _ in found), median(worked for _, worked in found))
        print(" ".join(f"{one * 1000:6.1f}ms" for one in seconds), f" {path}{slow}")
    dropped = past.database.dropped
    await past.database.close()
    print(f"{dropped} writes dropped")
    return int(max(took.values()) > LIMIT or size > MAX_SIZE or dropped > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--state", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(asyncio.run(main(given.traces, given.runs, given.state or Path(temporary))))
