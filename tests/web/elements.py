"""A page as a program reads it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

SPACE = re.compile(r"[ \n]+")


class Elements(HTMLParser):
    """Start tags with their attributes, and the text between."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.feed(page)
        self.said = SPACE.sub(" ", self.said)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data


def text(page: str) -> str:
    return Elements(page).said


def links(page: str, part: str = "") -> list[str]:
    """Where the page leads to, of addresses with a part."""
    return [href for tag, given in Elements(page).tags if tag == "a" and part in (href := given.get("href") or "")]


def harmless(page: str) -> bool:
    """Whether the page holds no script, image, handler or style of its own."""
    tags = Elements(page).tags
    handlers = [name for _, given in tags for name in given if name.startswith("on") or name == "style"]
    return not handlers and not {"script", "img", "iframe"} & {tag for tag, _ in tags}
