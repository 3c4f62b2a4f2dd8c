"""What `alarms show` prints of an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from rich.console import Console

from otel_ctxscore.cli.alarm_text import lines
from tests.web.past import HOUR, Past, past

URL = "http://127.0.0.1:9464"


@pytest.fixture
async def it() -> AsyncIterator[Past]:
    async with past() as found:
        yield found


def said(answer: dict[str, Any]) -> str:
    console = Console(width=160, markup=False, highlight=False)
    with console.capture() as captured:
        for line in lines(answer, URL):
            console.print(line)
    return " ".join(captured.get().split())


async def test_it_reads_as_the_view_does(it: Past) -> None:
    it.fall()
    it.hours(2, 1, 0.9, version="v2")
    text = said(await it.json("alarms/a1b2"))
    for expected in (
        "context_precision of shop (version v-context_precision): up since",
        "began most likely at",
        "when it rose: 0.4 since",
        "reference 0.95; by now: ",
        "mean context_precision 0.9",
        "contexts a run 2 (2 to 2) 2 (2 to 2) +0 (+0 to +0, within noise)",
        "other versions: version v2 (openai/small) since",
        "index share before, after mean before mean after part of the change eu 75%, 75%",
        "worst runs since then: 0",
        f"0 {URL}/runs/",
        "not known: system or judge: no anchors",
        f"{URL}/alarms/a1b2, replica host/1a2b",
    ):
        assert expected in text, expected


async def test_what_is_not_there_is_a_dash(it: Past) -> None:
    it.alarm(began=it.now - 6 * HOUR, ended=it.now, ended_by="recovered", blame={"culprit": "open"})
    text = said(await it.json("alarms/a1b2"))
    for expected in ("over (recovered) at", "as the alarm took it when it rose", "- - -", "who moved: open"):
        assert expected in text, expected


async def test_a_beginning_that_is_sure_is_one_hour(it: Past) -> None:
    it.fall()
    answer = await it.json("alarms/a1b2")
    answer["change"]["latest"] = sure = answer["change"]["earliest"]
    assert f"with 95 % within the hour of {sure}" in said(answer)
