"""A process that takes in traces keeps what the environment says, collects less often and runs on uvloop."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import asyncio, ctypes, gc
asked = []
class Libc:
    @staticmethod
    def mallopt(parameter, value): asked.append((parameter, value))
ctypes.CDLL = lambda name: Libc
import otel_ctxscore.io, os
from otel_ctxscore.io import process
async def loop(): return type(asyncio.get_running_loop()).__module__
print(process.run(loop()), gc.get_threshold()[0], gc.get_freeze_count() > 0, len(asked), os.environ["GRPC_EXPERIMENTS"])
"""


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "uvloop 10000 True 2 -event_engine_listener"),
        ({"MALLOC_TRIM_THRESHOLD_": "1", "GRPC_EXPERIMENTS": "theirs"}, "uvloop 10000 True 0 theirs"),
    ],
)
def test_run(environment: dict[str, str], expected: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, cwd="."
    )
    assert done.stdout.strip() == expected
