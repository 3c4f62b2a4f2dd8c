"""rotel, a collector in Rust: the program inside a wheel on PyPI, in a folder of its own."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from tests.services.cache import Artefact
from tests.services.errors import ServiceError
from tests.services.process import Server, free_endpoint
from tests.services.tools import run

PACKAGE = "rotel==0.0.1a15"


def _install(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:"]
    run([*pip, "--target", folder, PACKAGE])


ROTEL = Artefact("rotel", f"pip {PACKAGE}", _install)


class Rotel(Server):
    """Takes OTLP on `grpc` (HOST:PORT) and `http` (a URL), and throws it away."""

    name = "rotel"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.grpc = free_endpoint()
        self.http = f"http://{free_endpoint()}"

    def endpoints(self) -> dict[str, str]:
        return {"grpc": self.grpc, "http": self.http}

    def command(self) -> list[str | Path]:
        if not ROTEL.installed():
            raise ServiceError("rotel is not installed")
        http = self.http.removeprefix("http://")
        listening = ["--otlp-grpc-endpoint", self.grpc, "--otlp-http-endpoint", http]
        return [ROTEL.folder / "rotel" / "rotel-agent", "start", "--exporter", "blackhole", *listening]

    def ready(self) -> bool:
        for endpoint in (self.grpc, self.http.removeprefix("http://")):
            host, _, port = endpoint.rpartition(":")
            socket.create_connection((host, int(port)), timeout=1).close()
        return True
