"""What a page shows of texts that are long, many or hostile; the API has all of it."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from otel_ctxscore.core.conventions import Considered
from otel_ctxscore.core.model import Context, Judgement, Provenance, Retrieval, Verdict
from otel_ctxscore.core.unseen import plain
from otel_ctxscore.io.results import evaluation_id
from otel_ctxscore.web.run_texts import MAX_CONTEXTS
from tests.cli.run import run as cli
from tests.io.evaluations import evaluation, score
from tests.web.elements import Elements, links, text
from tests.web.test_history import TRACE, Rig, rigged, run

NOISE = "The canteen opens at noon. " * 3800  # 100 kB
ANSWER = "The ledger listens on port 7443."
CUT = 200_000
"""Bytes of a page that shows one hostile trace, but for what it says of each of its contexts."""


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with rigged() as found:
        yield found


def add(rig: Rig, contexts: list[str], notes: list[str] | None = None, trace: str = TRACE, **changed: Any) -> str:
    """A run with these contexts, none useful; its id."""
    given = {"query": "Which port does the ledger listen on?", "response": "It is 7443.", **changed}
    it = run(trace, retrievals=[Retrieval([Context(one, f"d{n}") for n, one in enumerate(contexts)])], **given)
    verdicts = Judgement([Verdict(False, note=notes[n] if notes else "") for n in range(len(it.judged))])
    whole = evaluation([score("context_precision", 0.0, retrieval=0)], it, judgement=verdicts)
    rig.add(whole, trace=trace, service=it.service)
    return evaluation_id(whole)


async def test_a_hostile_trace_makes_no_endless_page(rig: Rig) -> None:
    known = add(rig, [f"{NOISE}{n}" for n in range(30)], query="\u202e'" * 50_000, response=NOISE, service="s" * 1000)
    for path in (f"/runs/{known}", f"/runs/{known}?blind=1", "/runs", "/", f"/why?trace_id={TRACE}"):
        assert len(await rig.page(path)) < CUT + 30 * 6_000, path
    whole = await rig.json(f"runs/{known}")
    assert [len(one["text"]) for one in whole["retrievals"][0]["contexts"]] == [
        len(NOISE) + len(str(n)) for n in range(30)
    ]


async def test_what_is_cut_is_counted_and_leads_to_the_whole_text(rig: Rig) -> None:
    known = add(rig, ["short", NOISE, f"{NOISE}2"])
    page = await rig.page(f"/runs/{known}")
    assert "short" in page
    [first, second] = links(page, "whole=context")
    assert first == f"../runs/{known}?whole=context-1-2#context-1-2"
    assert ("li", {"id": "context-1-2", "class": "bad"}) in Elements(page).tags
    assert f"… {len(NOISE) - 3000:,} more characters".replace(",", "\u202f") in text(page)
    page = await rig.page(f"/runs/{first.removeprefix('../runs/')}")
    assert NOISE in page
    assert f"{NOISE}2" not in page
    assert links(page, "whole=context") == [second]
    assert [given for tag, given in Elements(page).tags if tag == "details" and "open" in given] == [{"open": None}]
    assert links(page, "#context-1-2") == [f"../runs/{known}#context-1-2"]


@pytest.mark.parametrize("blind", ["", "blind=1&"])
async def test_who_labels_sees_the_whole_text_too(rig: Rig, blind: str) -> None:
    known = add(rig, [NOISE], query=NOISE)
    [_, leads] = links(page := await rig.page(f"/runs/{known}?{blind}"), f"?{blind}whole=")[-2:]
    assert leads == f"../runs/{known}?{blind}whole=label-0#label-0"
    assert NOISE not in page
    page = await rig.page(f"/runs/{known}?{blind}whole=label-0")
    assert page.count(NOISE) == 1
    assert page.index(NOISE) < page.index("useful-0")


@pytest.mark.parametrize("part", ["context-1-3", "context-0-1", "label-9", "text", "../x", "response"])
async def test_a_text_that_is_not_there_is_said(rig: Rig, part: str) -> None:
    known = add(rig, ["one", "two"], response=None)
    answer = await rig.http.get(f"/runs/{known}", params={"whole": part})
    assert (answer.status, "There is no text" in await answer.text()) == (400, True)


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (
            "It names “the canteen is upstairs” only.",
            "A note quotes, from character 102\u202f635 on: The canteen is upstairs.",
        ),
        (
            "It knows the port.",
            "Nearest to query and response, from character 102\u202f602 on: The ledger listens on port 7443.",
        ),
    ],
)
async def test_the_sentence_at_issue_is_in_sight_wherever_it_stands(rig: Rig, note: str, said: str) -> None:
    known = add(rig, [f"{NOISE} {ANSWER} The canteen is upstairs. {NOISE}"], [note.replace("the", "The")])
    page = await rig.page(f"/runs/{known}")
    assert said in text(page)
    folded = page[page.index("<details>") : page.index("</details>")]
    assert ANSWER not in folded, "else it would be in sight when it is opened only"
    assert "canteen is upstairs" not in text(await rig.page(f"/runs/{known}?blind=1")), (
        "a judge's note says nothing there"
    )


async def test_more_contexts_than_a_page_has_room_for(rig: Rig) -> None:
    known = add(rig, [f"text {n}" for n in range(MAX_CONTEXTS + 7)])
    page = await rig.page(f"/runs/{known}")
    assert "And 7 further contexts, which the JSON has." in text(page)
    assert (
        sum(tag == "fieldset" and given.get("class") == "context" for tag, given in Elements(page).tags) == MAX_CONTEXTS
    )


async def test_a_trace_of_many_runs_and_long_reasons(rig: Rig) -> None:
    runs = [
        evaluation([score("context_precision", 0.5)], run(TRACE, query="q" * 999, span_id=f"{n:016x}"))
        for n in range(103)
    ]
    considered = [Considered("s" * 500, "\u200bname " * 200, "why not " * 200)] * 20
    rig.add(*runs, trace=TRACE, considered=considered)
    page = await rig.page(f"/why?trace_id={TRACE}")
    assert len(page) < CUT
    assert "And 3 further runs, which the JSON has." in text(page)
    assert len(links(page, "runs/")) == 100


# ---- what is not seen --------------------------------------------------------------------------------------------

EVIL = "pay \u202edecivres\u2066 a\u200bb \x1b[2Jשלום (12)\u061c"
UNSEEN = {*"\u202e\u2066\u200b\x1b\u061c"}
WHERE = Provenance(EVIL, EVIL)


async def test_nothing_unseen_of_a_trace_is_on_any_page(rig: Rig) -> None:
    contexts = [Context(EVIL, EVIL, source=f"{EVIL}2", read_from=WHERE), Context(EVIL * 99, f"{EVIL}3")]
    it = run(
        TRACE, query=EVIL, response=EVIL, service=EVIL, convention=EVIL, query_read_from=WHERE,
        retrievals=[Retrieval(contexts, query=f"{EVIL}?")],
    )  # fmt: skip
    judgement = Judgement([Verdict(False, note=EVIL), Verdict(False, note=EVIL)], missing=[EVIL])
    scores = [score("context_precision", 0.0, retrieval=0), score(EVIL, 0.5, explanation=EVIL)]
    whole = evaluation(scores, it, judgement=judgement)
    rig.add(whole, trace=TRACE, service=EVIL, considered=[Considered(EVIL, EVIL, EVIL)], hint=EVIL)
    known = evaluation_id(whole)
    for path in (
        f"/runs/{known}", f"/runs/{known}?whole=query", f"/runs/{known}?blind=1", "/runs", "/documents",
        "/documents?by=source", f"/why?trace_id={TRACE}", "/", "/segments",
    ):  # fmt: skip
        page = await rig.page(path)
        assert not UNSEEN & {*page}, path
    page = await rig.page(f"/runs/{known}")
    assert page.count('<bdi>pay <i class="unseen">U+202E</i>decivres') > 8
    assert plain(EVIL).replace("⟨", "").replace("⟩", "") in text(page)
    assert json.dumps(EVIL)[1:-1] in await (await rig.http.get(f"/api/v1/runs/{known}")).text(), (
        "programs get it as it is"
    )


@pytest.mark.parametrize("is_terminal", [False, True])
async def test_a_terminal_is_given_nothing_to_obey_and_a_file_everything(
    rig: Rig, is_terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(rig, ["text"], query=EVIL)
    monkeypatch.setattr(io, "StringIO", type("Output", (io.StringIO,), {"isatty": lambda self: is_terminal}))
    url = str(rig.http.make_url("")).rstrip("/")
    ended = await asyncio.to_thread(cli, "export", "--format", "csv", "--url", url)
    assert ended.code == 0, ended.err
    assert (EVIL in ended.out, plain(EVIL) in ended.out) == (not is_terminal, is_terminal)
    assert bool(UNSEEN & {*ended.out}) != is_terminal


@pytest.mark.parametrize("path", ["/runs", "/documents", "/segments", "/"])
async def test_a_filter_is_sent_again_as_it_was_given(rig: Rig, path: str) -> None:
    answer = await rig.http.get(path, params={"service": EVIL})
    page = await answer.text()
    sent = [given["value"] for tag, given in Elements(page).tags if tag == "option" and "selected" in given]
    assert EVIL in sent
    assert EVIL not in text(page)
