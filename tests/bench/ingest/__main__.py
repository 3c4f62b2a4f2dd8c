"""`make bench-ingest`: spans that a CPU-second takes in, beside parse-and-walk, the OpenTelemetry Collector and rotel.

The servers run on one core and the load source on the other; the processor time of the server's process counts, not the
clock. All get the same bytes, in turn, in every round: several bursts, of which the best counts. Ratios are of each
round's own pair; the median round is shown.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

from tests.bench.ingest import inputs, report
from tests.bench.ingest.load import CONNECTIONS, Cell, Source, measure
from tests.bench.ingest.sinks import LOAD_CORE, SAMPLED, DiscardingRotel, Own, SamplingCollector
from tests.bench.ingest.traffic import KINDS, requests
from tests.services.catalogue import lacking
from tests.services.errors import ServiceError
from tests.services.process import Server

RATES = (0.01, SAMPLED, 1.0)
CELLS = [
    *(Cell(protocol, kind, zipped) for protocol in ("gRPC", "HTTP") for kind in KINDS for zipped in (False, True)),
    *(Cell("HTTP JSON", kind, False) for kind in KINDS),
]


def main() -> int:
    """Measure what is asked for and print the tables and the goals that are missed; 1 where a server is not installed."""
    asked = _arguments()
    if missing := [why for name in ("h2load", "collector", "rotel", "kafka") if (why := lacking(name))]:
        print(*missing, sep="\n", file=sys.stderr)
        return 1
    os.sched_setaffinity(0, {LOAD_CORE})  # load sources inherit it; a server is put on its own core
    cells = [cell for cell in CELLS if asked.only in str(cell)]
    with tempfile.TemporaryDirectory() as folder:
        found = Bench(Path(folder)).run(cells, asked.rounds, asked.seconds)
        print(report.servers(found, cells), flush=True)
        read = {} if asked.only else inputs.run(Path(folder), asked.rounds)
    if read:
        print("\n" + report.inputs(read))
        print("", *(report.missed(found) or ["every goal is met"]), sep="\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU-seconds of each measurement, about")
    parser.add_argument("--only", default="", help="cells whose name has this in it, and no other input")
    return parser.parse_args()


class Bench:
    """All servers and all bodies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._requests = {kind: requests(kind, CONNECTIONS) for kind in KINDS}
        self._own = {report.ours(rate): Own(folder / f"own-{rate:g}", f"{rate:g}") for rate in RATES}
        self._others: dict[str, Server] = {
            report.WALK: Own(folder / "walk", "walk"),
            report.COLLECTOR: SamplingCollector(folder / "collector"),
            report.ROTEL: DiscardingRotel(folder / "rotel"),
        }
        self._expected: dict[str, int] = defaultdict(int)

    def run(self, cells: list[Cell], rounds: int, seconds: float) -> report.Found:
        """Every server with every cell, in turn, in each round."""
        found: report.Found = defaultdict(list)
        servers = self._own | self._others
        with ExitStack() as stack:
            for server in servers.values():
                stack.enter_context(server)
            for number in range(rounds):
                for cell in cells:
                    source = self._source(cell)
                    for name, server in servers.items():
                        found[name, str(cell)].append(self._measure(name, server, source, seconds))
                    print(f"round {number + 1}, {cell}", file=sys.stderr, flush=True)
        self._check()
        return found

    def _measure(self, name: str, server: Server, source: Source, seconds: float) -> float:
        measured = measure(source, server.endpoints(), server.pid, seconds)
        if name in self._own:
            of_each = [request.kept for request in self._requests[source.cell.kind]]
            kept = sum(one[float(self._own[name].way)] for one in of_each)
            self._expected[name] += measured.requests // CONNECTIONS * kept
        return measured.rate

    def _source(self, cell: Cell) -> Source:
        files = []
        for number, request in enumerate(self._requests[cell.kind]):
            file = self._folder / f"{cell} {number}"
            if not file.exists():
                file.write_bytes(cell.body(request))
            files.append(file)
        return Source(cell, files)

    def _check(self) -> None:
        """Raise where a server of ours did not open what it had to: then it was not measured but idle."""
        for name, server in self._own.items():
            counts = server.counts()
            if counts["spans"] != self._expected[name]:
                raise ServiceError(f"{name}: {self._expected[name]} spans were to be opened, not {counts}")


if __name__ == "__main__":
    sys.exit(main())
