"""Each view of a running service, for all who look at it: what axe-core, the checker of the Web Content Accessibility
Guidelines, finds; a phone; the keyboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.serving import Serving
from tests.test_alarm_page import alarms, service

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow
__all__ = ["service"]  # the fixture


def views(service: Serving) -> list[str]:
    [alarm] = alarms(service)
    run = json.loads(service.get("/api/v1/runs?limit=1"))["runs"][0]
    run_view, alarm_view = f"runs/{run['run_id']}", f"alarms/{alarm['id']}"
    why = f"why?trace_id={run['trace_id']}"
    return [
        "", "?since=7d&service=nobody", "runs", "runs?below=x", run_view, f"{run_view}?blind=1", f"{run_view}?whole=query",
        f"{run_view}?whole=x", "alarms", alarm_view, "segments", "documents", "documents?by=source", "why", why,
        f"why?trace_id={'f' * 32}", "runs/none", "alarms/none", "nowhere",
    ]  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(service: Serving, page: Page, scheme: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe  # here, since only this test should pay for loading it

    page.emulate_media(color_scheme=scheme)
    found: dict[str, list[str]] = {}
    for view in views(service):
        page.goto(f"http://{service.admin}/{view}")
        results = Axe().run(page).response
        assert len(results["passes"]) > 10, "the checker ran"
        for one in results["violations"]:
            where = [target for node in one["nodes"] for target in node["target"]]
            found.setdefault(f"{one['impact']} {one['id']}: {one['help']}", []).append(f"/{view} {where[:3]}")
    assert found == {}


@pytest.mark.parametrize("width", [360, 640, 1200])
def test_no_view_needs_to_be_scrolled_sideways(service: Serving, page: Page, width: int, tmp_path: Path) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    found = {}
    for number, view in enumerate(views(service)):
        page.goto(f"http://{service.admin}/{view}")
        page.locator("details").evaluate_all("all => all.forEach(it => { it.open = true })")
        page.screenshot(path=tmp_path / f"{number}-{width}.png", full_page=True)
        wide = page.evaluate("document.documentElement.scrollWidth")
        cut = page.locator(".scroll").evaluate_all("all => all.map(it => it.scrollWidth - it.clientWidth)")
        # On a phone a row of a table is a list of its own; on anything wider a table may scroll in its box.
        found[view] = (wide > width, any(by > 1 for by in cut) and width == 360)
    assert {view: told for view, told in found.items() if any(told)} == {}


def test_the_keyboard_begins_at_the_content_and_is_seen(service: Serving, page: Page) -> None:
    from playwright.sync_api import expect  # as above

    for view in views(service):
        page.goto(f"http://{service.admin}/{view}")
        page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="Skip to the content")
        expect(skip).to_be_focused()
        expect(skip).to_be_in_viewport()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        focused = page.locator("main :focus")
        if page.locator("main :is(a, input, select, button, summary)").count():
            expect(focused).to_have_count(1)
            expect(focused).to_have_css("outline-style", "solid")
