"""`python -m tools.supply check | audit | sbom`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from tools.supply import advisories, licences, locked, sbom


@click.group()
def group() -> None:
    """What the project is made of."""


@group.command()
def check() -> None:
    """What can be known without a network: pins, hashes, requirements, licences."""
    needed = locked.needed()
    found = [
        *locked.faults(
            locked.CONSTRAINTS.read_text(encoding="utf-8"),
            locked.SHIPPED.read_text(encoding="utf-8"),
            needed,
            locked.installed(needed),
        ),
        *licences.faults(needed),
    ]
    for fault in found:
        click.echo(fault, err=True)
    unmet = subprocess.run([sys.executable, "-m", "pip", "check"], check=False).returncode
    sys.exit(1 if found or unmet else 0)


@group.command()
@click.option("--if-reachable", is_flag=True, help="Where nobody answers, say so and succeed.")
def audit(if_reachable: bool) -> None:
    """Known vulnerabilities of all that constraints.txt pins."""
    try:
        found = advisories.audited(locked.pins(locked.CONSTRAINTS.read_text(encoding="utf-8")), advisories.pip_audit)
    except advisories.Unreachable as fault:
        click.echo(f"known vulnerabilities were NOT looked up: {fault}", err=True)
        sys.exit(0 if if_reachable else 1)
    for line in found:
        click.echo(line, err=True)
    click.echo("no known vulnerabilities" if not found else f"{len(found)} known vulnerabilities")
    sys.exit(1 if found else 0)


@group.command(name="sbom")
@click.option("--into", type=click.Path(path_type=Path), default=locked.ROOT / "build" / "sbom.cdx.json")
def bill(into: Path) -> None:
    """The bill of materials of the image, as CycloneDX."""
    sbom.write(sbom.environment(locked.ROOT / "build" / "image"), into)
    click.echo(into)


if __name__ == "__main__":
    group()
