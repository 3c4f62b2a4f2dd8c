"""Chromium from Debian, driven by Playwright (whose own browser download is not used)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from tests.services.debian import DebianPrograms
from tests.services.tools import found

if TYPE_CHECKING:
    from playwright.sync_api import Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
# The library is not the browser's need but that of Playwright's own driver; a small Debian does not have it.
CHROMIUM = DebianPrograms((NAMES,), ("chromium", "libatomic1"), ("libatomic.so.1",))
ARGUMENTS = (
    "--no-sandbox",  # as root, and in most containers, there is no sandbox to be had
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    # Nothing is asked of the outside.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class LaunchOptions(TypedDict):
    """Keyword arguments of Playwright's `chromium.launch`, in its blocking and its async form."""

    executable_path: str
    args: list[str]
    headless: bool


@dataclass(frozen=True)
class Chromium:
    """An installed browser and how to launch it."""

    path: Path

    @classmethod
    def find(cls) -> Chromium:
        """The one on PATH; ServiceError if there is none."""
        return cls(found(*NAMES))

    def launch_options(self) -> LaunchOptions:
        """`playwright.chromium.launch(**options)`; each launch has a new user folder."""
        return {"executable_path": str(self.path), "args": list(ARGUMENTS), "headless": True}

    @contextlib.contextmanager
    def page(self) -> Iterator[Page]:
        """A new page of a new browser. Blocking: not where an event loop runs."""
        from playwright.sync_api import sync_playwright  # here, since only these tests should pay for loading it

        with sync_playwright() as playwright, playwright.chromium.launch(**self.launch_options()) as browser:
            yield browser.new_page()
