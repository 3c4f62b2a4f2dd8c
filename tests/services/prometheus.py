"""Prometheus and promtool, from Debian."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.services import config, http, tools
from tests.services.config import Config
from tests.services.debian import DebianPrograms
from tests.services.process import Server, free_endpoint

PROMETHEUS = DebianPrograms((("prometheus",), ("promtool",)), ("prometheus",))
FEATURES = "exemplar-storage,native-histograms"


def promtool(*arguments: str | Path, timeout: float = 60) -> tools.Check:
    """What promtool says, such as `promtool("check", "rules", file)`."""
    return tools.check([tools.found("promtool"), *arguments], timeout)


class Prometheus(Server):
    """Scrapes `targets` (HOST:PORT, path /metrics, job `tests`) and evaluates the `rules` files each second.

    `alertmanager` (HOST:PORT) gets the alerts. `config` is laid over the configuration that follows from these.
    """

    name = "prometheus"

    def __init__(
        self,
        folder: Path,
        targets: Sequence[str] = (),
        rules: Sequence[Path] = (),
        alertmanager: str | None = None,
        config: Config | None = None,
    ) -> None:
        super().__init__(folder)
        self.address = free_endpoint()
        self.url = f"http://{self.address}"
        self.config = _config(targets, rules, alertmanager, config or {})

    def endpoints(self) -> dict[str, str]:
        return {"url": self.url}

    def command(self) -> list[str | Path]:
        file = config.write(self.folder / "prometheus.yml", self.config)
        return [
            tools.found("prometheus"),
            f"--config.file={file}",
            f"--enable-feature={FEATURES}",
            f"--storage.tsdb.path={self.folder / 'data'}",
            f"--web.listen-address={self.address}",
            "--web.enable-lifecycle",
        ]

    def ready(self) -> bool:
        return http.answers(f"{self.url}/-/ready")

    def reload(self) -> None:
        """Write `self.config` again and make the server read it and its rules. OSError if it refuses them."""
        config.write(self.folder / "prometheus.yml", self.config)
        http.post(f"{self.url}/-/reload")

    def get(self, path: str, **params: str) -> Any:
        """The `data` of an answer of its API, such as `get("rules")` for /api/v1/rules."""
        return http.get_json(f"{self.url}/api/v1/{path}", params)["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result of an instant query."""
        return list(self.get("query", query=expression)["result"])

    def exemplars(self, expression: str, seconds: float = 3600) -> list[dict[str, Any]]:
        """The exemplars of the last `seconds`, over all series of the answer: `labels`, `value`, `timestamp`."""
        now = time.time()
        series = self.get("query_exemplars", query=expression, start=str(now - seconds), end=str(now + 60))
        return [exemplar for one in series for exemplar in one["exemplars"]]

    def alerts(self) -> list[dict[str, Any]]:
        """The pending and firing alerts."""
        return list(self.get("alerts")["alerts"])


def _config(targets: Sequence[str], rules: Sequence[Path], alertmanager: str | None, over: Config) -> dict[str, Any]:
    managers = [{"static_configs": [{"targets": [alertmanager]}]}] if alertmanager else []
    base = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(path.absolute()) for path in rules],
        "alerting": {"alertmanagers": managers},
        "scrape_configs": [{"job_name": "tests", "static_configs": [{"targets": list(targets)}]}],
    }
    return config.merged(base, over)
