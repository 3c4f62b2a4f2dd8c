"""`otel-ctxscore version`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import click

SHOWN = (
    "otel-ctxscore",
    "opentelemetry-sdk",
    "opentelemetry-exporter-otlp",
    "litellm",
    "aiokafka",
    "prometheus-client",
    "grpcio",
    "aiohttp",
    "protobuf",
)


@click.command("version")
def command() -> None:
    """Print the versions of otel-ctxscore and of what it runs on: what a bug report needs."""
    for package in SHOWN:
        click.echo(f"{package} {_version(package)}")
    click.echo(f"python {platform.python_version()} on {platform.platform()}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
