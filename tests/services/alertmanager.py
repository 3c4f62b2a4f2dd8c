"""Alertmanager and amtool, from Debian."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.services import config, http, tools
from tests.services.config import Config
from tests.services.debian import DebianPrograms
from tests.services.process import Server, free_endpoint

# Debian's name, and the project's own.
NAMES = ("prometheus-alertmanager", "alertmanager")
ALERTMANAGER = DebianPrograms((NAMES, ("amtool",)), ("prometheus-alertmanager",))


def amtool(*arguments: str | Path, timeout: float = 60) -> tools.Check:
    """What amtool says, such as `amtool("check-config", file)`."""
    return tools.check([tools.found("amtool"), *arguments], timeout)


class Alertmanager(Server):
    """Takes alerts at `address` (HOST:PORT, as Prometheus wants it) or `url`.

    With `webhook` (a URL) it posts the alerts there. `config` is laid over its configuration.
    """

    name = "alertmanager"

    def __init__(self, folder: Path, webhook: str | None = None, config: Config | None = None) -> None:
        super().__init__(folder)
        self.address = free_endpoint()
        self.url = f"http://{self.address}"
        self.config = _config(webhook, config or {})

    def endpoints(self) -> dict[str, str]:
        return {"url": self.url}

    def command(self) -> list[str | Path]:
        file = config.write(self.folder / "alertmanager.yml", self.config)
        return [
            tools.found(*NAMES),
            f"--config.file={file}",
            f"--storage.path={self.folder / 'data'}",
            f"--web.listen-address={self.address}",
            "--cluster.listen-address=",  # empty: no gossip, whose port is fixed
        ]

    def ready(self) -> bool:
        return http.answers(f"{self.url}/-/ready")

    def alerts(self) -> list[dict[str, Any]]:
        """The alerts that it holds, as its API gives them."""
        return list(http.get_json(f"{self.url}/api/v2/alerts"))


def _config(webhook: str | None, over: Config) -> dict[str, Any]:
    receiver: dict[str, Any] = {"name": "tests"}
    if webhook:
        receiver["webhook_configs"] = [{"url": webhook}]
    route = {"receiver": "tests", "group_wait": "100ms", "group_interval": "1s"}
    return config.merged({"route": route, "receivers": [receiver]}, over)
