"""What a process that takes in traces all day asks of the libraries below it. For the start of `serve`."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_HELD_BY_MALLOC = 16 << 20
_GC_THRESHOLD = 10_000


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to its end, and return what it returns, what is to take in a steady stream of requests. Call it once
    everything is imported and before a server starts. What the environment sets holds.

    * The event loop is uvloop's: a tenth less of processor time a request than asyncio's own.
    * malloc keeps up to 16 MiB that are free for the next request, where it would give each request's memory back to
      the kernel and fault it in again, page by page.
    * The garbage collector leaves alone what was imported, and looks at new objects less often: spans hold no cycles.
    """
    _tune()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


def _tune() -> None:
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        _keep_freed_memory()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)


def _keep_freed_memory() -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc only
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _HELD_BY_MALLOC)
        mallopt(_M_MMAP_THRESHOLD, _HELD_BY_MALLOC)
