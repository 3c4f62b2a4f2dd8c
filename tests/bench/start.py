"""`python -m tests.bench.start`: seconds from the start of `serve` to ready, with the defaults and the local judge.

CPU time of the process is what an idle core would take; the wall clock has whatever else the machine does in it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

from tests.bench.process import cpu_seconds
from tests.serving import Serving

ROUNDS = 7
PROMISED = 1.0


def started(folder: Path) -> tuple[float, float]:
    """CPU and wall seconds of one start."""
    began = time.perf_counter()
    with Serving(folder, {"state": {"path": str(folder / "state")}}) as service:
        wall = time.perf_counter() - began
        assert service.process is not None
        return cpu_seconds(service.process.pid), wall


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = [started(Path(folder) / str(turn)) for turn in range(ROUNDS)]
    cpu, wall = (median(column) for column in zip(*found, strict=True))
    print(
        f"start to ready, median of {ROUNDS}: {cpu:.2f} s CPU, {wall:.2f} s wall (promised <= {PROMISED:g} on an idle core)"
    )


if __name__ == "__main__":
    main()
