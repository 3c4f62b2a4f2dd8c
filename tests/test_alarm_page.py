"""From an alert to the passage at fault, in a browser, over a running service."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.otlp import at, rag, request
from tests.services import http
from tests.services.process import wait_until
from tests.serving import QUICK, Serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

CONFIG = {
    "alarm": {"reference": {"pinned": 0.9}},
    "segments": {"index": "rag.index"},
    **QUICK,
}
HOSTILE = "<script>document.title = 'taken'</script>"
NOISE = ("The canteen opens at noon.", "Shoes are on the third floor.")
HOUR = 3600.0
pytestmark = pytest.mark.slow


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Serving]:
    """Ten hours of good runs, then two of bad ones at one of two indexes, and the alarm that rose."""
    with Serving(tmp_path / "service", {**CONFIG, "state": {"path": str(tmp_path / "state")}}) as found:
        now = time.time()
        for n in range(60):
            index = "archive" if n % 3 == 0 else f"guides {HOSTILE}"
            ended = now - 12 * HOUR + n * HOUR / 5
            send(found, n + 1, ended, index, bad=n >= 50 and n % 3 > 0)
        for n in range(60, 100):
            send(found, n + 1, now - (100 - n) * 20, f"guides {HOSTILE}", bad=True)
        wait_until(lambda: bool(alarms(found)), 60, "the alarm to rise")
        yield found


def send(service: Serving, trace: int, ended: float, index: str, *, bad: bool) -> None:
    good = f"The ledger {trace} listens on port 7443."
    contexts = (*NOISE, HOSTILE) if bad else (good, *NOISE)
    root, retriever = rag(trace, contexts, f"Which port does ledger {trace} listen on? {HOSTILE}")
    root["attributes"].append({"key": "rag.index", "value": {"stringValue": index}})
    http.post(f"{service.http}/v1/traces", request(at(ended, [root, retriever])))


def alarms(service: Serving) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(service.get("/api/v1/alarms"))["alarms"]
    return found


def test_two_clicks_lead_from_the_overview_by_the_alarm_to_the_worst_run(service: Serving, page: Page) -> None:
    from playwright.sync_api import expect  # here, since only this test should pay for loading it

    page.goto(f"http://{service.admin}/")
    expect(page.get_by_role("img", name="context_precision of shop")).to_be_visible()
    page.get_by_role("link", name="alarm", exact=False).and_(page.locator(".badge")).click()
    main = page.locator("main")
    expect(main).to_contain_text("It most likely began")
    expect(page.locator("tbody tr", has_text="guides")).to_contain_text("<script>")
    expect(main).to_contain_text("no anchors are pinned")
    page.locator(".worst a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Run")
    expect(main).to_contain_text(HOSTILE)
    assert "taken" not in page.title()


def test_an_alarm_is_acknowledged_by_keyboard_alone(service: Serving, page: Page) -> None:
    from playwright.sync_api import expect  # as above

    [alarm] = alarms(service)
    page.goto(f"http://{service.admin}/alarms/{alarm['id']}")
    page.get_by_label("Your name").focus()
    page.keyboard.type("ana")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Acknowledge")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("ana took note of it")
    assert page.url.endswith(f"/alarms/{alarm['id']}?done=acknowledged")
    [after] = alarms(service)
    assert (after["acknowledged_by"], after["ended_by"]) == ("ana", "acknowledged")
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)
