"""What a page of docs/ needs to stand on a site of its own.

The pages are written for reading in the repository. On the site a link that leaves docs/ leads to the repository, one
that is called like its file is called like what it leads to, and the order of the pages is that of the lists in
docs/index.md, so that it is written once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REPOSITORY = "https://github.com/otel-ctxscore/otel-ctxscore"

_CODE = re.compile(r"^( *)(```+).*?^\1\2$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()([^)\s#]*)(#[^)\s]*)?(?=\))")
_FILE_NAME = re.compile(r"\[[\w-]+\.md\](?=\()")
_NAMED_HEADING = re.compile(r'^(#+) <a id="([^"]+)"></a>', re.MULTILINE)


class LostLinkError(Exception):
    """A link to a file that is not there."""


def on_site(name: str, text: str) -> str:
    """The page `name` (without .md) with its links as they are on the site. Raises LostLinkError."""
    page = DOCS / f"{name}.md"
    linked = _outside_code(text, lambda part: _LINK.sub(lambda link: _target(page, *link.groups("")), part))
    titled = _outside_code(linked, lambda part: _FILE_NAME.sub("[]", part))
    named = _NAMED_HEADING.sub(r"(\2)=\n\1 ", titled)
    return named + navigation(text) if name == "index" else named


def navigation(index: str) -> str:
    """The trees of pages behind the site's menu: one a heading of the index, of the pages that its list links first."""
    trees = []
    for heading, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL):
        listed = re.findall(r"^\* .*?\[[^]]+\]\(([\w-]+)\.md\)", body, re.MULTILINE)
        trees.append("\n".join(["```{toctree}", ":hidden:", f":caption: {heading}", "", *listed, "```", ""]))
    return "\n" + "\n".join(trees)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    return "".join(part if code else change(part) for code, part in _parts(text))


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Code and what is between, in order."""
    end = 0
    for found in _CODE.finditer(text):
        yield False, text[end : found.start()]
        yield True, found[0]
        end = found.end()
    yield False, text[end:]


def _target(page: Path, place: str, anchor: str) -> str:
    if not place or "://" in place or place.startswith("mailto:"):
        return place + anchor
    target = (page.parent / place).resolve()
    if not target.exists():
        raise LostLinkError(f"{page.name}: {place} is not there")
    if target.is_relative_to(DOCS):
        return place + anchor
    return f"{REPOSITORY}/{'tree' if target.is_dir() else 'blob'}/main/{target.relative_to(ROOT).as_posix()}{anchor}"
