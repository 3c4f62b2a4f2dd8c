"""Sends requests by h2load from one core and reads what a process on the other core spends."""

from __future__ import annotations

import ctypes
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from tests.bench.codec import SPANS
from tests.bench.ingest.traffic import Kind, Request
from tests.services.errors import ServiceError
from tests.services.tools import found

CONNECTIONS = 4
"""Each with one request under way, and a body of its own: no two requests that meet in the server share a trace."""
WARM_UP = 10
"""Requests of each connection before a process is measured, which also tell how many make up the wanted time."""
BURSTS = 4
"""Parts of a measurement, of which the best counts: whatever else the machine does only makes a process slower."""
_GRPC = {"content-type": "application/grpc", "te": "trailers"}
_SERVICE = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@dataclass(frozen=True)
class Cell:
    """One way to send one kind of traffic."""

    protocol: Literal["gRPC", "HTTP", "HTTP JSON"]
    kind: Kind
    compressed: bool

    def __str__(self) -> str:
        return f"{self.protocol} {self.kind}{' gzip' if self.compressed else ''}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of each request."""
        if self.protocol == "gRPC":
            return _GRPC | ({"grpc-encoding": "gzip"} if self.compressed else {})
        kind = {"content-type": "application/json" if self.protocol == "HTTP JSON" else "application/x-protobuf"}
        return kind | ({"content-encoding": "gzip"} if self.compressed else {})

    def body(self, request: Request) -> bytes:
        """What is sent of a request."""
        if self.protocol == "gRPC":
            return request.grpc(compressed=self.compressed)
        return request.http(compressed=self.compressed, json=self.protocol == "HTTP JSON")


@dataclass(frozen=True)
class Source:
    """The bodies of a cell in files, sent to a server."""

    cell: Cell
    files: Sequence[Path]

    def send(self, endpoints: Mapping[str, str], count: int) -> int:
        """Send `count` requests on each connection; how many that were. Raises ServiceError where one was refused."""
        running = [
            subprocess.Popen(
                self._command(endpoints, file, count), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            for file in self.files
        ]
        for process in running:
            said, _ = process.communicate()
            answered = re.search(r"status codes: (\d+) 2xx", said)
            if process.returncode or answered is None or int(answered[1]) != count:
                raise ServiceError(f"{self.cell}: not every request was answered with success:\n{said}")
        return count * len(self.files)

    def _command(self, endpoints: Mapping[str, str], file: Path, count: int) -> list[str]:
        over_grpc = self.cell.protocol == "gRPC"
        url = f"http://{endpoints['grpc']}{_SERVICE}" if over_grpc else f"{endpoints['http']}/v1/traces"
        headers = [f"--header={name}: {value}" for name, value in self.cell.headers.items()]
        version = [] if over_grpc else ["--h1"]
        return [self._program, *version, "-c1", "-m1", f"-n{count}", *headers, f"--data={file}", url]

    @cached_property
    def _program(self) -> str:
        return str(found("h2load"))


@dataclass(frozen=True)
class Measured:
    """What a measurement found: spans a CPU-second, and the requests that were sent in all."""

    rate: float
    requests: int


def measure(source: Source, endpoints: Mapping[str, str], pid: int, seconds: float) -> Measured:
    """Warm up, then send requests worth about so many CPU-seconds of the process, in bursts."""
    before = cpu_seconds(pid)
    sent = source.send(endpoints, WARM_UP)
    each = max(cpu_seconds(pid) - before, 0.001) / sent
    count, best = max(WARM_UP, round(seconds / BURSTS / each / CONNECTIONS)), 0.0
    for _ in range(BURSTS):
        before = cpu_seconds(pid)
        burst = source.send(endpoints, count)
        time.sleep(0.02)  # what a server does after its last answer belongs to the request
        best = max(best, burst * SPANS / (cpu_seconds(pid) - before))
        sent += burst
    return Measured(best, sent)


def cpu_seconds(pid: int) -> float:
    """Processor time of a process, with all its threads, also those that have ended."""
    clock = ctypes.c_int()
    if ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock)):
        raise ServiceError(f"process {pid} has no processor clock: it has ended")
    return time.clock_gettime(clock.value)
