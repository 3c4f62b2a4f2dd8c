"""The pinned versions: `constraints.txt` for everything, `deploy/requirements.txt` with hashes for what is shipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
SHIPPED = ROOT / "deploy" / "requirements.txt"
PROJECT = "otel-ctxscore"
IMAGE = {"python_version": "3.11", "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
"""What markers are asked about: where deploy/Dockerfile runs."""


def pins(text: str) -> dict[str, str]:
    """Version by name, of lines `NAME==VERSION`."""
    found = re.findall(r"^([A-Za-z0-9][\w.-]*)==([^\s\\;]+)", text, re.MULTILINE)
    return {canonicalize_name(name): pinned for name, pinned in found}


def without_hash(text: str) -> list[str]:
    """Names of requirements that have no hash behind them."""
    parts = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
    return sorted(name for part in parts if "--hash=sha256:" not in part for name in pins(part))


def needed(project: str = PROJECT) -> set[str]:
    """The names of all that the installed project needs to run where the image runs: without extras of its own."""
    seen: set[tuple[str, frozenset[str]]] = set()
    _collect(project, frozenset(), seen)
    return {name for name, _ in seen} - {canonicalize_name(project)}


def _collect(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> None:
    key = canonicalize_name(name), extras
    if key in seen:
        return
    seen.add(key)
    for text in _requirements(name):
        wanted = Requirement(text)
        if wanted.marker is None or any(wanted.marker.evaluate(IMAGE | {"extra": extra}) for extra in ("", *extras)):
            _collect(wanted.name, frozenset(wanted.extras), seen)


def _requirements(name: str) -> list[str]:
    """None of a package that only another Python than this one needs."""
    try:
        return requires(name) or []
    except PackageNotFoundError:
        return []


def faults(constraints: str, shipped: str, needed: set[str], installed: Mapping[str, str]) -> Iterator[str]:
    """Where the two files, what the project needs and what is installed contradict each other."""
    pinned, locked = pins(constraints), pins(shipped)
    for name in sorted(needed - locked.keys()):
        yield f"deploy/requirements.txt lacks {name}"
    for name in sorted(locked.keys() - needed):
        yield f"deploy/requirements.txt has {name}, which nothing needs"
    for name, version_ in sorted(locked.items()):
        if pinned.get(name) != version_:
            yield f"{name} is {version_} in deploy/requirements.txt and {pinned.get(name)} in constraints.txt"
    for name in without_hash(shipped):
        yield f"deploy/requirements.txt has no hash of {name}"
    for name, version_ in sorted(installed.items()):
        if pinned.get(name) != version_:
            yield f"{name} is {version_} here and {pinned.get(name)} in constraints.txt"


def installed(names: set[str]) -> dict[str, str]:
    """The versions that are installed here, of those names that are."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
