"""What people do with a run, over the API and with the forms of its page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from aiohttp import encode_basic_auth
from aiohttp.test_utils import TestClient

from otel_ctxscore.core.budget import Budget, Limits
from otel_ctxscore.core.errors import StateError
from otel_ctxscore.core.history import Finished, Label
from otel_ctxscore.core.model import Context, Evaluation, Judgement, RagRun, Retrieval, Verdict
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.io.results import evaluation_id
from otel_ctxscore.io.state import Database, History, Kept
from otel_ctxscore.monitoring import anchors
from otel_ctxscore.reviewing import Reviewing
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.testing import ScriptedJudge
from otel_ctxscore.web.access import CSRF_HEADER
from tests.monitoring.labelled import read
from tests.web.elements import Elements, text
from tests.web.fakes import FakeService, client
from tests.web.test_history import HOSTILE, run

TRACE = f"{1:032x}"
WHOLE = [{"useful": True, "relevance": "high"}, {"useful": False}, {"useful": False, "used": True, "note": "hm"}]


class Desk:
    """An admin address over one run of three contexts, of which the judge finds first the second one useful, then the
    first."""

    def __init__(self, http: TestClient[Any, Any], history: History, store: Kept) -> None:
        self.http, self.history, self.store = http, history, store
        self.known = ""
        self.headers: dict[str, str] = {}

    async def add(self, it: RagRun) -> None:
        first = await evaluate(it, ScriptedJudge(lambda _: useful(1, it)), [ContextPrecision()])
        done = Finished(bytes.fromhex(TRACE), TraceOutcome.SCORED, service="shop", evaluations=[first])
        self.history.finished(done)
        self.known = evaluation_id(first)

    async def get(self, path: str = "") -> Any:
        answer = await self.http.get(f"/api/v1/runs/{self.known}{path}")
        self.headers[CSRF_HEADER] = answer.headers.get(CSRF_HEADER, "")
        return await answer.json()

    async def post(self, what: str, body: object = None, status: int = 200) -> Any:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        answer = await self.http.post(f"/api/v1/runs/{self.known}/{what}", data=data, headers=self.headers)
        assert answer.status == status, await answer.text()
        return await answer.json()

    async def page(self, query: str = "") -> str:
        answer = await self.http.get(f"/runs/{self.known}{query}")
        assert answer.status == 200
        return await answer.text()

    async def send(self, what: str, status: int = 200, **fields: str) -> tuple[str, str]:
        """What a browser gets for a form of the page, and at which path it stands then."""
        [csrf, *_] = [given["value"] for tag, given in Elements(await self.page()).tags if given.get("name") == "csrf"]
        form = {"csrf": csrf, **{name.replace("_", "-"): value for name, value in fields.items()}}
        answer = await self.http.post(f"/runs/{self.known}/{what}", data=form)
        assert answer.status == status, await answer.text()
        return await answer.text(), answer.url.path_qs


def useful(place: int, it: RagRun) -> Judgement:
    return Judgement(
        missing=[f"piece {place}"],
        verdicts=[Verdict(n == place, used=n == 0, note=f"note {n}") for n, _ in enumerate(it.judged)],
    )


async def judge(it: RagRun) -> Evaluation:
    return await evaluate(it, ScriptedJudge(lambda run: useful(0, run)), [ContextPrecision()])


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async for found in desks():
        yield found


async def desks(store: Any = "text", limits: Limits | None = None, **admin: Any) -> AsyncIterator[Desk]:
    database = Database(None, max_size=64 << 20, max_age=1e9)
    history, kept = History(database, store=store), Kept(database)
    review = Reviewing(history, kept, judge, Budget(limits or Limits()), spent=lambda: None)
    async with client(FakeService(history=history), review=review, **admin) as http:
        found = Desk(http, history, kept)
        await found.add(run(TRACE))
        await found.get()
        yield found
    await database.close()


# ---- the API ----------------------------------------------------------------------------------------------------


async def test_a_new_judgement_comes_with_the_first(desk: Desk) -> None:
    assert (await desk.get())["again"] is None
    said = await desk.post("judge")
    assert [[one["useful"] for one in said[which]["verdicts"]] for which in ("first", "again")] == [
        [False, True, False], [True, False, False]
    ]  # fmt: skip
    scores = {which: {one["name"]: one["value"] for one in said[which]["scores"]} for which in ("first", "again")}
    assert (scores["first"]["context_precision"], scores["again"]["context_precision"]) == (0.5, 1)
    assert (said["run_id"], said["replica"], said["again"]["at"][-6:]) == (desk.known, "host/1a2b", "+00:00")
    after = await desk.get()
    assert after["again"] == said["again"]
    assert [one["useful"] for one in after["retrievals"][0]["contexts"]] == [False, True, False]


async def test_a_label_stands_beside_the_judge_with_their_agreement(desk: Desk) -> None:
    said = await desk.post("label", {"who": "ann", "contexts": WHOLE})
    assert said["agreement"] == {
        "useful": {"same": 1, "of": 3}, "relevance": {"same": 0, "of": 0}, "used": {"same": 0, "of": 1}
    }  # fmt: skip
    assert (said["who"], said["run_id"], said["replica"]) == ("ann", desk.known, "host/1a2b")
    [label] = (await desk.get())["labels"]
    assert label == {name: said[name] for name in ("who", "at", "contexts", "agreement")}
    assert label["contexts"][2] == {"index": 2, "useful": False, "relevance": None, "used": True, "note": "hm"}
    await desk.post("label", {"who": "ann", "contexts": [{"index": 1, "used": False}]})
    [label] = (await desk.get())["labels"]
    assert [(one["index"], one["useful"], one["used"]) for one in label["contexts"]] == [(1, None, False)]


@pytest.mark.parametrize(
    ("contexts", "places"),
    [
        ([{"useful": True}, {"useful": True}, {"useful": True}], [0, 1, 2]),
        ([{"index": 2, "useful": True}], [2]),
        ([{"text": "three text", "useful": True}, {"text": "one text", "useful": False}], [2, 0]),
        ([{"index": 1, "text": "two text", "id": "two", "relevance": "none"}], [1]),
    ],
)
async def test_contexts_are_named_by_index_text_or_place(desk: Desk, contexts: list[Any], places: list[int]) -> None:
    said = await desk.post("label", {"who": "ann", "contexts": contexts})
    assert [one["index"] for one in said["contexts"]] == places


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        ([], "a label is a JSON object"),
        ({}, "contexts are missing"),
        ({"who": "ann"}, "contexts are missing"),
        ({"who": "ann", "contexts": {}}, "contexts are missing"),
        ({"who": "ann", "contexts": ["useful"]}, "contexts[0] is no JSON object"),
        ({"contexts": WHOLE}, "who is missing"),
        ({"who": " ", "contexts": WHOLE}, "who is missing"),
        ({"who": 7, "contexts": WHOLE}, "who is missing"),
        ({"who": "x" * 101, "contexts": WHOLE}, "who is missing"),
        ({"who": "a\nb", "contexts": WHOLE}, "cannot be printed"),
        ({"who": "a\ud800", "contexts": WHOLE}, "cannot be printed"),
        ({"who": "judge llm gpt", "contexts": WHOLE}, "who is a judge"),
        ({"who": "ann", "contexts": WHOLE, "verdicts": []}, "there is no verdicts"),
        ({"who": "ann", "contexts": WHOLE[:2]}, "contexts[0] names no context"),
        ({"who": "ann", "contexts": [{"index": 3, "useful": True}]}, "contexts[0].index is none of this run"),
        ({"who": "ann", "contexts": [{"index": True, "useful": True}]}, "contexts[0].index is none of this run"),
        ({"who": "ann", "contexts": [{"index": -1, "useful": True}]}, "contexts[0].index is none of this run"),
        ({"who": "ann", "contexts": [{"index": 0, "useful": True}] * 2}, "contexts[1] stands there twice"),
        ({"who": "ann", "contexts": [{"text": "four text", "useful": True}]}, "contexts[0].text is that of no context"),
        ({"who": "ann", "contexts": [{"index": 0, "text": "two text"}]}, "contexts[0].text is not that of context 0"),
        ({"who": "ann", "contexts": [{"index": 0, "useful": 1}]}, "contexts[0].useful is neither"),
        ({"who": "ann", "contexts": [{"index": 0, "useful": 0.7}]}, "contexts[0].useful is neither"),
        ({"who": "ann", "contexts": [{"index": 0, "used": "yes"}]}, "contexts[0].used is neither"),
        ({"who": "ann", "contexts": [{"index": 0, "relevance": "High"}]}, "contexts[0].relevance is none of high"),
        ({"who": "ann", "contexts": [{"index": 0, "relevance": []}]}, "contexts[0].relevance is none of high"),
        ({"who": "ann", "contexts": [{"index": 0, "note": "x"}]}, "no context has a verdict"),
        ({"who": "ann", "contexts": [{"index": 0, "note": "x" * 2001, "used": True}]}, "contexts[0].note"),
        ({"who": "ann", "contexts": [{"index": 0, "usefull": True}]}, "there is no contexts[0].usefull"),
        ({"who": "ann", "contexts": WHOLE, "query": "another"}, "query is not that of the run"),
        ({"who": "ann", "contexts": WHOLE, "trace_id": f"{2:032x}"}, "trace_id is not that of the run"),
        ({"who": "ann", "contexts": WHOLE, "run_id": 1}, "run_id is not that of the run"),
    ],
)
async def test_a_label_that_is_not_right_is_refused_whole(desk: Desk, body: object, what: str) -> None:
    said = await desk.post("label", body, 400)
    assert what in said["error"]
    assert said["hint"]
    assert (await desk.get())["labels"] == []


async def test_who_is_logged_in_signs(tmp_path: Any) -> None:
    (tmp_path / "users").write_text("ann:secret\n")
    login = {"Authorization": encode_basic_auth("ann", "secret")}
    async for desk in desks(auth={"basic_file": tmp_path / "users"}):
        answer = await desk.http.get("/api/v1/runs", headers=login)
        desk.headers = {**login, CSRF_HEADER: answer.headers[CSRF_HEADER]}
        assert (await desk.post("label", {"contexts": WHOLE}))["who"] == "ann"
        assert (await desk.post("label", {"who": "bob", "contexts": WHOLE}))["who"] == "bob"


async def test_only_so_many_people_label_a_run(desk: Desk) -> None:
    for n in range(20):
        await desk.post("label", {"who": str(n), "contexts": WHOLE})
    assert "20 people" in (await desk.post("label", {"who": "one more", "contexts": WHOLE}, 409))["error"]
    await desk.post("label", {"who": "3", "contexts": WHOLE})


async def test_a_labelled_run_becomes_an_anchor(desk: Desk) -> None:
    assert "nobody has said of every context" in (await desk.post("anchor", None, 409))["error"]
    await desk.post("label", {"who": "ann", "contexts": WHOLE})
    bodies: list[object] = [{"who": 1}, {"whom": "ann"}, []]
    for body in bodies:
        assert "who is no name" in (await desk.post("anchor", body, 400))["error"]
    made = await desk.post("anchor", {"who": "ann"})
    assert {one["scorer"]: one["score"] for one in made["kept"]}["context_precision"] == 1
    assert (made["who"], made["run_id"], made["replica"]) == ("ann", desk.known, "host/1a2b")
    [found] = await anchors.known(desk.store)
    assert found.id == made["id"]


@pytest.mark.parametrize("what", ["judge", "label", "anchor"])
async def test_who_may_not_write_changes_nothing(desk: Desk, what: str) -> None:
    desk.headers = {CSRF_HEADER: "guessed"}
    assert (await desk.post(what, {"who": "ann", "contexts": WHOLE}, 403))["error"] == "a change needs a token"
    desk.headers = {"Host": "evil.example"}
    await desk.post(what, {"who": "ann", "contexts": WHOLE}, 403)
    found = await desk.get()
    assert (found["labels"], found["again"]) == ([], None)


@pytest.mark.parametrize("what", ["judge", "label", "anchor"])
async def test_a_run_that_another_replica_has_says_which_this_is(desk: Desk, what: str) -> None:
    desk.known = "unknown"
    assert "replica host/1a2b does not know run unknown" in (await desk.post(what, {}, 404))["error"]


async def test_a_budget_that_is_spent_is_said() -> None:
    async for desk in desks(limits=Limits(tokens_per_day=0)):
        await desk.post("judge")
        assert (await desk.post("judge"))["again"]["outcome"] == "scored", "a local judge costs no tokens"
    async for desk in desks(limits=Limits(runs_per_minute=0.2)):
        await desk.post("judge")
        assert "budget is spent" in (await desk.post("judge", None, 429))["error"]


async def test_a_state_that_takes_nothing_is_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(known: str, label: Label) -> None:
        raise StateError("nothing was kept: database or disk is full")

    monkeypatch.setattr(desk.history, "label", full)
    said = await desk.post("label", {"who": "ann", "contexts": WHOLE}, 503)
    assert said["error"] == "nothing was kept: database or disk is full"
    page, _ = await desk.send("label", 503, who="ann", useful_0="yes")
    assert "Not done: nothing was kept" in text(page)


async def test_without_its_text_a_run_can_be_labelled_by_index_only() -> None:
    async for desk in desks(store="none"):
        assert "not kept" in (await desk.post("judge", None, 409))["error"]
        note = {"who": "ann", "contexts": [{"index": 0, "useful": True, "note": "hm"}]}
        assert "a note needs the text" in (await desk.post("label", note, 400))["error"]
        by_text = {"who": "ann", "contexts": [{"text": "one text", "useful": True}]}
        assert "no context that is kept" in (await desk.post("label", by_text, 400))["error"]
        await desk.post("label", {"who": "ann", "query": "query 1", "contexts": [{"index": 0, "useful": True}]})
    async for desk in desks(store="hash"):
        await desk.post("label", {"who": "ann", **by_text, "query": "query 1"})
        assert "query" in (await desk.post("label", {**by_text, "query": "query 2"}, 400))["error"]


# ---- export -----------------------------------------------------------------------------------------------------


async def exported(desk: Desk, form: str) -> list[Mapping[str, Any]]:
    answer = await desk.http.get(f"/api/v1/export?kind=labels&format={form}")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="labels.{form}"'
    return [one.line for one in read(io.StringIO(await answer.text(), newline=""))]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
async def test_labels_are_exported_as_they_are_read(form: str) -> None:
    async for desk in desks():
        await desk.add(run(TRACE, query="=1+1", response="'-"))
        await desk.add(run(TRACE, query="nobody looked", span_id="00000000000000a9"))
        labelled = run(TRACE, query="=1+1", response="'-")
        desk.known = evaluation_id(await judge(labelled))
        await desk.post("label", {"who": "bob", "contexts": [{"index": 2, "relevance": "low"}]})
        await desk.post("label", {"who": "ann", "contexts": WHOLE})
        bob, ann = await exported(desk, form)
        assert [one["useful"] for one in ann["contexts"]] == [True, False, False]
        assert [one["relevance"] for one in bob["contexts"]] == [None, None, "low"]
        assert (ann["query"], ann["response"], ann["who"], ann["run_id"]) == ("=1+1", "'-", "ann", desk.known)
        assert [one["note"] for one in ann["contexts"]] == [None, None, "hm"], "not the judge's"
        again = dict(ann)
        assert (await desk.post("label", again))["contexts"][2]["note"] == "hm", "a line is taken as it was given"


async def test_the_export_of_runs_is_what_a_person_fills_in(desk: Desk) -> None:
    answer = await desk.http.get("/api/v1/export?format=csv")
    rows = list(csv.DictReader(io.StringIO(await answer.text(), newline="")))
    assert [row["index"] for row in rows] == ["0", "1", "2"]
    line = json.loads(await (await desk.http.get("/api/v1/export")).text())
    assert "who is a judge" in (await desk.post("label", line, 400))["error"]
    await desk.post("label", {**line, "who": "ann"})
    answer = await desk.http.get("/api/v1/export?kind=people")
    assert (await answer.json())["hint"] == "kind is one of runs, labels"


async def test_a_blank_export_shows_nothing_of_the_judge(desk: Desk) -> None:
    [line] = [json.loads(await (await desk.http.get("/api/v1/export?verdicts=none")).text())]
    assert (line["who"], "scores" in line) == (None, False)
    verdicts = {context[name] for context in line["contexts"] for name in ("useful", "relevance", "used", "note")}
    assert (verdicts, len(line["contexts"])) == ({None}, 3)
    line["contexts"][0]["useful"] = True
    await desk.post("label", {**line, "who": "ann"})
    assert (await desk.http.get("/api/v1/export?verdicts=none&kind=labels")).status == 400


# ---- the page ---------------------------------------------------------------------------------------------------


async def test_the_forms_of_the_page_do_their_work_and_lead_back(desk: Desk) -> None:
    assert "Add to the anchors" not in await desk.page()
    said_of_each = {"useful_0": "yes", "useful_1": "no", "useful_2": "no", "used_0": "", "note_2": "hm"}
    page, path = await desk.send("label", 200, who="ann", relevance_0="high", **said_of_each)
    assert path == f"/runs/{desk.known}?done=labelled"
    said = text(page)
    assert "The label is kept." in said
    assert "agrees with the judge on useful in 1 of 3" in said
    assert "unlike the first judgement" in said
    assert "“hm”" in said
    page, _ = await desk.send("judge")
    assert "was judged again" in text(page)
    assert "Judged again: useful · used" in text(page)
    assert "piece 0" in text(page)
    page, _ = await desk.send("anchor")
    assert "is an anchor now" in text(page)
    assert len(await anchors.known(desk.store)) == 1
    page, _ = await desk.send("forget")
    assert "The text of the trace was deleted" in text(page)
    assert await anchors.known(desk.store) == []
    assert "hm" not in text(page)
    assert "Keep the label" not in page


async def test_a_form_that_is_refused_keeps_what_was_filled_in(desk: Desk) -> None:
    page, path = await desk.send("label", 400, who="judge x", useful_0="yes", note_1="so far")
    assert path == f"/runs/{desk.known}/label"
    assert "Not done: who is a judge" in text(page)
    tags = Elements(page).tags
    checked = [given for _, given in tags if "checked" in given and given["value"] == "yes"]
    assert [given["name"] for given in checked] == ["useful-0"]
    assert [given["value"] for _, given in tags if given.get("name") == "note-1"] == ["so far"]
    assert [given["href"] for tag, given in tags if tag == "link"] == ["../../static/style.css"]
    assert ("details", {"open": None}) in tags
    for fields in ({"useful_x": "yes"}, {"useful_0": "maybe"}, {"useful_9": "yes"}, {"other": "1"}, {}):
        await desk.send("label", 400, who="ann", **fields)
    await desk.send("anchor", 409)
    assert (await desk.get())["labels"] == []


async def test_a_form_of_an_old_page_is_answered_with_a_page(desk: Desk) -> None:
    answer = await desk.http.post(f"/runs/{desk.known}/judge", data={"csrf": "of before the restart"})
    assert (answer.status, answer.content_type) == (403, "text/html")
    assert "Nothing was changed" in text(await answer.text())
    answer = await desk.http.post("/runs/unknown/judge", data={"csrf": desk.headers[CSRF_HEADER]})
    assert (answer.status, "No such run" in await answer.text()) == (404, True)


@pytest.mark.parametrize("path", ["judge", "label", "anchor", "forget"])
async def test_nothing_happens_by_a_link(desk: Desk, path: str) -> None:
    answer = await desk.http.get(f"/runs/{desk.known}/{path}", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (303, f"../{desk.known}")
    assert (await desk.get())["again"] is None


async def test_what_people_write_is_text_and_nothing_else(desk: Desk) -> None:
    await desk.add(run(TRACE, retrievals=[Retrieval([Context(HOSTILE, HOSTILE)])]))
    evil = HOSTILE.replace("\udc00", "")[:100]
    await desk.post("label", {"who": evil, "contexts": [{"useful": False, "note": HOSTILE}]})
    await desk.post("judge")
    refused, _ = await desk.send("label", 400, who=evil, useful_0=evil, note_0=evil)
    for page in (await desk.page(), await desk.page("?done=%3Cscript%3E"), refused):
        found = Elements(page)
        assert not {tag for tag, _ in found.tags} & {"script", "img"}
        assert not [name for _, given in found.tags for name in given if name.startswith("on")]
    assert "{{ 7*7 }}" in await desk.page()
