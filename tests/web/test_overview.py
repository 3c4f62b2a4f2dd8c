"""What the page shows."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus
from otel_ctxscore.web.overview import render
from otel_ctxscore.web.rendering import duration, number, trace_link
from otel_ctxscore.web.status import SourceStatus, Standing
from tests.web.fakes import FakeService, client, snapshot

SPACE = re.compile(r"[ \n]+")


def standing(**changed: Any) -> Standing:
    given: dict[str, Any] = {
        "service": "shop",
        "scorer": "context_precision",
        "tier": "local",
        "version": "abc123",
        "runs": 1234,
        "mean": 0.81,
        "lower": 0.7,
        "upper": 0.9,
        "last": 0.5,
        "trace_id": "a" * 32,
        "span_id": "b" * 16,
        "alarm": AlarmStatus("quiet", 0.25, 0.84),
    }
    return Standing(**{**given, **changed})


def alarm(**changed: Any) -> AlarmRecord:
    given: dict[str, Any] = {
        "id": "a1b2c3",
        "service": "docs",
        "scorer": "context_precision",
        "version": "abc123",
        "rose": 7200.0,
        "began": 3600.0,
        "reference": 0.9,
        "mean": 0.4,
        "lower": 0.3,
        "upper": 0.5,
    }
    return AlarmRecord(**{**given, **changed})


class Elements(HTMLParser):
    """Start tags with their attributes, and the text between."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.feed(page)
        self.said = SPACE.sub(" ", self.said)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said += data


def text(page: str) -> str:
    return Elements(page).said


async def test_the_page_is_there_before_anything_came() -> None:
    async with client() as http:
        answer = await http.get("/")
        page = await answer.text()
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "ready for 1 h 2 min, judged by local lexical" in text(page)
    assert "No run has been scored yet" in text(page)
    assert "1970-01-01 01:02:05 UTC" in text(page)


def test_counts_scores_and_alarms_are_shown() -> None:
    shown = snapshot(
        sources=[SourceStatus("otlp_grpc", None, {"kept": 12345, "own": 0}), SourceStatus("kafka", "stands still")],
        open_traces=3,
        traces={"scored": 9, "not_rag": 40, "screened": 0},
        unscored={"no_contexts": 2},
        evaluations={"ok": 9},
        standings=[
            standing(),
            standing(service="docs", alarm=AlarmStatus("alarm", 1.5, 0.9), mean=0.4),
            standing(service="new", alarm=AlarmStatus("no reference", traces=412, days=3)),
            standing(scorer="hit_rate", alarm=None, mean=None, lower=None, upper=None),
        ],
        alarms=[alarm(), alarm(service="faq", lower=None, upper=None, blame={"culprit": "judge"})],
        off=["context_relevance"],
    )
    said = text(render(shown))
    for expected in [
        "Spans from otlp_grpc kept12\u202f345",
        "Spans from kafka: stands still",
        "not_rag40 scored9 open3",
        "no_contexts2",
        "ok9",
        "docs: context_precision fell from 0.90 to 0.40 (0.30 to 0.50), most likely since 1970-01-01 01:00:00 UTC.",
        "otel-ctxscore alarms ack a1b2c3",
        "faq: context_precision fell from 0.90 to 0.40, most likely",
        "The anchors say that the judge moved, not the system.",
        "0.90 alarm 1.50",
        "0.84 quiet 0.25",
        "no reference 412 traces of 3 days",
        "0.70 to 0.90",
        "Off, because the judge does not fill what they need: context_relevance.",
    ]:
        assert expected in said
    assert "screened" not in said
    assert "2 alarms · otel-ctxscore" in said


def test_a_state_that_is_not_ready_says_why() -> None:
    assert "draining for" in text(render(snapshot(state="draining", cause="draining")))
    assert "ready : kafka stands still" in text(render(snapshot(cause="kafka stands still")))


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_nothing_from_traffic_becomes_markup(name: str) -> None:
    hostile = f'"><script>{name}</script><img src=x onerror="'
    shown = snapshot(
        sources=[SourceStatus(hostile, hostile, {hostile: 1})],
        traces={hostile: 1},
        standings=[standing(service=hostile, trace_id=hostile)],
        alarms=[alarm(service=hostile, version=hostile)],
    )
    elements = Elements(render(shown, trace_url="https://t/{trace_id}"))
    assert {"script", "img"}.isdisjoint(tag for tag, _ in elements.tags)
    assert not [attributes for _, attributes in elements.tags if "onerror" in attributes or "style" in attributes]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("https://t/trace/{trace_id}?uiFind={span_id}", f"https://t/trace/{'a' * 32}?uiFind={'b' * 16}"),
        ("http://t/{trace_id}", f"http://t/{'a' * 32}"),
        ("javascript:alert({trace_id})", None),
        (None, None),
    ],
)
def test_the_last_score_links_to_its_trace(pattern: str | None, expected: str | None) -> None:
    page = render(snapshot(standings=[standing()]), trace_url=pattern)
    links = [html.unescape(a["href"] or "") for tag, a in Elements(page).tags if tag == "a" and "rel" in a]
    assert links == ([expected] if expected else [])


def test_ids_in_a_link_cannot_leave_their_place() -> None:
    assert trace_link("https://t/{trace_id}", "../x?y#z", None) == "https://t/..%2Fx%3Fy%23z"
    assert trace_link("https://t/{trace_id}", None, None) is None


@pytest.mark.parametrize(("asked", "seconds"), [("", None), ("10", "10"), ("0", None), ("1;url=//x", None)])
async def test_it_loads_again_only_if_asked(asked: str, seconds: str | None) -> None:
    async with client(FakeService()) as http:
        page = await (await http.get("/", params={"refresh": asked})).text()
    refresh = [a["content"] for tag, a in Elements(page).tags if tag == "meta" and a.get("http-equiv") == "refresh"]
    assert refresh == ([seconds] if seconds else [])


def test_the_page_can_be_read_without_sight_or_style() -> None:
    elements = Elements(render(snapshot(standings=[standing()])))
    tags = [tag for tag, _ in elements.tags]
    assert (tags.count("h1"), tags.count("main")) == (1, 1)
    assert all(a.get("scope") for tag, a in elements.tags if tag == "th")
    assert ("html", {"lang": "en"}) in elements.tags


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0 s"), (59.9, "59 s"), (61, "1 min 1 s"), (90061, "1 d 1 h"), (-5, "0 s")]
)
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_numbers() -> None:
    assert number(1234567) == "1\u202f234\u202f567"
