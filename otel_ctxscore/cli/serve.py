"""`otel-ctxscore serve`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import click

from otel_ctxscore import config as configuration
from otel_ctxscore.cli.leaving import leave
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.io import process
from otel_ctxscore.listener import check_free
from otel_ctxscore.service import Service
from otel_ctxscore.telemetry import configure_logging


@click.command("serve")
@click.option("-c", "--config", "path", type=click.Path(path_type=Path), help="Configuration file (YAML).")
def command(path: Path | None) -> None:
    """Run the service until it is told to stop.

    Without a file it listens for OTLP on 127.0.0.1:4317 (gRPC) and :4318 (HTTP), judges with the local judge, and
    serves the page, /metrics, /healthz and /readyz on http://127.0.0.1:9464.

    SIGTERM and SIGINT drain: what is being judged is finished within `shutdown.grace`. A second one leaves at once.
    SIGHUP reads targets, sampling rules and budgets again; a bad file changes nothing and says so.
    """
    config = configuration.load(path)
    hidden = [*configuration.secrets(config), *configuration.environment_secrets(os.environ)]
    configure_logging(config.log.level, config.log.format, secrets=hidden)
    process.run(_serve(config, path))
    leave(0)


def _check_addresses(config: configuration.Config) -> None:
    """Raises ConfigError where an address is taken: said before the state, which a second service cannot have either,
    is looked at."""
    for key, listen in config.listening().items():
        check_free(listen, key)


async def _serve(config: configuration.Config, path: Path | None) -> None:
    _check_addresses(config)
    service = Service(config, file=path)
    loop = asyncio.get_running_loop()
    asked = False

    def stop() -> None:
        nonlocal asked
        if asked:
            os._exit(1)  # the second signal: whoever sends it does not want to wait for anything
        asked = True
        service.stop()

    def reload() -> None:
        with contextlib.suppress(ConfigError):  # it is logged, and nothing has changed
            service.reload()

    loop.add_signal_handler(signal.SIGHUP, reload)
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop)
    await service.run()
