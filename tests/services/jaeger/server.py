"""The Jaeger process: OTLP in, the query API out. (Its page is a placeholder: the assets are not in the module.)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.services import config, http, tools
from tests.services.cache import Artefact
from tests.services.errors import ServiceError
from tests.services.process import Server, free_endpoint, wait_until

HERE = Path(__file__).parent
PACKAGE = "github.com/jaegertracing/jaeger/cmd/jaeger"

JAEGER = Artefact(
    "jaeger",
    f"go build -trimpath without cgo {PACKAGE}",
    lambda folder: tools.go_build(folder, PACKAGE, "jaeger"),
    (HERE / "go.mod", HERE / "go.sum"),
    tools.go,
)


class Jaeger(Server):
    """Takes OTLP on `grpc` (HOST:PORT) and `http` (a URL), answers on `query` (a URL); keeps all in memory."""

    name = "jaeger"

    def __init__(self, folder: Path, max_traces: int = 100_000) -> None:
        super().__init__(folder)
        self.grpc = free_endpoint()
        self.http = f"http://{free_endpoint()}"
        self.query = f"http://{free_endpoint()}"
        self.health = f"http://{free_endpoint()}"
        self.max_traces = max_traces

    def endpoints(self) -> dict[str, str]:
        return {"grpc": self.grpc, "http": self.http, "query": self.query}

    def command(self) -> list[str | Path]:
        if not JAEGER.installed():
            raise ServiceError("jaeger is not installed")
        file = config.write(self.folder / "config.yaml", self._config())
        return [JAEGER.folder / "jaeger", f"--config={file}"]

    def environment(self) -> dict[str, str]:
        # It traces itself, to the default port 4317: somebody else's server may be there, and if none is, its end
        # takes 10 s.
        return {**super().environment(), "OTEL_TRACES_SAMPLER": "always_off"}

    def ready(self) -> bool:
        return http.answers(f"{self.health}/status") and http.answers(f"{self.query}/api/services")

    def services(self) -> list[str]:
        """The names of the services that it has spans of."""
        return list(http.get_json(f"{self.query}/api/services")["data"] or ())

    def trace(self, trace_id: str, spans: int = 1, timeout: float = 20) -> dict[str, Any]:
        """The trace (Jaeger's JSON) as soon as it has at least `spans` spans; ServiceError if not in time."""
        return wait_until(lambda: self._trace(trace_id, spans), timeout, f"{spans} spans of {trace_id} in jaeger")

    def _trace(self, trace_id: str, spans: int) -> dict[str, Any] | None:
        # While it does not know the trace it answers 404, which is an OSError: not yet.
        data: list[dict[str, Any]] = http.get_json(f"{self.query}/api/traces/{trace_id}")["data"]
        return data[0] if data and len(data[0]["spans"]) >= spans else None

    def _config(self) -> dict[str, Any]:
        # Without a configuration it takes a dozen fixed ports.
        pipeline = {"receivers": ["otlp"], "exporters": ["jaeger_storage_exporter"]}
        protocols = {"grpc": {"endpoint": self.grpc}, "http": {"endpoint": _bare(self.http)}}
        return {
            "extensions": self._extensions(),
            "receivers": {"otlp": {"protocols": protocols}},
            "exporters": {"jaeger_storage_exporter": {"trace_storage": "mem"}},
            "service": {
                "extensions": ["jaeger_storage", "jaeger_query", "healthcheckv2"],
                "pipelines": {"traces": pipeline},
                "telemetry": {"metrics": {"level": "none"}, "logs": {"level": "info"}},
            },
        }

    def _extensions(self) -> dict[str, Any]:
        return {
            "healthcheckv2": {"use_v2": True, "http": {"endpoint": _bare(self.health)}},
            "jaeger_storage": {"backends": {"mem": {"memory": {"max_traces": self.max_traces}}}},
            "jaeger_query": {
                "storage": {"traces": "mem"},
                "http": {"endpoint": _bare(self.query)},
                "grpc": {"endpoint": free_endpoint()},
            },
        }


def _bare(url: str) -> str:
    return url.removeprefix("http://")
