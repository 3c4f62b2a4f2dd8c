"""The line of deploy/compose.yaml without containers: its own configurations, with the addresses of real servers in place
of its names, and its sample application."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.deploy.files import DEPLOY
from tests.services import http
from tests.services.fixtures import StartCollector, StartPrometheus
from tests.services.jaeger import Jaeger
from tests.services.kafka import Kafka
from tests.services.process import Server, free_endpoint, wait_until

SAMPLE_APP = DEPLOY / "sample-app" / "app.py"


class Scorer(Server):
    """`otel-ctxscore serve` with a configuration."""

    name = "ctxscore"

    def __init__(self, folder: Path, text: str, admin: str) -> None:
        super().__init__(folder)
        self.admin = f"http://{admin}"
        self._file = folder / "config.yaml"
        self._file.write_text(text, encoding="utf-8")

    def command(self) -> list[str | Path]:
        return [sys.executable, "-m", "otel_ctxscore", "serve", "-c", self._file]

    def endpoints(self) -> dict[str, str]:
        return {"admin": self.admin}

    def ready(self) -> bool:
        return http.answers(f"{self.admin}/readyz")


def placed(name: str, addresses: Mapping[str, str]) -> str:
    """A configuration of compose with names replaced."""
    text = (DEPLOY / "compose" / name).read_text(encoding="utf-8")
    for known, real in addresses.items():
        text = text.replace(known, real)
    return text


@contextmanager
def sample_app(endpoint: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, str(SAMPLE_APP), f"http://{endpoint}", "--rate", "10", "--break-after", "2"]
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=20)


@pytest.mark.slow
def test_scores_come_out_where_compose_shows_them(
    kafka: Kafka,
    jaeger: Jaeger,
    start_collector: StartCollector,
    start_prometheus: StartPrometheus,
    service_folder: Callable[[str], Path],
) -> None:
    admin = free_endpoint()
    addresses = {
        "kafka:9092": kafka.bootstrap,
        "jaeger:4317": jaeger.grpc,
        "otlp_spans": kafka.topic(3),
        "0.0.0.0:9464": admin,
    }
    # The Collector of the tests brings receivers on free ports.
    config = yaml.safe_load(placed("collector.yaml", addresses))
    collector = start_collector({key: part for key, part in config.items() if key != "receivers"})
    state = service_folder("state")
    with Scorer(
        service_folder("scorer"), f"{placed('ctxscore.yaml', addresses)}\nstate: {{path: {state}}}\n", admin
    ) as scorer:
        prometheus = start_prometheus(targets=[admin], rules=[DEPLOY / "prometheus" / "recording.yml"])
        with sample_app(collector.grpc) as application:
            query = 'ctxscore_score_count{scorer="context_precision"} > 20'
            wait_until(lambda: prometheus.query(query), 60, f"20 scores of {scorer.admin} in prometheus")
        assert application.returncode == 0
        judged = prometheus.exemplars("ctxscore_score_bucket")[0]["labels"]["trace_id"]
        spans = jaeger.trace(judged, spans=4)["spans"]  # the application's three and ours
        assert "evaluation context_precision" in {span["operationName"] for span in spans}
