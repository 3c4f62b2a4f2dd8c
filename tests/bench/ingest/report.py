"""The tables, and the goals they are held against."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable, Mapping, Sequence
from statistics import geometric_mean, median

from tests.bench.ingest.load import Cell
from tests.services.rotel import PACKAGE as ROTEL_PACKAGE

WALK, COLLECTOR, ROTEL = "parse and walk", "Collector, 5 %", "rotel"
Found = dict[tuple[str, str], list[float]]
"""Spans a CPU-second by server and cell, one a round."""
_LIBRARIES = ("grpcio", "aiohttp", "protobuf", "isal", "msgspec", "aiokafka")
LEGEND = """\
* **ours**: the receivers, sampling by trace id, assembly, and every kept span as an object in a closed trace. What sampling
  drops is not looked at beyond its trace id.
* **parse and walk**: the same receivers; protobuf (or `json.loads`) parses all, and Python visits every span and attribute.
* **Collector**: decodes all, drops 95 % by its probabilistic sampler, and throws the rest away (`nop`). It assembles nothing.
* **rotel**: decodes all and throws it away (`blackhole`). It neither samples nor assembles."""


def ours(rate: float) -> str:
    """The name of our server at a sampling rate."""
    return f"ours, {rate:.0%}"


AT_FIVE = ours(0.05)


def ratio(found: Found, cell: str, to: str) -> float:
    """How many times as many spans ours takes at 5 % as another, in the median round."""
    pairs = zip(found[AT_FIVE, cell], found[to, cell], strict=True)
    return median(own / other for own, other in pairs)


def versions() -> str:
    """What was measured."""
    named = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _LIBRARIES)
    rotel = ROTEL_PACKAGE.replace("==", " ")
    return f"Python {platform.python_version()}, {named}; OpenTelemetry Collector 0.165.1; {rotel} (PyPI)"


def servers(found: Found, cells: Sequence[Cell]) -> str:
    """Thousand spans a CPU-second of every server, and our multiple of the others at 5 %."""
    names = list(dict.fromkeys(name for name, _ in found))
    others = (WALK, COLLECTOR, ROTEL)
    head = ["thousand spans a CPU-second", *names, *(f"5 % / {name}" for name in others)]
    rows = [_row(head), _row(["---"] + ["--:"] * (len(head) - 1))]
    for cell in map(str, cells):
        speeds = [f"{median(found[name, cell]) / 1000:.0f}" for name in names]
        rows.append(_row([cell, *speeds, *(f"{ratio(found, cell, name):.2f}x" for name in others)]))
    means = [f"{geometric_mean(_ratios(found, name)):.2f}x" for name in others] if _eight(found) else []
    if means:
        rows.append(_row(["geometric mean of gRPC and HTTP", *[""] * len(names), *means]))
    return "\n".join([versions(), "", *rows, "", LEGEND])


def inputs(found: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Thousand spans a CPU-second of what is not a server: by input and way."""
    ways = list(dict.fromkeys(way for by_way in found.values() for way in by_way))
    rows = [_row(["thousand spans a CPU-second", *ways]), _row(["---"] + ["--:"] * len(ways))]
    for name, by_way in found.items():
        rows.append(_row([name, *(f"{median(by_way[way]) / 1000:.0f}" for way in ways)]))
    return "\n".join(rows)


def missed(found: Found) -> list[str]:
    """The goals at 5 % sampling that are not met, a line each."""
    eight = _eight(found)
    walk, rotel = geometric_mean(_ratios(found, WALK)), geometric_mean(_ratios(found, ROTEL))
    goals = [
        (walk >= 3.5, f"{walk:.2f}x parse-and-walk as geometric mean, goal 3.5x"),
        (rotel >= 1.3, f"{rotel:.2f}x rotel as geometric mean, goal 1.3x"),
    ]
    for cell in eight:
        slowest, collector = ratio(found, cell, WALK), ratio(found, cell, COLLECTOR)
        least = 3.0 if "rag gzip" in cell else 1.5
        goals.append((slowest >= 2, f"{cell}: {slowest:.2f}x parse-and-walk, goal 2x"))
        goals.append((collector >= least, f"{cell}: {collector:.2f}x the Collector, goal {least}x"))
    return [f"missed: {text}" for met, text in goals if not met]


def _eight(found: Found) -> list[str]:
    """The cells of protobuf over gRPC and HTTP; empty unless all were measured."""
    cells = [cell for cell in dict.fromkeys(cell for _, cell in found) if "JSON" not in cell]
    return cells if len(cells) == 8 else []


def _ratios(found: Found, to: str) -> list[float]:
    return [ratio(found, cell, to) for cell in _eight(found)]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
