"""The past, as programs and people ask for it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp.test_utils import TestClient

from otel_ctxscore.core.assembly import Waiting
from otel_ctxscore.core.conventions import Considered
from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.model import Context, Judgement, Provenance, RagRun, Retrieval, Verdict
from otel_ctxscore.core.outcomes import Reason, TraceOutcome
from otel_ctxscore.evaluation import evaluate
from otel_ctxscore.io.results import evaluation_id
from otel_ctxscore.io.state import Database, History
from otel_ctxscore.monitoring.labels import parse
from otel_ctxscore.scorers.context_precision import ContextPrecision
from otel_ctxscore.scorers.context_relevance import ContextRelevance
from otel_ctxscore.testing import ScriptedJudge
from otel_ctxscore.web.access import CSRF_HEADER
from otel_ctxscore.web.meanings import OUTCOMES, REASONS
from tests.io.evaluations import evaluation, score
from tests.web.elements import Elements, harmless, links, text
from tests.web.fakes import FakeService, client

TRACE, WORST = f"{1:032x}", f"{2:032x}"
SPAN = "00000000000000a1"
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> =1+1 \udc00 {{ 7*7 }}"
WHERE = Provenance(SPAN, "retrieval.documents.0.document.content")


def run(trace: str, **changed: Any) -> RagRun:
    contexts = [Context(f"{name} text", name, 0.5, f"{name}.md", WHERE) for name in ("one", "two", "three")]
    given: dict[str, Any] = {"trace_id": trace, "span_id": SPAN, "service": "shop", "query_read_from": WHERE}
    return RagRun(
        **{"query": f"query {trace[-1]}", "retrievals": [Retrieval(contexts)], "response": "r", **given, **changed}
    )


async def judged(it: RagRun, *useful: bool) -> Any:
    """The run as the real scorers score it."""
    verdicts = [Verdict(yes, "high" if yes else "none", yes, note=f"note {n}") for n, yes in enumerate(useful)]
    judge = ScriptedJudge(lambda _: Judgement(verdicts, missing=["a piece"]))
    return await evaluate(it, judge, [ContextPrecision(scale=10), ContextRelevance()])


class Rig:
    def __init__(self, http: TestClient[Any, Any], history: History, service: FakeService) -> None:
        self.http, self.history, self.service = http, history, service

    def add(self, *evaluations: Any, trace: str = TRACE, **changed: Any) -> None:
        given = {"outcome": TraceOutcome.SCORED, "service": "shop", "evaluations": evaluations, **changed}
        self.history.finished(Finished(bytes.fromhex(trace), **given))

    async def json(self, path: str, status: int = 200) -> Any:
        answer = await self.http.get(f"/api/v1/{path}")
        assert answer.status == status, await answer.text()
        return await answer.json()

    async def page(self, path: str, status: int = 200) -> str:
        answer = await self.http.get(path)
        assert answer.status == status
        assert "script" not in answer.headers["Content-Security-Policy"].replace("default-src 'none'", "")
        return await answer.text()


@asynccontextmanager
async def rigged(**admin: Any) -> AsyncIterator[Rig]:
    database = Database(None, max_size=64 << 20, max_age=1e9)
    history = History(database)
    service = FakeService(history=history)
    async with client(service, **admin) as http:
        yield Rig(http, history, service)
    await database.close()


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """Two runs of one service: one with all contexts useful, and a worse one."""
    async with rigged(trace_url="https://traces.example/{trace_id}?span={span_id}") as found:
        found.add(await judged(run(TRACE), True, True, True))
        found.add(await judged(run(WORST), False, True, False), trace=WORST)
        yield found


# ---- programs ---------------------------------------------------------------------------------------------------


async def test_runs_come_worst_first_and_lead_to_their_evidence(rig: Rig) -> None:
    found = await rig.json("runs?scorer=context_precision")
    assert [one["trace_id"] for one in found["runs"]] == [WORST, TRACE]
    assert (found["replica"], found["next"]) == ("host/1a2b", None)
    worst = found["runs"][0]
    assert (worst["query"], worst["contexts"], worst["scores"][0]["value"]) == ("query 2", 3, 5)
    whole = await rig.json(f"runs/{worst['run_id']}")
    assert [c["useful"] for c in whole["retrievals"][0]["contexts"]] == [False, True, False]
    assert whole["query_read_from"] == {"span_id": SPAN, "attribute": WHERE.attribute}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*\+00:00", whole["at"])


async def test_pages_follow_each_other(rig: Rig) -> None:
    first = await rig.json("runs?limit=1")
    second = await rig.json(f"runs?limit=1&cursor={first['next']}")
    assert [page["runs"][0]["trace_id"] for page in (first, second)] == [WORST, TRACE]
    assert second["next"] is None


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("runs?below=low", "below is 'low'"),
        ("runs?below=nan", "below"),
        ("runs?below=2", "below is '2'"),
        ("runs?below=-1", "below is '-1'"),
        ("runs?outcome=fine", "outcome is 'fine'"),
        ("runs?reason=scored", "reason"),
        ("runs?since=yesterday", "since is 'yesterday'"),
        ("runs?sort=best", "sort"),
        ("runs?limit=0", "limit"),
        ("runs?limit=201", "limit"),
        ("runs?limit=%C2%B2", "limit"),
        ("runs?cursor=x", "cursor"),
        ("runs?segment=a", "segment and value"),
        ("runs?scorrer=a", "no parameter 'scorrer'"),
        ("runs?service=a&service=b", "service stands there more than once"),
        ("runs?since=99999999999d", "since is '99999999999d'"),
        ("runs?until=99999999999d", "until is '99999999999d'"),
        (f"runs?since={'9' * 400}d", "since is '999"),
        ("runs?since=0001-01-01", "since is '0001-01-01'"),
        ("runs?since=0h", "not before now"),
        ("runs?since=9999-12-31", "not before now"),
        ("runs?since=1h&until=2h", "until is '2h', which is not after since"),
        ("export?since=99999999999d", "since is '99999999999d'"),
        ("export?format=csv&format=jsonl", "format stands there more than once"),
        ("overview?since=99999999999d", "since is '99999999999d'"),
        ("overview?page=1&page=2", "page stands there more than once"),
        ("segments?since=0h", "not before now"),
        ("segments?scorrer=a", "no parameter 'scorrer'"),
        ("documents?since=99999999999d", "since is '99999999999d'"),
        ("documents?kind=id", "no parameter 'kind'"),
        ("alarms?service=a", "no parameter 'service'"),
        ("alarms/a1?since=1h", "no parameter 'since'"),
        (f"traces/{TRACE}?service=a", "no parameter 'service'"),
        ("runs/r1?service=a", "no parameter 'service'"),
        ("export?format=xml", "format"),
        ("export?cursor=1", "no pages"),
        ("documents?by=name", "by is"),
        ("documents?page=0", "page"),
        ("traces/abc", "no trace id"),
        (f"traces/{'g' * 32}", "no trace id"),
    ],
)
async def test_a_question_that_cannot_be_read_is_said(rig: Rig, path: str, what: str) -> None:
    said = await rig.json(path, 400)
    assert what in said["error"]
    assert said["hint"]


@pytest.mark.parametrize("since", ["1h", "2020-01-01", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+01:00"])
async def test_times_are_written_as_people_do(rig: Rig, since: str) -> None:
    assert len((await rig.json(f"runs?since={since}"))["runs"]) == 2
    assert (await rig.json(f"runs?until={since}"))["runs"] == []


async def test_a_trace_says_what_became_of_it(rig: Rig) -> None:
    considered = [Considered(SPAN, "tool 'x'", "no retrieval")]
    rig.add(trace=f"{9:032x}", outcome=TraceOutcome.NOT_RAG, hint="Set it.", considered=considered)
    known = await rig.json(f"traces/{9:032X}")
    assert (known["outcome"], known["hint"], known["runs"]) == ("not_rag", "Set it.", [])
    assert known["considered"] == [{"span_id": SPAN, "what": "tool 'x'", "why_not": "no retrieval"}]
    assert [one["query"] for one in (await rig.json(f"traces/{TRACE}"))["runs"]] == ["query 1"]


@pytest.mark.parametrize(
    ("where", "said"), [("unknown", "host/1a2b does not know"), ("open", "not finished"), ("sampled_out", "sampling")]
)
async def test_a_trace_that_is_not_known_has_a_reason(rig: Rig, where: Any, said: str) -> None:
    rig.service.where = where
    assert said in (await rig.json(f"traces/{5:032x}", 404))["error"]
    assert said in text(await rig.page(f"/why?trace_id={5:032x}", 404))


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        (None, "its spans are here, and it is judged or sent now"),
        (
            Waiting(0, 120, 600, root_seen=False),
            "its root span has not come yet; it is open since 1970-01-01 00:00:00 UTC, and closes at "
            "1970-01-01 00:02:00 UTC if nothing more comes; a further span puts that off, until 1970-01-01 00:10:00 UTC at the latest",
        ),
        (Waiting(0, 10, 10, root_seen=True), "its root span has come; it is open since"),
        (Waiting(0, 60, 60, root_seen=True, late=True), "it waits for late spans until 1970-01-01 00:01:00 UTC"),
    ],
)
async def test_an_unfinished_trace_says_what_it_waits_for(rig: Rig, waiting: Waiting | None, said: str) -> None:
    rig.service.where, rig.service.waiting = "open", waiting
    assert said in (await rig.json(f"traces/{5:032x}", 404))["hint"]
    assert said[1:] in text(await rig.page(f"/why?trace_id={5:032x}", 404))


@pytest.mark.parametrize("asked", [HOSTILE.replace("\udc00", ""), "'\"><script>", "\u202ea" * 20, "a" * 5000])
async def test_an_id_that_is_none_is_shown_as_it_was_given(rig: Rig, asked: str) -> None:
    answer = await rig.http.get("/why", params={"trace_id": asked})
    assert answer.status == 400
    page = await answer.text()
    assert harmless(page)
    [field] = [given for tag, given in Elements(page).tags if tag == "input"]
    assert (field["name"], field["value"]) == ("trace_id", asked)
    assert "is no trace id" in text(page)


async def test_every_answer_says_who_gave_it(rig: Rig) -> None:
    for path in ("/", "/runs", "/api/v1/runs", "/api/v1/export", "/api/v1/alarms", "/api/v1/traces/x", "/nothing"):
        assert (await rig.http.get(path)).headers["X-Ctxscore-Replica"] == "host/1a2b"


async def test_documents_by_id_and_source(rig: Rig) -> None:
    by_id = (await rig.json("documents"))["documents"]
    assert {row["document"]: (row["retrieved"], row["useful"]) for row in by_id} == {
        "one": (2, 1), "two": (2, 2), "three": (2, 1)
    }  # fmt: skip
    assert by_id[0] == {
        "document": "one", "service": "shop", "retrieved": 2, "judged": 2, "useful": 1, "used": 1, "above": 1
    }  # fmt: skip
    assert len((await rig.json("documents?by=source&limit=2"))["documents"]) == 2
    assert len((await rig.json("documents?by=source&limit=2&page=2"))["documents"]) == 1


async def test_the_export_speaks_the_form_of_labels(rig: Rig) -> None:
    answer = await rig.http.get("/api/v1/export?below=0.5")
    [line] = [json.loads(one) for one in (await answer.text()).splitlines()]
    assert (line["trace_id"], line["who"].split()[0], line["at"][-6:]) == (WORST, "judge", "+00:00")
    assert parse(line).useful == (False, True, False)


async def test_an_export_is_whole_however_long_it_is(rig: Rig) -> None:
    for n in range(10, 240):
        rig.add(evaluation([score("context_precision", 0.5)], run(f"{n:032x}")), trace=f"{n:032x}")
    lines = (await (await rig.http.get("/api/v1/export")).text()).splitlines()
    assert len({json.loads(line)["run_id"] for line in lines}) == len(lines) == 232


async def test_csv_holds_a_row_a_context_and_no_formula(rig: Rig) -> None:
    hostile = run(TRACE, query='=HYPERLINK("http://x")', response="-1\n,\"'", span_id="00000000000000a2")
    rig.add(await judged(hostile, False, False, False))
    answer = await rig.http.get("/api/v1/export?format=csv&below=0.1")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(await answer.text())))
    assert [row["id"] for row in rows] == ["one", "two", "three"]
    assert rows[0]["query"] == '\'=HYPERLINK("http://x")'
    assert rows[0]["response"] == "'-1\n,\"'"


async def test_text_is_deleted_by_who_may(rig: Rig) -> None:
    path = f"/api/v1/traces/{TRACE}/content"
    assert (await rig.http.delete(path)).status == 403
    token = (await rig.http.get("/api/v1/runs")).headers[CSRF_HEADER]
    answer = await rig.http.delete(path, headers={CSRF_HEADER: token})
    assert await answer.json() == {"trace_id": TRACE, "runs": 1, "replica": "host/1a2b"}
    [left] = (await rig.json(f"traces/{TRACE}"))["runs"]
    assert (left["query"], left["content"], left["scores"][0]["value"]) == (None, "deleted", 10)
    unknown = await rig.http.delete(f"/api/v1/traces/{5:032x}/content", headers={CSRF_HEADER: token})
    assert unknown.status == 404
    assert "was deleted" in await rig.page(f"/runs/{left['run_id']}")


# ---- people -----------------------------------------------------------------------------------------------------


async def test_the_worst_run_is_two_links_from_the_overview(rig: Rig) -> None:
    to_runs = links(await rig.page("/"), "scorer=context_precision")[0]
    to_run = links(await rig.page(f"/{to_runs}"), "runs/")[0]
    page = await rig.page(f"/{to_run}")
    assert "query 2" in page


async def test_a_run_shows_how_its_scores_came_about(rig: Rig) -> None:
    [worst, _] = (await rig.json("runs"))["runs"]
    page = await rig.page(f"/runs/{worst['run_id']}")
    said = text(page)
    for step in (
        "rank 2 is useful: 1 useful of 2 down to here = 0.500",
        "mean of 1 = 0.500",
        "times the scale of 10 = 5",
        "(0 + 1 + 0) / 3 = 0.333",
        "less 0.150 for missing information",
        "= 0.183",
        "1 useful of 3 = 0.333",
        "the first useful one is at rank 2: 1/2 = 0.500",
        "note 1",
        "two.md",
        WHERE.attribute or "",
        "a piece",
    ):
        assert step in said, step
    assert f"https://traces.example/{WORST}?span={SPAN}" in links(page)


async def test_filters_and_pages_are_links(rig: Rig) -> None:
    page = await rig.page("/runs?limit=1&service=shop&below=0.5")
    assert links(page, "cursor=") == []
    [following] = links(await rig.page("/runs?limit=1&service=shop"), "cursor=")
    second = await rig.page(f"/{following}")
    assert "query 1" in second
    assert "First page" in text(second)
    assert links(second, "cursor=") == []
    assert "No run is kept that is like this" in await rig.page("/runs?service=nobody")


@pytest.mark.parametrize(
    "path",
    [
        "/?since=0h",
        "/?service=a&service=b",
        "/alarms?since=1h",
        "/alarms/a1?done=acknowledged&done=x",
        "/alarms/a1?service=a",
        "/runs/r1?wide=1",
        "/runs/r1?whole=query&whole=response",
        "/documents?by=x",
        "/documents?kind=id",
        "/documents?limit=x",
        "/documents?page=0",
        "/runs?below=2",
        "/runs?below=x",
        "/runs?cursor=x",
        "/runs?since=99999999999d",
        "/runs?sort=newest&sort=worst",
        "/segments?scorrer=a",
        "/why?trace=a",
    ],
)
async def test_a_filter_that_cannot_be_read_is_said_on_the_page(rig: Rig, path: str) -> None:
    assert 'role="alert"' in await rig.page(path, 400)


async def test_what_changes_something_takes_no_parameters(rig: Rig) -> None:
    token = {CSRF_HEADER: (await rig.http.get("/api/v1/runs")).headers[CSRF_HEADER]}
    for method, path in (
        ("POST", "/api/v1/alarms/a1/ack"), ("POST", "/api/v1/reload"), ("POST", "/api/v1/runs/r1/judge"),
        ("DELETE", f"/api/v1/traces/{TRACE}/content"), ("POST", "/runs/r1/judge"), ("POST", "/alarms/a1/ack"),
    ):  # fmt: skip
        answer = await rig.http.request(method, f"{path}?who=ann", headers=token)
        assert (answer.status, "here is no parameter" in await answer.text()) == (400, True), path
    assert (await rig.json(f"traces/{TRACE}"))["runs"][0]["content"] == "text"


async def test_a_page_beyond_the_last_leads_back_to_the_first(rig: Rig) -> None:
    for path, said in (
        ("/documents", "no further documents"),
        ("/segments", "no further segments"),
        ("/", "no further services"),
    ):
        page = await rig.page(f"{path}?page=7&service=shop")
        assert said in text(page)
        assert f"{path.strip('/')}?service=shop" in links(page)
    assert "There is no further run." in text(await rig.page("/runs?cursor=9%2C0"))


async def test_a_list_of_documents_that_is_empty_says_of_what(rig: Rig) -> None:
    assert links(page := await rig.page("/documents?service=nobody&since=1d"), "by=source") == [
        "documents?by=source&service=nobody&since=1d"
    ]
    assert "No retrieved document has an id in this time and service." in text(page)
    assert "No retrieved document has a source" in text(await rig.page("/documents?by=source&service=nobody"))


async def test_the_runs_of_a_page_are_exported_as_they_are_filtered(rig: Rig) -> None:
    leads = links(await rig.page("/runs?below=0.6&scorer=context_precision&limit=1"), "export")
    assert leads == [
        "api/v1/export?scorer=context_precision&below=0.6",
        "api/v1/export?scorer=context_precision&below=0.6&format=csv",
    ]
    lines, table = [await (await rig.http.get(f"/{path}")).text() for path in leads]
    assert [json.loads(line)["trace_id"] for line in lines.splitlines()] == [WORST]
    assert {row["trace_id"] for row in csv.DictReader(io.StringIO(table))} == {WORST}
    assert links(await rig.page("/runs?service=nobody"), "export") == []


async def test_a_trace_is_looked_up_as_it_is_pasted(rig: Rig) -> None:
    assert "Every scorer that is on gave a value" in text(await rig.page(f"/why?trace_id=+{TRACE.upper()}+"))
    assert "is no trace id" in text(await rig.page("/why?trace_id=hello", 400))
    assert "Paste the id" in text(await rig.page("/why"))
    assert "No such run" in await rig.page("/runs/nothing", 404)


async def test_what_traces_hold_is_text_and_nothing_else(rig: Rig) -> None:
    contexts = [Context(HOSTILE * 9, HOSTILE, source=HOSTILE, read_from=Provenance(HOSTILE, HOSTILE))]
    evil = run(
        f"{3:032x}", query=HOSTILE, response=HOSTILE, service=HOSTILE, convention=HOSTILE,
        retrievals=[Retrieval(contexts, query=HOSTILE + "?")],
    )  # fmt: skip
    verdicts = Judgement([Verdict(False, note=HOSTILE)], missing=[HOSTILE])
    whole = evaluation([score("context_precision", 0.0, retrieval=0, explanation=HOSTILE)], evil, judgement=verdicts)
    considered = [Considered(HOSTILE, HOSTILE, HOSTILE)]
    rig.add(whole, trace=f"{3:032x}", service=HOSTILE, hint=HOSTILE, considered=considered)
    for path in (
        "/runs", f"/runs/{evaluation_id(whole)}", f"/why?trace_id={3:032x}", "/documents", "/documents?by=source",
        "/runs?service=%3Cscript%3E", "/documents?service=%22%3E%3Cscript%3E",
    ):  # fmt: skip
        found = Elements(await rig.page(path))
        tags = {tag for tag, _ in found.tags}
        assert not tags & {"script", "img"}, path
        assert not [name for _, given in found.tags for name in given if name.startswith("on")], path
    assert "{{ 7*7 }}" in await rig.page(f"/runs/{evaluation_id(whole)}")


def test_every_outcome_and_reason_has_a_meaning() -> None:
    assert set(OUTCOMES) == set(TraceOutcome)
    assert set(REASONS) == set(Reason)
