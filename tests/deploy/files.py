"""Where the files lie, and what is in the pages: blocks of code and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CONFIGURATIONS = (
    *sorted((DEPLOY / "config").glob("*.yaml")),
    DEPLOY / "compose" / "ctxscore.yaml",
    DEPLOY / "k8s" / "config.yaml",
)
PAGES = tuple(sorted((*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))))
SECRETS = ("/run/secrets/otel-ctxscore", "/etc/otel-ctxscore/secrets")
"""Folders in which the example configurations find tokens and keys."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [Block(page, text[: one.start()].count("\n") + 1, one[2], one[3]) for one in found]


def documents(text: str) -> list[Any]:
    """The documents of a YAML file that hold anything."""
    return [one for one in yaml.safe_load_all(text) if one is not None]


def with_secrets(text: str, folder: Path) -> str:
    """A configuration whose secrets lie in `folder`, which then holds them."""
    for name in ("admin-token", "openai-api-key"):
        (folder / name).write_text("not-a-secret\n", encoding="utf-8")
    for place in SECRETS:
        text = text.replace(place, str(folder))
    return text
