"""`python -m tools.screenshots`: pictures of the page for the documentation, from a run of the demonstration."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Literal, NamedTuple

from playwright.sync_api import ViewportSize, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
BROWSERS = ("/usr/bin/chromium", "/usr/bin/google-chrome")
SIZE: ViewportSize = {"width": 1100, "height": 760}
SAYS = re.compile(r"(http://\S+)/alarms/(\w+) says")


class Picture(NamedTuple):
    """A view, the heading that stands at its top, and how it is seen."""

    name: str
    view: str
    top: str
    scheme: Literal["light", "dark"]


def main() -> None:
    """Write the pictures. Raises SystemExit where the demonstration shows no alarm."""
    command = [sys.executable, "-m", "otel_ctxscore", "demo", "--keep"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        try:
            assert demo.stdout is not None
            said = next((found for line in demo.stdout if (found := SAYS.search(line))), None)
            if said is None:
                raise SystemExit("the demonstration showed no alarm")
            shoot(said[1], said[2])
        finally:
            demo.send_signal(signal.SIGINT)


def shoot(page_url: str, alarm: str) -> None:
    """Pictures of the overview, an alarm and the worst run."""
    with urllib.request.urlopen(f"{page_url}/api/v1/runs?scorer=context_precision&limit=1") as answer:
        run = json.load(answer)["runs"][0]["run_id"]
    browser_path = next(path for path in BROWSERS if Path(path).exists())
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"]) as browser,
    ):
        for name, view, top, scheme in (
            Picture("overview", "", "", "light"),
            Picture("alarm", f"alarms/{alarm}", "", "light"),
            Picture("run", f"runs/{run}", "Contexts", "dark"),
        ):
            page = browser.new_page(viewport=SIZE, color_scheme=scheme)
            page.goto(f"{page_url}/{view}")
            page.locator(f"h2:has-text('{top}')" if top else "h1").evaluate("it => it.scrollIntoView()")
            page.screenshot(path=IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
