"""The service as a process of its own, as its users run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from tests.services.process import HOST, free_port, wait_until

QUICK = {"assembly": {"quiet_period": "200ms", "late_window": "1s", "idle": "1s"}}
"""For tests that wait until traces are closed."""


class Serving:
    """`otel-ctxscore serve` on free ports, with `config` laid over the defaults.

    `grpc` and `admin` are HOST:PORT, `http` is a URL. `log` is what it wrote. Leaving the context stops it with
    SIGTERM and checks that it ends by itself.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.grpc, self.admin = f"{HOST}:{free_port()}", f"{HOST}:{free_port()}"
        http = f"{HOST}:{free_port()}"
        self.http = f"http://{http}"
        self.config = {
            "sources": {"otlp": {"grpc": self.grpc, "http": http}},
            "assembly": {"quiet_period": "500ms", "idle": "2s"},
            "admin": {"listen": self.admin},
            "state": {"path": str(folder / "state")},
            "shutdown": {"grace": "10s"},
            **config,
        }
        self.environ = dict(environ or {})
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Serving:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = self.stop()
        assert code == 0 or kind is not None, self.log

    def start(self) -> None:
        """Start it and wait until it is ready."""
        file = self.folder / "config.yaml"
        file.write_text(yaml.safe_dump(self.config))
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "otel_ctxscore", "serve", "-c", str(file)],
                stderr=log,
                stdout=log,
                env=self._env(),
            )
        wait_until(self._ready_or_dead, 90, "otel-ctxscore to be ready")
        assert self.process.poll() is None, self.log

    def _env(self) -> dict[str, str] | None:
        return {**os.environ, **self.environ} if self.environ else None

    def _ready_or_dead(self) -> bool:
        return (self.process is not None and self.process.poll() is not None) or self.status("/readyz") == 200

    def stop(self, with_signal: signal.Signals = signal.SIGTERM, timeout: float = 30) -> int:
        """Ask it to end, or kill it; the exit code."""
        if self.process is None:
            return 0
        process, self.process = self.process, None
        process.send_signal(with_signal)
        return process.wait(timeout)

    def status(self, path: str) -> int:
        """The status of an answer of the admin address; 0 where there is none."""
        try:
            with urllib.request.urlopen(f"http://{self.admin}{path}", timeout=5) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def get(self, path: str, accept: str = "*/*") -> str:
        """The text of an answer of the admin address."""
        request = urllib.request.Request(f"http://{self.admin}{path}", headers={"Accept": accept})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return str(answer.read().decode())

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()


def lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines; a last line that is not whole yet is left out."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
