"""The past of a service as a process: asked by commands and in a browser, and still there after a restart."""

from __future__ import annotations

import csv
import io
import itertools
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.run import Ended, run
from tests.otlp import at, rag, request, span
from tests.services import http
from tests.services.process import wait_until
from tests.serving import QUICK, Serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

WORST = "<script>document.title = 'taken'</script>"
NOISE = ("The canteen opens at noon.", "Shoes are on the third floor.")
GOOD = "The ledger listens on port 7443."
pytestmark = pytest.mark.slow


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Serving]:
    """Three good runs, one whose useful context stands last, and a trace that is no RAG."""
    with Serving(tmp_path / "service", {**QUICK, "state": {"path": str(tmp_path / "state")}}) as found:
        for trace in (1, 2, 3):
            send(found, rag(trace, (GOOD, *NOISE), f"Which port does ledger {trace} listen on?"))
        send(found, rag(4, (*NOISE, WORST), f"Which port? {WORST}"))
        send(found, [span(5, 1, None, {"http.route": "/"})])
        wait_until(lambda: "not_rag" in known(found, 5) and "query" in known(found, 4), 30, "five outcomes")
        yield found


def send(service: Serving, spans: list[dict[str, Any]]) -> None:
    http.post(f"{service.http}/v1/traces", request(at(time.time(), spans)))


def known(service: Serving, trace: int) -> str:
    return asked(service, "explain", "--trace-id", f"{trace:032x}").out


def asked(service: Serving, *arguments: str) -> Ended:
    return run(*arguments, "--url", f"http://{service.admin}")


def test_commands_ask_a_service_and_say_which_one_it_is(service: Serving) -> None:
    listed = asked(service, "runs")
    assert listed.out.splitlines()[1].startswith(f" {4:032x}"), listed.out
    assert "4 runs of " in listed.err
    known_runs = json.loads(service.get("/api/v1/runs"))["runs"]
    assert all(run["run_id"] in listed.out.replace("\n", " ").split() for run in known_runs), listed.out
    assert "\n1 run of " in f"\n{asked(service, 'runs', '--limit', '1').err}"
    [worst] = [
        json.loads(line) for line in asked(service, "runs", "--format", "jsonl", "--limit", "1").out.splitlines()
    ]
    assert worst["trace_id"] == f"{4:032x}"

    explained = asked(service, "explain", "--trace-id", f"{4:032x}", "--format", "json")
    [it] = json.loads(explained.out)
    assert (it["outcome"], it["convention"]) == ("scored", "openinference")
    first = it["runs"][0]["retrievals"][0]["contexts"][0]
    assert first["attribute"] == "retrieval.documents.0.document.content"
    assert (first["text"], it["replica"].count("/")) == (NOISE[0], 1)
    assert "not_rag" in known(service, 5)
    assert "No retrieval was recognised" in known(service, 5)

    exported = [json.loads(line) for line in asked(service, "export", "--service", "shop").out.splitlines()]
    assert len(exported) == 4
    assert asked(service, "export", "--service", "nobody").out == ""
    table = list(csv.DictReader(io.StringIO(asked(service, "export", "--format", "csv").out)))
    assert len(table) == 4 * 3

    for arguments in (["explain", "--trace-id", f"{9:032x}"], ["runs", "--since", "yesterday"]):
        failed = asked(service, *arguments)
        assert (failed.code, failed.out) == (1, "")
        assert "Traceback" not in failed.err
    assert asked(service, "explain").code == 2

    service.stop(signal.SIGTERM)
    service.start()
    assert "not_rag" in known(service, 5)
    assert asked(service, "explain", "--trace-id", f"{4:032x}", "--format", "json").out.count(WORST) == 3


def test_what_an_open_trace_waits_for_is_said(service: Serving) -> None:
    numbers = itertools.count(100)

    def said() -> str:
        trace = next(numbers)
        send(service, [span(trace, 2, 1, {})])
        return asked(service, "explain", "--trace-id", f"{trace:032x}").err

    wait_until(lambda: "its root span has not come yet; it is open since 20" in said(), 30, "an open trace")


def test_two_clicks_lead_from_the_overview_to_the_worst_run(service: Serving, page: Page) -> None:
    from playwright.sync_api import expect  # here, since only this test should pay for loading it

    page.goto(f"http://{service.admin}/")
    page.get_by_role("link", name="context_precision").click()
    page.get_by_role("row").nth(1).get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Run")
    expect(page.locator("main")).to_contain_text(WORST)
    assert page.title() == "Run · otel-ctxscore", "the script in the trace is text"
    assert page.get_by_text("not useful").count() >= 2

    page.get_by_role("link", name="The whole trace").click()
    assert f"{4:032x}" in page.url
    page.get_by_label("Trace id").fill(f" {5:032x} ")
    page.keyboard.press("Enter")
    main = page.locator("main")
    expect(main).to_contain_text("not_rag")

    page.get_by_role("link", name="Runs", exact=True).click()
    page.get_by_label("Score below").fill("0.5")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_label("Outcome").select_option("unscored")
    page.get_by_role("button", name="Show").click()
    expect(main).to_contain_text("No run is kept that is like this")
    assert page.get_by_label("Score below").input_value() == "0.5"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_needs_to_be_scrolled_sideways(service: Serving, page: Page, scheme: Any, tmp_path: Path) -> None:
    page.emulate_media(color_scheme=scheme)
    run_id = json.loads(service.get("/api/v1/runs"))["runs"][0]["run_id"]
    views = ("", "runs", f"runs/{run_id}", "documents", f"why?trace_id={5:032x}")
    for width in (360, 1200):
        page.set_viewport_size({"width": width, "height": 800})
        for view in views:
            page.goto(f"http://{service.admin}/{view}")
            page.screenshot(
                path=tmp_path / f"{view.partition('?')[0].replace('/', '-')}-{scheme}-{width}.png", full_page=True
            )
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
