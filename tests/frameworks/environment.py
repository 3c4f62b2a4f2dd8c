"""The environment of the applications: a virtual environment outside the repository, named by what is in it."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tests.services import tools
from tests.services.cache import Artefact

HERE = Path(__file__).parent
APPLICATIONS = HERE / "applications.py"


def _install(folder: Path) -> None:
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    tools.run([python, "-m", "pip", "install", "--quiet", "--requirement", HERE / "requirements.txt"], folder)


ENVIRONMENT = Artefact("frameworks", f"venv of Python {sys.version_info[:2]}", _install, (HERE / "requirements.txt",))


def run(name: str, url: str) -> str:
    """Run an application against an OTLP/HTTP endpoint; the versions that it printed."""
    python = ENVIRONMENT.folder / "venv" / "bin" / "python"
    ended = subprocess.run([python, APPLICATIONS, name, url], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()
