"""The servers that are measured, each on the server core."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.services.http import post
from tests.services.otelcol import Collector
from tests.services.process import Server, free_endpoint
from tests.services.rotel import Rotel

ROOT = Path(__file__).parents[3]
LOAD_CORE, SERVER_CORE = 0, 1
SAMPLED = 0.05
"""The sampling rate at which others are compared."""


def _on_server_core(command: list[str | Path]) -> list[str | Path]:
    return ["taskset", "-c", str(SERVER_CORE), *command]


class Own(Server):
    """Our receivers: `way` is a sampling rate, or `walk`."""

    name = "own"

    def __init__(self, folder: Path, way: str) -> None:
        super().__init__(folder)
        self.way = way
        self.grpc = free_endpoint()
        self.http = f"http://{free_endpoint()}"

    def endpoints(self) -> dict[str, str]:
        return {"grpc": self.grpc, "http": self.http}

    def environment(self) -> dict[str, str]:
        return super().environment() | {"PYTHONPATH": str(ROOT)}

    def command(self) -> list[str | Path]:
        http = self.http.removeprefix("http://")
        module = [sys.executable, "-m", "tests.bench.ingest.server"]
        return _on_server_core([*module, self.way, self.grpc, http, self.folder / "counts.json"])

    def ready(self) -> bool:
        post(f"{self.http}/v1/traces", content_type="application/x-protobuf")
        return True

    def counts(self) -> Mapping[str, int]:
        """What it took, once it has stopped."""
        counts: dict[str, int] = json.loads((self.folder / "counts.json").read_text())
        return counts


class SamplingCollector(Collector):
    """The Collector with one processor thread: OTLP, a probabilistic sampler, and an exporter that does nothing."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder,
            {
                "processors": {"probabilistic_sampler": {"sampling_percentage": SAMPLED * 100}},
                "exporters": {"nop": {}},
                "service": {
                    "pipelines": {
                        "traces": {
                            "receivers": ["otlp"],
                            "processors": ["probabilistic_sampler"],
                            "exporters": ["nop"],
                        }
                    }
                },
            },
        )

    def environment(self) -> dict[str, str]:
        return super().environment() | {"GOMAXPROCS": "1"}

    def command(self) -> list[str | Path]:
        return _on_server_core(super().command())


class DiscardingRotel(Rotel):
    """rotel, whose exporter throws everything away."""

    def command(self) -> list[str | Path]:
        return _on_server_core(super().command())
