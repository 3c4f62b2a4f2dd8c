"""Pages of the documentation whose code is run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in one language, block by block."""
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def install(page: str, site: Path) -> Path:
    """Put the package of a page (its first TOML and Python) where `pip install` would have: a folder on the import
    path. Returns the folder."""
    made = tomllib.loads(blocks(page, "toml")[0])["project"]
    groups = made["entry-points"]
    (module,) = {target.partition(":")[0] for names in groups.values() for target in names.values()}
    info = site / f"{made['name'].replace('-', '_')}-{made['version']}.dist-info"
    info.mkdir(parents=True)
    (site / f"{module}.py").write_text(blocks(page, "python")[0])
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {made['name']}\nVersion: {made['version']}\n")
    sections = ("\n".join([f"[{group}]", *(f"{k} = {v}" for k, v in names.items())]) for group, names in groups.items())
    (info / "entry_points.txt").write_text("\n".join(sections))
    return site
