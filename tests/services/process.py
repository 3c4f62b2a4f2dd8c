"""One server process: free ports, a log file, waiting until it is really ready, and its clean end."""

from __future__ import annotations

import atexit
import contextlib
import os
import random
import signal
import socket
import subprocess
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Self, TypeVar

from tests.services.errors import ServiceError, tail

HOST = "127.0.0.1"
POLL = 0.05
GRACE = 20.0
# Below the range from which Linux takes ports for outgoing connections (from 32768 on): a client that tries again
# and again to reach a stopped server could otherwise be given that very port, and meet itself.
PORTS = range(20000, 32000)

T = TypeVar("T")
_given: set[int] = set()
_random = random.SystemRandom()  # a seeded generator would give two test runs the same ports


def free_port() -> int:
    """A port on loopback that nobody listens on and that this process has not been given before."""
    while True:
        port = _random.choice(PORTS)
        if port not in _given and _is_free(port):
            _given.add(port)
            return port


def free_endpoint() -> str:
    """The same as HOST:PORT."""
    return f"{HOST}:{free_port()}"


def _is_free(port: int) -> bool:
    with socket.socket() as probe, contextlib.suppress(OSError):
        # As servers do: a port whose last connections still linger in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return True
    return False


def wait_until(probe: Callable[[], T | None], timeout: float, what: str) -> T:
    """The first true answer of `probe`. OSError (so also a failed HTTP request) counts as "not yet".

    Raises ServiceError naming `what` and the last OSError after `timeout` seconds; a last look is taken then, however
    long the one before took.
    """
    last: OSError | None = None
    deadline = time.monotonic() + timeout
    over = False
    while True:
        try:
            if answer := probe():
                return answer
        except OSError as error:
            last = error
        if over:
            break
        time.sleep(POLL)
        over = time.monotonic() >= deadline
    raise ServiceError(f"no {what} within {timeout:.0f} s" + (f" ({last})" if last else ""))


class Server(ABC):
    """A server in a folder of its own, which holds its data, its configuration and its log.

    A context manager that starts it and stops it. The ports are chosen when the object is made and stay the same
    over a stop and a start. `start_timeout` is generous: a busy machine is no failure.
    """

    name: ClassVar[str]
    start_timeout: ClassVar[float] = 60

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.log = folder / f"{self.name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @abstractmethod
    def command(self) -> list[str | Path]:
        """What to run, in `folder`. Called at each start; it writes the configuration and raises if not installed."""

    @abstractmethod
    def ready(self) -> bool:
        """Whether the server does its work now; an OSError counts as no."""

    @abstractmethod
    def endpoints(self) -> Mapping[str, str]:
        """What a client connects to, by what it is."""

    def environment(self) -> dict[str, str]:
        """Of the process: ours, without what a test may have set for OpenTelemetry in its own process."""
        return {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the running process."""
        if self._process is None:
            raise ServiceError(f"{self.name} is not running")
        return self._process.pid

    def start(self) -> Self:
        """Start it and wait until it is ready. ServiceError with the end of the log if it ends or does not get so."""
        if self.running:
            raise ServiceError(f"{self.name} is already running")
        self._spawn(self.command())
        try:
            wait_until(self._ready_or_dead, self.start_timeout, f"readiness of {self.name}")
        except BaseException as error:
            self.kill()
            if isinstance(error, ServiceError):
                raise ServiceError(f"{error}; the end of {self.log}:{self.log_tail()}") from error
            raise
        return self

    def stop(self, grace: float = GRACE) -> None:
        """Ask it to end (SIGTERM) and wait; after `grace` seconds kill it. Nothing if it is not running."""
        if self.running and self._process is not None:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace)
        self.kill()

    def kill(self) -> None:
        """End it and its children at once (SIGKILL), as a crash would."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def restart(self) -> Self:
        """Stop it and start it on the same data and ports."""
        self.stop()
        return self.start()

    def log_text(self) -> str:
        """What it has written since its last start."""
        with self.log.open("rb") as file:
            file.seek(self._log_start)
            return file.read().decode(errors="replace")

    def log_tail(self) -> str:
        """The end of that, indented."""
        return tail(self.log_text())

    def _spawn(self, command: list[str | Path]) -> None:
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            # A session of its own makes a process group of its own: Ctrl-C in the terminal does not reach it
            # before its users are done, and its children can be ended with it.
            self._process = subprocess.Popen(
                [str(word) for word in command],
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        _started.add(self)

    def _ready_or_dead(self) -> bool:
        code = self._process.poll() if self._process else None
        if code is not None:
            raise ServiceError(f"{self.name} ended with {code} while starting")
        return self.ready()

    def _signal(self, number: signal.Signals) -> None:
        # The group may be gone already, or only children of the process may be left in it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)


_started: weakref.WeakSet[Server] = weakref.WeakSet()


@atexit.register
def _kill_all() -> None:
    """So that a server started without `with` does not outlive the tests."""
    for server in list(_started):
        server.kill()
