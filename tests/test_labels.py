"""Labels of a service as a process: by the command and in a browser, into a calibration, and still there after a
restart."""

from __future__ import annotations

import csv
import io
import itertools
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.cli.run import Ended, run
from tests.otlp import rag, request
from tests.services import http
from tests.services.process import wait_until
from tests.serving import QUICK, Serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "<script>document.title = 'taken'</script>"
NOISE = ("The canteen opens at noon.", "Shoes are on the third floor.")
GOOD = "The ledger listens on port 7443."
pytestmark = pytest.mark.slow


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Serving]:
    """Two runs whose useful context stands last."""
    with Serving(tmp_path / "service", {**QUICK, "state": {"path": str(tmp_path / "state")}}) as found:
        for trace in (1, 2):
            spans = rag(trace, (*NOISE, GOOD), f"Which port does ledger {trace} listen on?")
            http.post(f"{found.http}/v1/traces", request(spans))
        wait_until(lambda: len(runs(found)) == 2, 30, "two runs")
        yield found


def runs(service: Serving) -> dict[str, str]:
    """Run ids by trace id."""
    return {run["trace_id"]: run["run_id"] for run in json.loads(service.get("/api/v1/runs"))["runs"]}


def asked(service: Serving, *arguments: str) -> Ended:
    return run(*arguments, "--url", f"http://{service.admin}")


def post(service: Serving, path: str) -> dict[str, Any]:
    url = f"http://{service.admin}/api/v1/"
    with urllib.request.urlopen(f"{url}runs", timeout=10) as answer:
        token = answer.headers["X-CSRF-Token"]
    change = urllib.request.Request(f"{url}{path}", b"", {"X-CSRF-Token": token}, method="POST")
    with urllib.request.urlopen(change, timeout=30) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found


def scored(service: Serving) -> list[str]:
    """All samples of the metrics that speak of the traffic."""
    told = ("score", "estimator", "traces", "unscored", "alarm", "reference", "evaluations", "bad_weight")
    lines = service.get("/metrics").splitlines()
    return [line for line in lines if line.startswith(tuple(f"ctxscore_{name}" for name in told))]


def test_one_run_is_labelled_by_options(service: Serving) -> None:
    known = runs(service)[f"{1:032x}"]
    listed = asked(service, "label", "--run", known)
    assert (listed.code, listed.err.count("/")) == (0, 1), "which replica it was"
    assert [line.split()[0] for line in listed.out.splitlines()] == ["run", "query", "[0]", "[1]", "[2]", "response"]
    assert listed.out.count("not useful") == 2

    options = [
        "--useful",
        "2",
        "--unsure",
        "1",
        "--relevance",
        "2=high,0=none",
        "--note",
        f"0={HOSTILE}",
        "--who",
        "ann",
    ]
    kept = asked(service, "label", "--run", known, *options)
    assert kept.out == f"{known} ann: agrees with the judge on useful 2 of 2\n"
    shown = asked(service, "label", "--run", known).out.splitlines()[-1]
    assert shown.startswith("ann, 20")
    assert shown.endswith(": [0] not useful, none; [2] useful, high")
    assert asked(service, "label", "--run", known, "--useful", "none", "--used", "all").code == 0
    labels = json.loads(service.get(f"/api/v1/runs/{known}"))["labels"]
    assert [[one["useful"] for one in label["contexts"]] for label in labels] == [[False, True], [False] * 3]

    for arguments, code, what in (
        (["--run", known, "--useful", "3"], 2, "'3' is no context; the run has 3, from 0"),
        (["--run", known, "--useful", "1", "--unsure", "1"], 2, "1 is in --useful and in --unsure"),
        (["--run", known, "--relevance", "1"], 2, "is not NUMBER="),
        (["--run", known, "--relevance", "1=great"], 1, "relevance is none of high"),
        (["--run", "nothing"], 1, "does not know run nothing"),
        (["file", "--run", known], 2, "either FILE or --run"),
        ([], 2, "either FILE or --run"),
        (["file", "--useful", "1"], 2, "go with --run"),
    ):  # fmt: skip
        failed = asked(service, "label", *arguments)
        assert (failed.code, what in failed.err, "Traceback" in failed.err) == (code, True, False), failed.err


def test_an_export_is_filled_in_kept_and_calibrates(service: Serving, tmp_path: Path) -> None:
    table = list(csv.DictReader(io.StringIO(asked(service, "export", "--format", "csv").out, newline="")))
    for row in table:
        row |= {"useful": "TRUE" if "ledger" in row["text"] else "", "used": "no"}
    table += [{**table[0], "run_id": "another", "index": "0"}]
    filled = io.StringIO()
    writer = csv.DictWriter(filled, table[0])
    writer.writeheader()
    writer.writerows(table)
    (tmp_path / "filled.csv").write_text(filled.getvalue(), newline="")
    refused = asked(service, "label", str(tmp_path / "filled.csv"))
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.count("who is the judge: if a person has been over it, say --who NAME") == 3
    kept = asked(service, "label", str(tmp_path / "filled.csv"), "--who", "ann")
    assert (kept.code, len(kept.out.splitlines())) == (1, 2), "the rest is kept"
    assert "2 labels kept by replica " in kept.err
    assert "line 8: " in kept.err
    assert "does not know run another" in kept.err

    by_lines, by_table = (asked(service, "export", "--labels", "--format", form).out for form in ("jsonl", "csv"))
    assert [json.loads(line)["who"] for line in by_lines.splitlines()] == ["ann", "ann"]
    found = []
    for text in (by_lines, by_table):
        ended = run("calibrate", "--labels", "-", "--format", "json", stdin=text.encode())
        assert ended.code == 0, ended.err
        [judge] = json.loads(ended.out)["judges"]
        found.append(judge)
    assert found[0] == found[1]
    assert (found[0]["useful"]["contexts"], found[0]["used"]["contexts"]) == (2, 6), "what is open is in no figure"

    service.stop()
    service.start()
    assert asked(service, "export", "--labels").out == by_lines
    (tmp_path / "again.jsonl").write_text(by_lines)
    assert asked(service, "label", str(tmp_path / "again.jsonl")).code == 0


def test_lines_whose_text_is_gone_and_the_judges_own_are_said(service: Serving) -> None:
    for known in runs(service).values():
        assert asked(service, "label", "--run", known, "--useful", "2").code == 0
    own = asked(service, "export").out
    post_free = urllib.request.Request(f"http://{service.admin}/api/v1/traces/{1:032x}/content", method="DELETE")
    with urllib.request.urlopen(f"http://{service.admin}/api/v1/runs", timeout=10) as answer:
        post_free.add_header("X-CSRF-Token", answer.headers["X-CSRF-Token"])
    urllib.request.urlopen(post_free, timeout=10).close()
    ended = run("calibrate", "--labels", "-", stdin=asked(service, "export", "--labels").out.encode())
    assert (ended.code, "labels             1 query, 3 contexts" in ended.out) == (0, True)
    assert "left out: 1 line whose text is not kept any more" in ended.err
    ended = run("calibrate", "--labels", "-", stdin=own.encode())
    assert (ended.code, "2 lines with a judge as `who`" in ended.err) == (1, True)
    assert "no labels by people" in ended.err


def test_the_judges_own_word_is_kept_only_where_a_person_confirms_it(service: Serving, tmp_path: Path) -> None:
    for form in ("jsonl", "csv"):
        plain, blank = tmp_path / f"plain.{form}", tmp_path / f"blank.{form}"
        plain.write_text(asked(service, "export", "--format", form).out)
        refused = asked(service, "label", str(plain), "--who", "ann")
        assert (refused.code, refused.err.count("all verdicts are still the judge's")) == (1, 2)
        blank.write_text(asked(service, "export", "--blank", "--format", form).out)
        empty = asked(service, "label", str(blank), "--who", "ann")
        assert (empty.code, "left out: 2 lines without any verdict" in empty.err) == (1, True)
    assert asked(service, "label", str(plain), "--who", "ann", "--confirm-judge").code == 0


def test_what_is_judged_again_is_in_no_sum(service: Serving) -> None:
    before = scored(service)
    assert before
    known = runs(service)[f"{1:032x}"]
    said = post(service, f"runs/{known}/judge")
    assert [said[which]["scores"][0]["value"] for which in ("first", "again")] == [0.33, 0.33]
    asked(service, "label", "--run", known, "--useful", "2")
    made = post(service, f"runs/{known}/anchor")
    assert scored(service) == before
    assert 'ctxscore_judge_calls_total{model="lexical",result="ok",tier="local"} 6.0' in service.get("/metrics")
    config = str(service.folder / "config.yaml")
    [listed] = [json.loads(line) for line in run("anchors", "list", "-c", config).out.splitlines()]
    assert {**listed, "replica": made["replica"]} == made
    assert "no score" not in run("anchors", "run", "-c", config).out


# ---- in a browser -----------------------------------------------------------------------------------------------


def test_a_run_is_labelled_by_keyboard_judged_again_pinned_and_forgotten(service: Serving, page: Page) -> None:
    from playwright.sync_api import expect  # here, since only these tests should pay for loading it

    known = runs(service)[f"{2:032x}"]
    page.goto(f"http://{service.admin}/runs/{known}")
    expect(page.get_by_role("button", name="Add to the anchors")).to_have_count(0)
    page.get_by_text("Say which contexts are useful").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type(HOSTILE)
    for place in range(3):
        group = page.get_by_role("group", name=f"Context [{place}]")
        useful = group.get_by_role("group", name="Useful")
        useful.get_by_label("open").focus()
        page.keyboard.press("ArrowUp" if place < 2 else "ArrowRight")  # round to the first from the last
        expect(useful.get_by_label("no" if place < 2 else "yes")).to_be_checked()
        group.get_by_label("Note").fill(f"{HOSTILE} {place}")
    page.keyboard.press("Enter")
    main = page.locator("main")
    expect(page.get_by_role("status")).to_contain_text("The label is kept")
    expect(main).to_contain_text("agrees with the judge on useful in 3 of 3")
    expect(main).to_contain_text(f"“{HOSTILE} 2”")
    assert page.title() == "Run · otel-ctxscore", "what people write is text"
    page.reload()
    assert len(json.loads(service.get(f"/api/v1/runs/{known}"))["labels"]) == 1, "loading it again repeats nothing"

    page.get_by_role("button", name="Judge again").click()
    expect(page.get_by_role("heading", name="Judged again")).to_be_visible()
    page.get_by_role("button", name="Add to the anchors").click()
    expect(page.get_by_role("status")).to_contain_text("is an anchor now")
    button = page.get_by_role("button", name="Delete the text now")
    expect(button).to_be_hidden()
    page.get_by_text("Delete the text of this trace").click()
    button.click()
    expect(page.get_by_role("status")).to_contain_text("was deleted")
    expect(main).not_to_contain_text(GOOD)
    expect(main).to_contain_text("agrees with the judge on useful in 3 of 3")


def test_a_refused_form_says_why_and_keeps_its_fields(service: Serving, page: Page) -> None:
    from playwright.sync_api import expect

    page.goto(f"http://{service.admin}/runs/{runs(service)[f'{2:032x}']}")
    page.get_by_text("Say which contexts are useful").click()
    page.get_by_label("Your name").fill("judge of mine")
    page.get_by_role("group", name="Context [1]").get_by_label("medium").check()
    page.get_by_role("button", name="Keep the label").click()
    expect(page.get_by_role("alert")).to_contain_text("who is a judge")
    page.get_by_label("Your name").fill("ann")
    page.get_by_role("button", name="Keep the label").click()
    expect(page.locator("main")).to_contain_text("ann: relevance medium")

    service.stop()
    service.start()
    page.get_by_role("button", name="Judge again").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was changed")


def test_a_labelled_run_needs_not_be_scrolled_sideways(service: Serving, page: Page, tmp_path: Path) -> None:
    known = runs(service)[f"{1:032x}"]
    long = "x" * 90
    asked(service, "label", "--run", known, "--useful", "2", "--who", long, "--note", f"0={long * 3}")
    post(service, f"runs/{known}/judge")
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme, width in itertools.product(schemes, (360, 1200)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"http://{service.admin}/runs/{known}")
        page.get_by_text("Say which contexts are useful").click()
        page.get_by_text("Delete the text of this trace").click()
        page.screenshot(path=tmp_path / f"{scheme}-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
