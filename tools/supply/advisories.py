"""Known vulnerabilities of what is pinned, as pip-audit finds them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

ACCEPTED: dict[str, str] = {}
"""Advisories by id that do not concern this project, each with the reason."""

Ask = Callable[[Mapping[str, str]], dict[str, list[str]]]


class Unreachable(Exception):  # noqa: N818 -- not a fault of what is audited
    """Nobody answered about advisories. The text is one line."""


def audited(pinned: Mapping[str, str], ask: Ask) -> list[str]:
    """One line a vulnerability of the pinned packages that is not accepted. Raises Unreachable.

    One package is asked about first: a service that is not there costs one question, not one a package.
    """
    first = next(iter(sorted(pinned)))
    found = ask({first: pinned[first]}) | ask(pinned)
    return [
        f"{name} {pinned[name]}: {advisory}"
        for name in sorted(found)
        for advisory in found[name]
        if advisory not in ACCEPTED
    ]


def pip_audit(pinned: Mapping[str, str]) -> dict[str, list[str]]:
    """Advisories by package. Raises Unreachable, also where the service answers without knowing a package: pip-audit
    itself would pass over that."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requirements.txt"
        file.write_text("".join(f"{name}=={version}\n" for name, version in sorted(pinned.items())), encoding="utf-8")
        command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--progress-spinner=off"]
        done = subprocess.run(
            [*command, "--format=json", "-r", str(file)], capture_output=True, text=True, check=False, timeout=900
        )
    return read(done.stdout, done.stderr)


def read(said: str, complained: str) -> dict[str, list[str]]:
    """What pip-audit wrote. Raises Unreachable."""
    try:
        packages = json.loads(said)["dependencies"]
    except (ValueError, KeyError):
        last = complained.strip().splitlines()[-1:] or ["pip-audit said nothing"]
        raise Unreachable(last[0][:200]) from None
    skipped = sorted(package["name"] for package in packages if "skip_reason" in package)
    if skipped:
        raise Unreachable(f"the service does not know {', '.join(skipped[:3])}{' and others' if skipped[3:] else ''}")
    return {package["name"]: [found["id"] for found in package["vulns"]] for package in packages if package["vulns"]}
