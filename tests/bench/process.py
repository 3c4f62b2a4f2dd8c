"""What a process took: processor time, memory; and on which core it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 1 << 20
MEASURED, OTHERS = 0, 1
"""Cores: what is measured runs on the first one, what loads it and answers it on the second."""
_CORES = sorted(os.sched_getaffinity(0))
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used, in user and kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def waited_seconds(pid: int) -> float:
    """Time that the main thread of a process could have run and had no core: the machine's share of any delay."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def resident_mib(pid: int | None = None) -> float:
    """Memory of a process (None: this one) that lies in RAM."""
    pages = Path(f"/proc/{pid or os.getpid()}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / MIB


def written_bytes(pid: int) -> int:
    """Bytes that a process has handed to write, writev and sendfile: files and sockets."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("wchar:")).split()[1])


@contextmanager
def on_core(number: int) -> Iterator[None]:
    """What is started inside stays on one core, as far as the machine has so many."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {_CORES[min(number, len(_CORES) - 1)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
