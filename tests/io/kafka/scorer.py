"""`otel-ctxscore serve` as a process of its own."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

from tests.exposition import sums
from tests.services import config, http
from tests.services.config import Config
from tests.services.process import Server, free_endpoint

ROOT = Path(__file__).parents[3]
QUIET_SECONDS = 2


class Scorer(Server):
    """One replica. `given` is laid over a configuration that judges at once and has no source and no sink.

    `scored` is what the process, or those before it in its place, said of its traces when it was last scraped.
    """

    name = "scorer"
    start_timeout: ClassVar[float] = 90

    def __init__(self, folder: Path, given: Config) -> None:
        super().__init__(folder)
        self.address = free_endpoint()
        self.url = f"http://{self.address}"
        self.scored: dict[int, int] = {}
        self.starts = 0
        base: dict[str, Any] = {
            "sources": {"otlp": None},
            "assembly": {"quiet_period": f"{QUIET_SECONDS}s", "idle": "20s"},
            "judge": {"type": "custom", "judge": "tests.io.kafka.slow_judge:factory"},
            "scorers": {"context_relevance": None},
            "admin": {"listen": self.address},
            "state": {"path": str(folder / "state")},
            "shutdown": {"grace": "10s"},
        }
        self.config = config.merged(base, given)

    def command(self) -> list[str | Path]:
        self.starts += 1
        return [sys.executable, "-m", "otel_ctxscore", "serve", "-c", config.write(self.folder / "c.yaml", self.config)]

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONPATH": os.pathsep.join([str(ROOT)])}

    def ready(self) -> bool:
        return http.answers(f"{self.url}/readyz")

    def endpoints(self) -> dict[str, str]:
        return {"url": self.url}

    def metrics(self) -> dict[str, float]:
        """Samples that have no label but `outcome` or `result`, by name and that label's value."""
        return sums(http.get_text(f"{self.url}/metrics"))

    def partitions(self) -> int:
        """How many partitions it reads; 0 where it does not answer."""
        try:
            return int(self.metrics().get("ctxscore_kafka_assigned_partitions", 0))
        except OSError:
            return 0

    def scrape(self) -> None:
        """Remember what it counted, as Prometheus would."""
        with contextlib.suppress(OSError):
            self.scored[self.starts] = int(self.metrics().get("ctxscore_traces_total:scored", 0))
