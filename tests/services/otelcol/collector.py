"""The Collector process: a configuration as a dictionary in, endpoints and written spans out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from tests.services import config, tools
from tests.services.cache import Artefact
from tests.services.config import Config
from tests.services.errors import ServiceError
from tests.services.process import Server, free_endpoint, wait_until

HERE = Path(__file__).parent
READY = "Everything is ready"
PIPELINES = {"traces": {"receivers": ["otlp"], "exporters": ["file"]}}

COLLECTOR = Artefact(
    "otelcol",
    "go build -trimpath without cgo",
    lambda folder: tools.go_build(folder, ".", "otelcol"),
    (HERE / "go.mod", HERE / "go.sum", HERE / "main.go"),
    tools.go,
)


def program(artefact: Artefact = COLLECTOR) -> Path:
    """The built program; ServiceError if it was not installed."""
    if not artefact.installed():
        raise ServiceError(f"{artefact.name} is not installed")
    return artefact.folder / "otelcol"


def validate(file: Path, artefact: Artefact = COLLECTOR) -> tools.Check:
    """What `otelcol validate` says of a configuration file, without starting it."""
    return tools.check([program(artefact), "validate", f"--config={file}"])


class Collector(Server):
    """A Collector that takes OTLP on `grpc` (HOST:PORT) and `http` (a URL) and writes spans to `output`.

    `config` is laid over that: receivers `otlp`, exporters `file` (JSON lines, one export request a line, in
    `output`), and, unless it names pipelines of its own, one from `otlp` to `file`. Components that no pipeline
    names are not started.
    """

    name = "collector"
    artefact: ClassVar[Artefact] = COLLECTOR

    def __init__(self, folder: Path, config: Config | None = None) -> None:
        super().__init__(folder)
        self.grpc = free_endpoint()
        self.http = f"http://{free_endpoint()}"
        self.output = folder / "output.jsonl"
        self.config = self._complete(config or {})

    def _complete(self, given: Config) -> dict[str, Any]:
        protocols = {"grpc": {"endpoint": self.grpc}, "http": {"endpoint": self.http.removeprefix("http://")}}
        pipelines = {} if given.get("service", {}).get("pipelines") else PIPELINES
        base = {
            "receivers": {"otlp": {"protocols": protocols}},
            "exporters": {"file": {"path": str(self.output), "flush_interval": "100ms"}},
            "service": {"pipelines": pipelines},
        }
        # Last, since they are needed here: the log line that says it is ready, and no fixed port for its metrics.
        telemetry = {"metrics": {"level": "none"}, "logs": {"level": "info"}}
        return config.merged(config.merged(base, given), {"service": {"telemetry": telemetry}})

    def endpoints(self) -> dict[str, str]:
        return {"grpc": self.grpc, "http": self.http, "output": str(self.output)}

    def command(self) -> list[str | Path]:
        return [program(self.artefact), f"--config={self.write_config()}"]

    def ready(self) -> bool:
        return READY in self.log_text()

    def write_config(self) -> Path:
        """Write its configuration (as each start does), for instance to validate it. The file."""
        return config.write(self.folder / "config.yaml", self.config)

    def requests(self) -> list[dict[str, Any]]:
        """The export requests in `output` so far, in OTLP's JSON form."""
        text = self.output.read_text() if self.output.exists() else ""
        # The last line may not be written to its end yet.
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def spans(self) -> list[dict[str, Any]]:
        """The spans of all these requests, without their resource and scope."""
        resources = [part for request in self.requests() for part in request.get("resourceSpans", ())]
        return [span for part in resources for scope in part["scopeSpans"] for span in scope["spans"]]

    def wait_spans(self, count: int, timeout: float = 20) -> list[dict[str, Any]]:
        """The same as soon as there are at least `count`; ServiceError if there are not in time."""
        what = f"{count} spans in {self.output}"
        return wait_until(lambda: found if len(found := self.spans()) >= count else None, timeout, what)
