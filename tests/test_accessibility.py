"""What axe-core, the checker of the Web Content Accessibility Guidelines, finds on each view of a running service."""

from __future__ import annotations

import json
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
    return ["", "runs", run_view, "alarms", alarm_view, "segments", "documents", "why", why, "runs/none"]


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
