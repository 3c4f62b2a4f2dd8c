"""The view Overview."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime

import pytest

from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.monitoring import AlarmStatus, Series
from otel_ctxscore.web.rendering import amount, duration, number, signed, signed_amount, trace_link
from otel_ctxscore.web.status import SourceStatus
from tests.io.evaluations import JUDGED_BY
from tests.web.elements import Elements, harmless, links, text
from tests.web.fakes import FakeService, client, snapshot
from tests.web.past import HOUR, SCORER, VERSION, Past, past

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)> {{ 7*7 }}"


@pytest.fixture
async def it() -> AsyncIterator[Past]:
    async with past() as found:
        yield found


# ---- programs ---------------------------------------------------------------------------------------------------


async def test_each_series_has_its_estimate_and_its_course(it: Past) -> None:
    it.hours(20, 0, 0.9)
    it.hours(4, 0, 0.5, version="v2")
    it.service.series = [(Series("shop", SCORER, VERSION), AlarmStatus("quiet", 0.25, 0.84))]
    [shop] = (await it.json("overview"))["services"]
    first, second = shop["series"]
    assert (first["version"], first["tier"], first["model"], first["n"]) == (VERSION, "llm", "openai/small", 200)
    assert first["lower"] < 0.9 < first["upper"]
    assert first["n_eff"] == 200
    assert first["alarm"] == {"state": "quiet", "ratio": 0.25, "reference": 0.84, "id": None}
    assert len(first["course"]) == 20
    assert all(point["lower"] <= point["mean"] <= point["upper"] for point in first["course"])
    assert (second["version"], second["n"], second["alarm"]) == ("v2", 40, None)


async def test_the_window_is_what_was_asked_for(it: Past) -> None:
    it.add(1.0, ago=30)
    it.add(0.0, ago=2)
    [shop] = (await it.json("overview"))["services"]
    assert shop["series"][0]["mean"] == 0.0
    [shop] = (await it.json("overview?since=7d"))["services"]
    assert shop["series"][0]["mean"] == 0.5
    assert len(shop["series"][0]["course"]) <= 30
    assert (await it.json("overview?since=1h"))["services"] == []


async def test_from_spans_to_scores_with_every_reason(it: Past) -> None:
    it.add(1.0)
    it.add(None)
    it.add(0.5, outcome=TraceOutcome.NOT_RAG, evaluations=())
    [shop] = (await it.json("overview"))["services"]
    assert shop["funnel"] == {
        "spans": 9,
        "traces": {"scored": 1, "unscored": 1, "not_rag": 1},
        "runs": {"scored": 1, "unscored": 1},
        "scores": {SCORER: 1},
        "unscored": {SCORER: {"no_contexts": 1}},
    }
    empty = shop["empty_retrievals"]
    assert (empty["empty"], empty["retrievals"], empty["mean"], empty["lower"]) == (1, 2, 0.5, None)


async def test_a_price_that_is_not_known_is_not_nothing(it: Past) -> None:
    it.add(1.0)
    [judge] = (await it.json("overview"))["services"][0]["judges"]
    assert (judge["cost_usd"], judge["unpriced_calls"]) == (0.001, 0)
    it.add(1.0, by=replace(JUDGED_BY, cost_usd=None))
    [judge] = (await it.json("overview"))["services"][0]["judges"]
    assert (judge["cost_usd"], judge["known_cost_usd"], judge["calls"], judge["unpriced_calls"]) == (None, 0.001, 2, 1)
    assert "price unknown 2 calls, 200 tokens, of which $ 0.001 is known" in text(await it.page("/"))


async def test_a_window_in_which_the_fuse_was_blown_has_no_interval(it: Past) -> None:
    it.hours(5, 0, 0.9)
    it.history.hours.truncated(it.now - 7200)
    [series] = (await it.json("overview"))["services"][0]["series"]
    assert (series["truncated"], series["lower"], series["mean"] > 0.7) == (True, None, True)
    assert [point["lower"] is None for point in series["course"]] == [False, False, False, True, False]
    assert "cut by the budget" in text(await it.page("/"))


@pytest.mark.parametrize(("ago", "cut"), [(0, False), (11, False), (15, True), (23, True)])
async def test_a_long_silence_does_not_squeeze_the_course(it: Past, ago: int, cut: bool) -> None:
    it.hours(24, ago - 1, 0.9)
    it.service.shown = snapshot(now=it.now)
    found = await it.json("overview")
    ends = datetime.fromisoformat(found["until"]).timestamp()
    assert ends == it.now - (ago - 1 if cut else -1) * HOUR
    assert ("Nothing came since" in text(await it.page("/"))) is cut
    assert found["services"][0]["funnel"]["scores"][SCORER] == (25 - ago) * 10


async def test_what_is_older_than_the_window_does_not_end_it(it: Past) -> None:
    it.hours(40, 30, 0.9)
    found = await it.json("overview")
    assert (found["services"], datetime.fromisoformat(found["until"]).timestamp()) == ([], it.now + HOUR)


async def test_a_service_is_chosen_from_those_that_are_watched(it: Past) -> None:
    it.add(1.0)
    it.alarm()
    elements = Elements(await it.page("/?service=docs"))
    assert [given.get("name") for tag, given in elements.tags if tag == "select"] == ["since", "service"]
    assert "any docs shop" in elements.said


async def test_a_name_breaks_after_an_underscore_alone(it: Past) -> None:
    it.add(1.0)
    assert ">context_<wbr>precision</a>" in await it.page("/")


async def test_services_with_an_alarm_lead_and_the_others_have_pages(it: Past) -> None:
    for service in ("a", "b", "shop"):
        it.add(1.0, service=service)
    it.alarm()
    first = await it.json("overview?limit=2")
    assert ([one["service"] for one in first["services"]], first["known_services"]) == (["shop", "a"], 3)
    assert [one["service"] for one in (await it.json("overview?limit=2&page=2"))["services"]] == ["b"]
    [following] = links(await it.page("/?limit=2"), "page=2")
    assert "b" in text(await it.page(f"/{following}"))
    assert [one["service"] for one in (await it.json("overview?service=b"))["services"]] == ["b"]


@pytest.mark.parametrize("path", ["overview?since=soon", "overview?limit=0", "overview?serivce=a", "overview?page=x"])
async def test_a_question_that_cannot_be_read_is_said(it: Past, path: str) -> None:
    assert set(await it.json(path, 400)) == {"error", "hint"}
    assert 'role="alert"' in await it.page(f"/{path.removeprefix('overview')}", 400)


# ---- people -----------------------------------------------------------------------------------------------------


async def test_the_page_is_there_before_anything_came() -> None:
    async with client() as http:
        page = text(await (await http.get("/")).text())
    assert "ready for 1 h 2 min, judged by local lexical" in page
    assert "Nothing came in this time" in page
    assert "1970-01-01 01:02:05 UTC" in page


async def test_what_the_process_knows_is_shown(it: Past) -> None:
    it.add(1.0)
    it.alarm(service="docs", mean=0.4, lower=0.3, upper=0.5, began=3600.0)
    it.service.shown = replace(
        it.service.shown,
        sources=[SourceStatus("otlp_grpc", None, {"kept": 12345, "own": 0}), SourceStatus("kafka", "stands still")],
        open_traces=3,
        evaluations={"ok": 9},
        off=["context_relevance"],
    )
    said = text(await it.page("/"))
    for expected in [
        "Spans from otlp_grpc kept12\u202f345",
        "Spans from kafka: stands still",
        "open3",
        "ok9",
        "fell below its reference of 0.95; when it rose: 0.40 (0.30 to 0.50), most likely since 1970-01-01 01:00:00 UTC.",
        "Off, because the judge does not fill what they need: context_relevance.",
        "1 alarm · otel-ctxscore",
    ]:
        assert expected in said, expected


async def test_the_course_is_drawn_and_said_in_words(it: Past) -> None:
    it.fall()
    page = await it.page("/?since=7d")
    elements = Elements(page)
    drawn = [given for tag, given in elements.tags if tag == "svg"]
    assert [given["role"] for given in drawn] == ["img"]
    assert {"title", "desc", "polyline", "polygon", "line"} <= {tag for tag, _ in elements.tags}
    assert "context_precision of shop" in elements.said
    assert "The dashed line is the reference of the present hour, 0.95." in elements.said
    assert "lowest 0." in elements.said


async def test_the_alarm_and_the_worst_run_are_one_and_two_links_away(it: Past) -> None:
    it.add(0.9, query="the good one")
    it.add(0.1, query="the worst one")
    it.alarm()
    page = await it.page("/")
    assert set(links(page, "alarms/")) == {"alarms/a1b2"}
    [to_runs] = links(page, "scorer=")
    to_run = links(await it.page(f"/{to_runs}"), "runs/")[0]
    assert "the worst one" in text(await it.page(f"/{to_run}"))


async def test_a_state_that_is_not_ready_says_why(it: Past) -> None:
    it.service.shown = snapshot(state="draining", cause="draining")
    assert "draining for" in text(await it.page("/"))
    it.service.shown = snapshot(cause="kafka stands still")
    assert "ready : kafka stands still" in text(await it.page("/"))


async def test_nothing_from_traffic_becomes_markup(it: Past) -> None:
    model = replace(JUDGED_BY, model=HOSTILE)
    it.add(0.5, service=HOSTILE, version=HOSTILE, by=model, index=HOSTILE)
    it.alarm(service=HOSTILE, version=HOSTILE)
    it.service.shown = replace(
        it.service.shown, sources=[SourceStatus(HOSTILE, HOSTILE, {HOSTILE: 1})], evaluations={HOSTILE: 1}
    )
    page = await it.page("/")
    assert harmless(page)
    assert "{{ 7*7 }}" in text(page)


@pytest.mark.parametrize(("asked", "seconds"), [("", None), ("10", "10"), ("0", None), ("1;url=//x", None)])
async def test_it_loads_again_only_if_asked(asked: str, seconds: str | None) -> None:
    async with client(FakeService()) as http:
        page = await (await http.get("/", params={"refresh": asked})).text()
    refresh = [a["content"] for tag, a in Elements(page).tags if tag == "meta" and a.get("http-equiv") == "refresh"]
    assert refresh == ([seconds] if seconds else [])


async def test_loading_again_keeps_what_was_asked_for(it: Past) -> None:
    assert links(await it.page("/?since=7d"), "refresh=5") == ["?since=7d&refresh=5"]
    assert links(await it.page("/?since=7d&refresh=5"), "since=7d")[0] == "?since=7d"


async def test_the_page_can_be_read_without_sight_or_style(it: Past) -> None:
    it.hours(3, 0, 0.9)
    elements = Elements(await it.page("/"))
    tags = [tag for tag, _ in elements.tags]
    assert (tags.count("h1"), tags.count("main")) == (1, 1)
    assert all(given.get("scope") for tag, given in elements.tags if tag == "th")
    assert ("html", {"lang": "en"}) in elements.tags


# ---- how things are written -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("https://t/trace/{trace_id}?uiFind={span_id}", f"https://t/trace/{'a' * 32}?uiFind={'b' * 16}"),
        ("http://t/{trace_id}", f"http://t/{'a' * 32}"),
        ("javascript:alert({trace_id})", None),
        (None, None),
    ],
)
def test_a_trace_is_shown_elsewhere(pattern: str | None, expected: str | None) -> None:
    assert trace_link(pattern, "a" * 32, "b" * 16) == expected


def test_ids_in_a_link_cannot_leave_their_place() -> None:
    assert trace_link("https://t/{trace_id}", "../x?y#z", None) == "https://t/..%2Fx%3Fy%23z"
    assert trace_link("https://t/{trace_id}", None, None) is None


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0 s"), (59.9, "59 s"), (61, "1 min 1 s"), (90061, "1 d 1 h"), (-5, "0 s")]
)
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_numbers() -> None:
    assert number(1234567) == "1\u202f234\u202f567"
    assert [signed(value) for value in (-0.25, 0.0, 0.5)] == ["\u22120.25", "+0.00", "+0.50"]
    assert [amount(value) for value in (0.04294, 412.3, 12345.0)] == ["0.0429", "412", "12\u202f345"]
    assert [signed_amount(value) for value in (-0.0831, 1234.0)] == ["\u22120.083", "+1\u202f234"]
