"""`python -m tests.bench.line`: processor time of the whole line, from OTLP bytes to the emitted evaluation.

`otel-ctxscore serve` on one core gets OTLP/HTTP; the load, the receiver of evaluations and the scripted LLM, which
answers at once, are on the other. CPU time is the service's own, all threads, from the first request until nothing is
left to do; that of an idle service in the same time is taken off. Median of several turns after one that warms up.
"""

from __future__ import annotations

import http.client
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.judge import server
from tests.bench.process import MEASURED, OTHERS, cpu_seconds, on_core, resident_mib
from tests.bench.sink import Arrivals
from tests.bench.traces import SPANS, Traces
from tests.exposition import sums
from tests.serving import Serving

TURNS = 5
TOGETHER = 64
"""Traces a request."""
WINDOW, IDLE = 1.0, 0.04
"""Nothing is left to do where the service took less than this share of a core, twice for so many seconds."""
LIMIT = 300.0
RUNS, PLAIN, DROPPED = 320, 1536, 12_800
"""Traces a turn."""


@dataclass(frozen=True)
class Load:
    """What is sent, and how it is judged. `runs` says whether the result is told for a run or for a span."""

    name: str
    bodies: Sequence[bytes]
    traces: int
    config: Mapping[str, Any]
    runs: bool = False


@dataclass(frozen=True)
class Cost:
    """Of one thing. `state` is bytes of the state file for each trace that was sent."""

    name: str
    seconds: float
    resident: float
    state: float
    runs: bool

    def row(self) -> str:
        unit, scale = ("ms", 1e3) if self.runs else ("us", 1e6)
        return f"| {self.name} | {self.seconds * scale:.2f} {unit} | {1 / self.seconds:,.0f} | {self.resident:.0f} | {self.state:.0f} |"


@contextmanager
def served(folder: Path, config: Mapping[str, Any]) -> Iterator[tuple[Serving, int]]:
    """A service on the measured core, and its process id."""
    service = Serving(folder, config)
    with on_core(MEASURED):
        service.start()
    try:
        assert service.process is not None
        yield service, service.process.pid
    finally:
        service.stop()


def requests(pieces: Sequence[bytes]) -> list[bytes]:
    """Requests of TOGETHER traces."""
    return [b"".join(pieces[at : at + TOGETHER]) for at in range(0, len(pieces), TOGETHER)]


def send(url: str, bodies: Sequence[bytes]) -> None:
    """One after the other on one connection."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    for body in bodies:
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
    connection.close()


def until_idle(pids: Sequence[int]) -> None:
    """Return when none of these processes has anything left to do."""
    quiet, until = 0, time.monotonic() + LIMIT
    while quiet < 2:
        assert time.monotonic() < until, "the service does not come to rest"
        before, began = [cpu_seconds(pid) for pid in pids], time.monotonic()
        time.sleep(WINDOW)
        took = time.monotonic() - began
        busy = any(cpu_seconds(pid) - was > IDLE * took for pid, was in zip(pids, before, strict=True))
        quiet = 0 if busy else quiet + 1


def measure(load: Load, folder: Path, arrivals: Arrivals) -> Cost:
    """CPU seconds of the service for each run, or each span."""
    config = {
        "assembly": {"quiet_period": "500ms", "idle": "2s", "late_window": "1s"},
        "sinks": {"otlp": {"endpoint": arrivals.url, "protocol": "http/protobuf"}},
        **load.config,
    }
    with served(folder, config) as (service, pid):
        found = []
        until_idle([pid])
        share = len(load.bodies) // (TURNS + 1)
        count = load.traces / (TURNS + 1) * (1 if load.runs else SPANS)
        for turn in range(TURNS + 1):
            began, cpu = time.monotonic(), cpu_seconds(pid)
            send(service.http, load.bodies[turn * share : (turn + 1) * share])
            until_idle([pid])
            spent, took = cpu_seconds(pid) - cpu, time.monotonic() - began
            found.append((spent - took * _idle(pid)) / count)
        _check(load, sums(service.get("/metrics")))
        resident = resident_mib(pid)
    size = (folder / "state" / "state.sqlite3").stat().st_size
    return Cost(load.name, median(found[1:]), resident, size / load.traces, load.runs)


def _idle(pid: int, seconds: float = 3.0) -> float:
    """Share of a core that the process takes with nothing to do."""
    before = cpu_seconds(pid)
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / seconds


def _check(load: Load, seen: Mapping[str, float]) -> None:
    """All was taken, and each run was scored and sent."""
    spans = sum(seen[f"ctxscore_spans_total:{name}"] for name in ("kept", "sampled_out"))
    assert spans == load.traces * SPANS, (load.name, seen)
    if load.runs:
        assert seen["ctxscore_traces_total:scored"] == load.traces, (load.name, seen)
        assert seen["ctxscore_evaluations_total:ok"] >= load.traces, (load.name, seen)


def loads(url: str) -> Iterator[Load]:
    """From a span that is dropped to a run that an LLM judges."""
    traces, turns = Traces(), TURNS + 1
    plain = [traces.plain(traces.trace_id()) for _ in range(PLAIN * turns)]
    dropped = requests(plain[:TOGETHER]) * (DROPPED // TOGETHER * turns)
    runs = requests([b"".join(traces.rag(traces.trace_id())) for _ in range(RUNS * turns)])
    llm = {"type": "litellm", "model": "openai/scripted", "api_base": url, "api_key": "none"}
    yield Load("a span that sampling drops", dropped, TOGETHER * len(dropped), {"sampling": {"rate": 1e-9}})
    yield Load("a kept span of a trace without a retrieval", requests(plain), len(plain), {})
    yield Load("a run, local judge", runs, RUNS * turns, {}, runs=True)
    yield Load("a run, an LLM through litellm", runs, RUNS * turns, {"judge": llm}, runs=True)


def main() -> None:
    """One line a load."""
    print("| from OTLP/HTTP bytes | CPU | a CPU-second | resident MiB | state, bytes a trace |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as name, on_core(OTHERS), Arrivals() as arrivals, server(0.0) as url:
        for number, load in enumerate(loads(url)):
            print(measure(load, Path(name) / str(number), arrivals).row(), flush=True)


if __name__ == "__main__":
    main()
