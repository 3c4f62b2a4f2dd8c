"""Labels of people who have not seen what the judge says; and labels that contradict themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run
from tests.web.elements import Elements, links, text
from tests.web.test_review import WHOLE, Desk, desks

VERDICTS = (
    "useful ·",
    "not useful",
    "agrees with",
    "unlike the first",
    "note 1",
    "context_precision",
    "piece 1",
    "bob",
)
"""What the whole page shows of what was said."""


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async for found in desks():
        yield found


async def test_the_blind_page_shows_what_is_to_be_judged_and_no_verdict(desk: Desk) -> None:
    await desk.post("label", {"who": "bob", "contexts": WHOLE})
    await desk.post("judge")
    whole, blind = text(await desk.page()), text(await desk.page("?blind=1"))
    assert [word for word in VERDICTS if word not in whole] == []
    assert [word for word in VERDICTS if word in blind] == []
    for shown in ("query 1", "one text", "two text", "three text", "Keep the label"):
        assert shown in blind
    assert links(await desk.page(), "blind=1") == [f"../runs/{desk.known}?blind=1"]


async def test_a_blind_form_stays_blind_whether_it_is_kept_or_refused(desk: Desk) -> None:
    page, path = await desk.send("label", 400, who="judge x", useful_0="yes", blind="1")
    assert "who is a judge. Put the name of the person who looked in its place." in text(page)
    assert [given["value"] for _, given in Elements(page).tags if given.get("name") == "blind"] == ["1"]
    page, path = await desk.send("label", 200, who="ann", useful_0="yes", blind="1")
    assert path == f"/runs/{desk.known}?done=labelled&blind=1"
    assert "The label is kept." in text(page)
    assert not [word for word in VERDICTS if word in text(page)]
    assert [label["who"] for label in (await desk.get())["labels"]] == ["ann"]


async def test_without_its_text_there_is_nothing_to_label_blind() -> None:
    async for desk in desks(store="none"):
        page = await desk.page("?blind=1")
        assert ("there is nothing to label" in text(page), "Keep the label" in page) == (True, False)


async def asked(desk: Desk, *arguments: str) -> Any:
    return await asyncio.to_thread(run, "label", *arguments, "--url", str(desk.http.make_url("")).rstrip("/"))


async def test_the_command_is_blind_too(desk: Desk) -> None:
    await desk.post("label", {"who": "bob", "contexts": WHOLE})
    listed = await asked(desk, "--run", desk.known, "--blind")
    lines = listed.out.splitlines()
    assert [line.split()[0] for line in lines] == ["run", "query", "[0]", "[1]", "[2]", "response"]
    assert [line.split(maxsplit=1)[1] for line in lines[2:5]] == ["one text", "two text", "three text"]
    assert lines[0] == f"run {desk.known}: text: text"
    kept = await asked(desk, "--run", desk.known, "--blind", "--useful", "0", "--who", "ann")
    assert (kept.code, kept.out) == (0, f"{desk.known} ann: kept\n")


CONTRADICTION = {"index": 1, "useful": False, "relevance": "high"}
SAID = "is not useful, yet its relevance is high"


async def test_a_contradiction_is_refused_by_every_way_alike(desk: Desk, tmp_path: Path) -> None:
    said = await desk.post("label", {"who": "ann", "contexts": [CONTRADICTION]}, 400)
    assert f"context [1] {SAID}" in said["error"]
    page, _ = await desk.send("label", 400, who="ann", useful_1="no", relevance_1="high")
    assert f"Not done: context [1] {SAID}" in text(page)
    by_options = await asked(desk, "--run", desk.known, "--useful", "0", "--relevance", "1=high", "--who", "ann")
    assert (by_options.code, f"context [1] {SAID}" in by_options.err) == (1, True)
    line = {"run_id": desk.known, "who": "ann", "query": "query 1", "contexts": [CONTRADICTION]}
    (tmp_path / "labels.jsonl").write_text(json.dumps(line))
    by_file = await asked(desk, str(tmp_path / "labels.jsonl"))
    assert (by_file.code, f"line 1: context [1] {SAID}" in by_file.err) == (1, True)
    assert (await desk.get())["labels"] == []
