"""The bill of materials of the image: its Python environment is made as deploy/Dockerfile makes it, and listed."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tools.supply.locked import ROOT, SHIPPED


def environment(folder: Path) -> Path:
    """A new virtual environment with what the image holds, from wheels whose hashes are right; its Python."""
    venv.create(folder, clear=True, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "--no-deps", "--only-binary=:all:", "-r", str(SHIPPED)], check=True)
    subprocess.run([*pip, "--no-deps", str(ROOT)], check=True)
    return python


def write(python: Path, file: Path) -> None:
    """The bill as CycloneDX 1.6 JSON, the same bytes for the same packages; it is checked against the schema."""
    file.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", str(ROOT / "pyproject.toml")]
    options = [
        "--mc-type=application",
        "--spec-version=1.6",
        "--output-format=JSON",
        "--output-reproducible",
        "--validate",
    ]
    subprocess.run([*command, *options, "--output-file", str(file), str(python)], check=True)
