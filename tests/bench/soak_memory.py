"""`python -m tests.bench.soak_memory --minutes 30 --write`: memory and latency of the service under a steady load.

One `otel-ctxscore serve` gets OTLP/HTTP: each second some traces with a run, whose roots come a second after the rest,
and some without. The local judge screens all runs, a scripted LLM of 0.3 s judges a share of them, evaluations leave
for an OTLP receiver and a file. Meanwhile `/metrics`, the pages and the API are read. Exit 1 where memory has grown by
more than 5 % after the warm-up, or a run has no outcome.

The latency of a run is from the moment its trace was due (its last span was taken, and the quiet period is over) to
its evaluation at the receiver; the model's own 0.3 s and the sink's 0.1 s of collecting are in it.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import linear_regression, mean, quantiles

import aiohttp

from tests.bench.judge import server
from tests.bench.process import cpu_seconds, resident_mib, waited_seconds
from tests.bench.sink import Arrivals
from tests.bench.traces import CHARACTERS, CONTEXTS, Traces
from tests.exposition import sums
from tests.services.process import wait_until
from tests.serving import Serving

RESULT = Path(__file__).parent / "RESULTS-soak.md"
TICK = 0.1
RUNS, PLAIN = 2, 4
"""Traces with a run, and without, in each tick."""
SERVICES = 4
ROOT_AFTER = 10
"""Ticks."""
QUIET = 2.0
JUDGE_SECONDS, JUDGED = 0.3, 0.25
WARM_UP = 10
"""Minutes."""
GROWTH = 0.05
PROBE, READ = 0.25, 5.0
"""Seconds between two looks at how fast the event loop answers, and between two readings of pages and metrics."""
PAGES = (
    "/", "/runs", "/documents", "/why", "/api/v1/alarms", "/api/v1/documents",
    "/api/v1/runs?limit=50", "/api/v1/runs?limit=50&sort=worst&below=0.9&scorer=context_precision",
)  # fmt: skip
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


@dataclass
class Minute:
    """What was seen in one minute. Latencies and loop in ms."""

    rss: float = 0.0
    cpu: float = 0.0
    sent: int = 0
    latencies: list[float] = field(default_factory=list)
    loop: list[float] = field(default_factory=list)
    waited: float = 0.0
    open_traces: float = 0.0
    in_flight: float = 0.0
    oldest: float = 0.0

    def row(self, number: int) -> str:
        latencies, loop = _p50_p99(self.latencies), _p50_p99(self.loop)
        return (
            f"| {number} | {self.rss:.1f} | {self.cpu:.1f} | {self.waited:.1f} | {self.sent} | {len(self.latencies)} | {latencies} | {loop}"
            f" | {self.open_traces:.0f} | {self.in_flight:.0f} | {self.oldest:.1f} |"
        )


HEADER = """\
| minute | resident MiB | CPU s | waited s | runs sent | judged by the LLM | latency ms, p50 / p99 | loop ms, p50 / p99 | open traces | calls in flight | oldest s |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"""


def _p50_p99(values: Sequence[float]) -> str:
    if len(values) < 2:
        return "-"
    points = quantiles(values, n=100, method="inclusive")
    return f"{points[49]:.0f} / {points[98]:.0f}"


class Soak:
    """The load, and what is seen of the service meanwhile."""

    def __init__(self, service: Serving, arrivals: Arrivals, minutes: int) -> None:
        self.service, self.arrivals = service, arrivals
        self.minutes: list[Minute] = [Minute()]
        self.failures = self.refused = 0
        self._ticks = int(minutes * 60 / TICK)
        self._closed: dict[bytes, float] = {}
        self._over = threading.Event()
        self._waited = 0.0

    def run(self) -> None:
        """Load for the whole time, then wait until all that is open has left."""
        watchers = [threading.Thread(target=work) for work in (self._probe, self._read)]
        for watcher in watchers:
            watcher.start()
        try:
            asyncio.run(self._load())
        finally:
            self._over.set()
            for watcher in watchers:
                watcher.join()

    async def _load(self) -> None:
        traces, roots = Traces(services=SERVICES), deque[list[tuple[bytes, bytes]]]()
        assert self.service.process is not None
        pid = self.service.process.pid
        cpu, began = cpu_seconds(pid), time.monotonic()
        async with aiohttp.ClientSession() as session:
            for tick in range(1, self._ticks + 1):
                ids = [traces.trace_id() for _ in range(RUNS)]
                runs = [traces.rag(trace_id) for trace_id in ids]
                roots.append([(trace_id, root) for trace_id, (_, root) in zip(ids, runs, strict=True)])
                ended = roots.popleft() if len(roots) > ROOT_AFTER else []
                body = [rest for rest, _ in runs] + [root for _, root in ended]
                body += [traces.plain(traces.trace_id()) for _ in range(PLAIN)]
                await self._send(session, b"".join(body))
                self._closed.update((trace_id, time.monotonic() + QUIET) for trace_id, _ in ended)
                self.minutes[-1].sent += len(ended)
                if tick % int(60 / TICK) == 0:
                    cpu = self._end_minute(pid, cpu)
                await asyncio.sleep(began + tick * TICK - time.monotonic())
            last = [entry for left in roots for entry in left]
            await self._send(session, b"".join(root for _, root in last))
            self.minutes[-1].sent += len(last)

    async def _send(self, session: aiohttp.ClientSession, body: bytes) -> None:
        headers = {"Content-Type": "application/x-protobuf"}
        async with session.post(f"{self.service.http}/v1/traces", data=body, headers=headers) as answer:
            self.refused += answer.status != 200

    def _end_minute(self, pid: int, cpu: float) -> float:
        minute, now = self.minutes[-1], cpu_seconds(pid)
        minute.rss, minute.cpu = resident_mib(pid), now - cpu
        waited = waited_seconds(pid)
        minute.waited, self._waited = waited - self._waited, waited
        for trace_id in list(self.arrivals.at):
            if (closed := self._closed.pop(trace_id, None)) is not None:
                minute.latencies.append((self.arrivals.at.pop(trace_id) - closed) * 1000)
        old = time.monotonic() - 60
        self._closed = {trace_id: at for trace_id, at in self._closed.items() if at > old}
        print(minute.row(len(self.minutes)), flush=True)
        self.minutes.append(Minute())
        return now

    def _probe(self) -> None:
        """How long the event loop takes to answer: as much as what it does just then."""
        while not self._over.wait(PROBE):
            began = time.perf_counter()
            self._get("/healthz")
            self.minutes[-1].loop.append((time.perf_counter() - began) * 1000)

    def _read(self) -> None:
        turn = 0
        while not self._over.wait(READ):
            turn += 1
            self._get(PAGES[turn % len(PAGES)])
            self._get("/metrics", OPENMETRICS)
            seen, minute = sums(self._get("/metrics")), self.minutes[-1]
            minute.open_traces = max(minute.open_traces, seen.get("ctxscore_open_traces", 0))
            minute.in_flight = max(minute.in_flight, seen.get("ctxscore_judge_in_flight", 0))
            minute.oldest = max(minute.oldest, seen.get("ctxscore_oldest_waiting_seconds", 0))

    def _get(self, path: str, accept: str = "*/*") -> str:
        """The text of an answer; a failure is counted and gives none."""
        try:
            return self.service.get(path, accept)
        except OSError:
            self.failures += 1
            return ""


@dataclass(frozen=True)
class Found:
    """What comes of the minutes after the warm-up. `outcomes` counts traces with a run."""

    minutes: Sequence[Minute]
    sent: int
    outcomes: float
    refused: int
    failures: int
    series: int

    @property
    def growth(self) -> float:
        """Of the straight line through the memory of these minutes: its rise over them, as a share of their mean."""
        rss = [minute.rss for minute in self.minutes]
        if len(rss) < 2:
            return 0.0
        return linear_regression(range(len(rss)), rss).slope * (len(rss) - 1) / mean(rss)

    @property
    def spread(self) -> float:
        """Of the highest memory over the lowest one, as a share of the mean."""
        rss = [minute.rss for minute in self.minutes]
        return (max(rss) - min(rss)) / mean(rss)

    @property
    def right(self) -> bool:
        return self.growth <= GROWTH and self.sent == self.outcomes and not self.refused


def soak(minutes: int) -> tuple[Soak, Found]:
    """Run it in a folder that goes away."""
    with tempfile.TemporaryDirectory() as name, Arrivals() as arrivals, server(JUDGE_SECONDS) as url:
        folder = Path(name)
        llm = {"type": "litellm", "model": "openai/scripted", "api_base": url, "api_key": "none"}
        config = {
            "assembly": {
                "quiet_period": f"{QUIET:g}s", "idle": "10s", "max_age": "60s", "late_window": "60s",
            },
            "judge": {"type": "sampled", "rate": JUDGED, "llm": llm},
            "sinks": {
                "otlp": {"endpoint": arrivals.url, "protocol": "http/protobuf"},
                "jsonl": {"path": str(folder / "scores.jsonl")},
            },
            "state": {"path": str(folder / "state"), "max_size": "64MiB"},
        }  # fmt: skip
        with Serving(folder, config) as service:
            load = Soak(service, arrivals, minutes)
            load.run()
            wait_until(lambda: _open(service) == 0, 180, "the last traces to leave")
            text = service.get("/metrics")
            seen, series = sums(text), sum(not line.startswith("#") for line in text.splitlines())
            outcomes = sum(seen[f"ctxscore_traces_total:{name}"] for name in ("scored", "screened"))
        measured = load.minutes[min(WARM_UP, minutes // 3) : minutes]
        sent = sum(minute.sent for minute in load.minutes)
        return load, Found(measured, sent, outcomes, load.refused, load.failures, series)


def _open(service: Serving) -> float:
    return sums(service.get("/metrics"))["ctxscore_open_traces"]


def main() -> int:
    """Run the soak, print and, with --write, keep what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    asked = parser.parse_args()
    print(HEADER, end="")
    load, found = soak(asked.minutes)
    print(f"\n{_summary(found)}")
    if asked.write:
        rows = "".join(f"{minute.row(n)}\n" for n, minute in enumerate(load.minutes[: asked.minutes], start=1))
        RESULT.write_text(_page(asked.minutes, found, rows))
    return 0 if found.right else 1


def _summary(found: Found) -> str:
    rss = [minute.rss for minute in found.minutes]
    latencies = [latency for minute in found.minutes for latency in minute.latencies]
    loop = [answer for minute in found.minutes for answer in minute.loop]
    rows = {
        f"resident memory in the {len(rss)} minutes after the warm-up": f"{min(rss):.1f} to {max(rss):.1f} MiB",
        "growth over them, by the straight line through them": f"{found.growth:+.1%} (goal: at most {GROWTH:.0%})",
        "between the highest and the lowest minute": f"{found.spread:.1%}",
        "from due to the evaluation at the receiver, p50 / p99": f"{_p50_p99(latencies)} ms",
        "an answer of the event loop to `/healthz`, p50 / p99": f"{_p50_p99(loop)} ms",
        "CPU of the service": f"{sum(minute.cpu for minute in found.minutes) / (60 * len(rss)):.1%} of one core",
        "its event loop was ready to run and had no core": f"{sum(minute.waited for minute in found.minutes) / (60 * len(rss)):.1%} of the time",
        "traces with a run, sent / scored or screened": f"{found.sent} / {found.outcomes:.0f}",
        "requests that were not taken; readings of pages and metrics that failed": f"{found.refused}; {found.failures}",
        f"series in `/metrics`, of {SERVICES} services": found.series,
    }
    return "| | |\n|---|---|\n" + "".join(f"| {what} | {value} |\n" for what, value in rows.items())


def _page(minutes: int, found: Found, rows: str) -> str:
    return f"""# Memory and latency under a steady load

`python -m tests.bench.soak_memory --minutes {minutes} --write`, Python {platform.python_version()}, on two cores that other work shared: latencies are
the wall clock's and have that work in them; memory and CPU time are the process's own.

{RUNS / TICK:g} traces with a run (8 spans, {CONTEXTS} documents of {CHARACTERS} characters) and {PLAIN / TICK:g} without (8 spans) a second by OTLP/HTTP. `judge.type: sampled`:
the local judge sees all runs, a scripted LLM that answers after {JUDGE_SECONDS:g} s a share of {JUDGED:g} and more where the local one is
unsure. Evaluations go to an OTLP receiver and a file; `state.max_size: 64MiB` with text. `/metrics` is read twice and one
page or view of the API once in {READ:g} s. A latency runs from the moment a trace was due to its evaluation at the receiver: the
LLM's {JUDGE_SECONDS:g} s and the sink's 0.1 s of collecting are in it. Open traces, calls in flight and the age of the oldest trace
are the highest that a scrape saw. "Loop" is the time of an answer to `/healthz`; "waited" is how long the
service's main thread was ready to run and had no core: the machine's part in these times. A closed trace is remembered
for two minutes here, and warm-up is {WARM_UP} minutes.

{_summary(found)}
{HEADER}{rows}"""


if __name__ == "__main__":
    sys.exit(main())
