"""The views Alarms, Alarm and Segments: what an alert leads to."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from otel_ctxscore.core.model import JudgedBy
from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus, Series
from otel_ctxscore.monitoring.findings import Began, Inquiry
from otel_ctxscore.web import alarms_page
from otel_ctxscore.web.alarm_api import inquiry_of
from otel_ctxscore.web.rendering import moment
from otel_ctxscore.web.status import Status
from tests.io.evaluations import JUDGED_BY
from tests.web.elements import Elements, harmless, links, text
from tests.web.past import HOUR, SCORER, VERSION, Past, past
from tests.web.test_overview import HOSTILE

ALARM = "alarms/a1b2"


@pytest.fixture
async def it() -> AsyncIterator[Past]:
    async with past() as found:
        yield found


def hours_between(it: Past, moment: str, ago: float) -> float:
    return abs(datetime.fromisoformat(moment).timestamp() - (it.now - ago * HOUR)) / HOUR


# ---- programs ---------------------------------------------------------------------------------------------------


async def test_it_says_since_when_and_how_sure_that_is(it: Past) -> None:
    it.fall(at=6)
    change = (await it.json(ALARM))["change"]
    assert hours_between(it, change["at"], 6) <= 1
    assert change["earliest"] <= change["at"] < change["latest"]
    assert 0 < change["probability"] <= 1


async def test_before_and_after_are_estimates_with_their_difference(it: Past) -> None:
    it.fall(before=0.95, after=0.2)
    found = await it.json(ALARM)
    before, after, difference = found["before"], found["after"], found["difference"]
    assert before["lower"] < 0.95 < before["upper"]
    assert after["lower"] < 0.2 * 0.75 + 0.95 * 0.25 < after["upper"]
    assert difference["value"] == pytest.approx(after["mean"] - before["mean"])
    assert (difference["beyond_noise"], difference["upper"] < 0) == (True, True)
    assert (before["n"], found["scores"]["before"]) == (before["n_eff"], before["n"])


async def test_sampling_weights_are_the_estimators(it: Past) -> None:
    """A rule that keeps low scores more often makes neither side lower than its traffic."""
    for ago in range(30, 0, -1):
        for _ in range(5):
            it.add(1.0, ago, probability=0.25)
            it.add(0.0, ago, probability=1.0)
    it.alarm(began=it.now - 10 * HOUR, rose=it.now - 5 * HOUR)
    found = await it.json(ALARM)
    assert found["before"]["mean"] == pytest.approx(0.8)
    assert found["before"]["n_eff"] < found["before"]["n"]


async def test_it_says_which_part_of_the_traffic_carries_the_fall(it: Past) -> None:
    it.fall()
    found = await it.json(ALARM)
    eu, us = found["segments"]["index"]
    assert (eu["value"], us["value"]) == ("eu", "us")
    assert eu["contribution"] + us["contribution"] == pytest.approx(found["difference"]["value"])
    assert eu["contribution"] < -10 * abs(us["contribution"])
    assert eu["share_before"] == pytest.approx(0.75)
    assert eu["difference"]["beyond_noise"]
    assert not us["difference"]["beyond_noise"]


async def test_it_says_what_else_changed_and_what_did_not(it: Past) -> None:
    it.fall()
    for _ in range(20):
        it.add(None)
    found = (await it.json(ALARM))["retrieved"]
    changed = {name: one["difference"]["beyond_noise"] for name, one in found.items()}
    assert changed["document_score"]
    assert changed["empty_retrievals"]
    assert not changed["context_characters"]
    assert found["document_score"]["before"]["mean"] == pytest.approx(0.85)
    assert (await it.json(ALARM))["unscored"] == [{"reason": "no_contexts", "before": 0, "after": 20}]


async def test_it_leads_to_the_worst_runs_since_then(it: Past) -> None:
    it.add(0.0, 30, query="long before")
    it.fall()
    worst = (await it.json(ALARM))["worst"]
    assert len(worst) == 5
    assert {one["scores"][0]["value"] for one in worst} == {0.0}


async def test_another_judge_is_seen(it: Past) -> None:
    it.fall()
    it.hours(3, 1, 0.5, version="v2", by=JudgedBy("llm", "openai/large", "p2", calls=1, cost_usd=None))
    judge = (await it.json(ALARM))["judge"]
    assert (judge["tier"], judge["model"]) == (JUDGED_BY.tier, JUDGED_BY.model)
    [other] = judge["other_versions"]
    assert (other["version"], other["model"], other["n"]) == ("v2", "openai/large", 20)
    assert hours_between(it, other["first"], 3) == 0
    assert {call["judge"]: call["before"] > 0 for call in judge["calls"]} == {
        "llm openai/small": True,
        "llm openai/large": False,
    }


# ---- what is not known ------------------------------------------------------------------------------------------


def reasons(found: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {one["what"]: one["why"] for one in found["unknown"]}


async def test_what_cannot_be_said_is_said_with_its_reason(it: Past) -> None:
    it.alarm(began=it.now - 6 * HOUR)
    found = await it.json(ALARM)
    assert (found["change"], found["difference"], found["before"]["mean"], found["worst"]) == (None, None, None, [])
    known = reasons(found)
    assert set(known) == {
        "mean", "system or judge", "segment index", "contexts", "context_characters", "document_score",
        "empty_retrievals",
    }  # fmt: skip
    assert "no anchors" in known["system or judge"]
    it.service.known = replace(it.service.known, segments=(), anchors=3)
    known = reasons(await it.json(ALARM))
    assert "none are configured" in known["segments"]
    assert "being judged" in known["system or judge"]
    page = text(await it.page(f"/{ALARM}"))
    for reason in known.values():
        assert reason in page, reason


async def test_a_fall_before_all_that_is_kept_has_no_beginning(it: Past) -> None:
    for ago in range(12, 0, -1):
        it.add(0.3, ago)
    it.alarm(began=it.now - 20 * HOUR, rose=it.now - HOUR)
    found = await it.json(ALARM)
    assert (found["change"], found["after"]["n"]) == (None, 12)
    assert "no judged trace before" in reasons(found)["mean"]
    for ago in range(40, 20, -1):
        it.add(0.3, ago)
    found = await it.json(ALARM)
    assert (found["change"], found["before"]["n"] > 0) == (None, True)
    assert "nothing stands out" in reasons(found)["beginning"]
    assert "which may be hours off" in text(await it.page(f"/{ALARM}"))


def first_minutes(it: Past) -> AlarmRecord:
    """Twenty minutes of a single hour, ten runs in each: from the 15th on all are bad, in another index. The alarm rose
    two minutes later and took the hour for the beginning."""
    for minute in range(20):
        for second in range(0, 60, 6):
            value, index = (0.0, "eu") if minute >= 15 else (1.0, "us")
            it.add(value, 1 - (minute + second / 60) / 60, index=index)
    return it.alarm(began=it.now - HOUR, rose=it.now - HOUR + 17 * 60)


async def test_in_the_first_hour_before_and_after_are_told_apart_by_the_minute(it: Past) -> None:
    """By the hour there would be no run before the fall, and the good ones would stand among those after it."""
    first_minutes(it)
    found = await it.json(ALARM)
    assert datetime.fromisoformat(found["change"]["at"]).timestamp() == it.now - HOUR + 15 * 60
    assert (found["before"]["n"], found["before"]["mean"]) == (150, 1.0)
    assert (found["after"]["n"], found["after"]["mean"]) == (50, 0.0)
    assert (found["scores"]["before"], found["scores"]["after"]) == (150, 50)
    worst = found["segments"]["index"][0]
    assert (worst["value"], worst["share_before"], worst["share_after"]) == ("eu", 0.0, 1.0)


async def test_after_an_alarm_in_the_same_hour_only_what_came_since_is_before(it: Past) -> None:
    first_minutes(it)
    it.service.known = replace(it.service.known, earlier=it.now - HOUR + 5 * 60)
    found = await it.json(ALARM)
    assert (found["before"]["n"], found["after"]["n"]) == (100, 50)


async def test_a_longer_past_is_told_apart_by_the_hour(it: Past) -> None:
    it.add(1.0, 5.5)
    first_minutes(it)
    found = await it.json(ALARM)
    assert (found["before"]["n"], found["after"]["n"]) == (1, 200)


async def test_a_recovery_is_no_part_of_the_fall(it: Past) -> None:
    record = it.fall(at=20)
    it.service.kept[record.id] = replace(record, ended=it.now - HOUR, ended_by="recovered")
    found = await it.json(ALARM)
    assert hours_between(it, found["window"]["until"], 17) == 0
    it.service.kept[record.id] = replace(record, ended=it.now - 5 * HOUR, ended_by="acknowledged")
    assert hours_between(it, (await it.json(ALARM))["window"]["until"], 4) == 0


async def test_what_an_earlier_alarm_was_about_is_no_before(it: Past) -> None:
    it.hours(72, 40, 0.2)
    it.hours(40, 6, 0.95)
    it.hours(6, -1, 0.2)
    it.service.known = replace(it.service.known, earlier=it.now - 40 * HOUR)
    it.alarm(began=it.now - 6 * HOUR, rose=it.now - 4 * HOUR)
    found = await it.json(ALARM)
    assert found["before"]["mean"] > 0.9
    assert hours_between(it, found["window"]["since"], 40) == 0


# ---- people -----------------------------------------------------------------------------------------------------


async def test_the_page_says_all_of_it(it: Past) -> None:
    record = it.fall()
    blame = {
        "culprit": "system", "anchors": 40, "judge": 0.01, "judge_error": 0.01, "system": -0.5, "system_error": 0.05,
    }  # fmt: skip
    it.service.kept[record.id] = replace(record, blame=blame)
    page = await it.page(f"/{ALARM}")
    said = text(page)
    for expected in (
        "context_precision of shop",
        "It most likely began",
        "with 95 % between",
        "The anchors say that the system moved, not the judge.",
        "40 of them were judged again: the judge moved by +0.01 (±0.02), which leaves \u22120.50 (±0.10) for the system.",
        "No other version scored this service in that time.",
        "75 %, 75 %",
        "Retriever's score of a document",
        "within noise",
        "replica host/1a2b alone",
    ):
        assert expected in said, expected
    assert len(links(page, "../runs/")) == 5
    to_run = links(page, "../runs/")[0]
    assert "0" in text(await it.page(f"/{to_run.removeprefix('../')}"))


async def test_what_it_was_when_the_alarm_rose_stands_beside_what_it_is_by_now(it: Past) -> None:
    record = replace(it.fall(), mean=0.59, lower=0.48, upper=0.69)
    it.service.kept[record.id] = record
    said = text(await it.page(f"/{ALARM}"))
    assert "Against the reference of 0.95, when it rose: 0.59 (0.48 to 0.69), of the traces since" in said
    assert "By now, of all traces from" in said
    assert f"up since {moment(record.rose)}; reference when it rose 0.95" in said
    assert "The dashed line is the reference when the alarm rose, 0.95." in said
    listed = text(await it.page("/alarms"))
    assert "Mean when it rose" in listed
    assert "0.59 0.48 to 0.69" in listed


async def test_a_beginning_that_is_sure_to_the_second_is_one_hour(it: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    async def sure(status: Status, record: AlarmRecord) -> Inquiry:
        return replace(await inquiry_of(status, record), began=Began(it.now, it.now + 0.1, it.now + 0.2, 0.99))

    it.fall()
    monkeypatch.setattr(alarms_page, "inquiry_of", sure)
    said = text(await it.page(f"/{ALARM}"))
    assert f"with 95 % within the hour of {moment(it.now)}, if it fell once" in said


async def test_an_alarm_that_was_over_says_who_took_note_later(it: Past) -> None:
    it.alarm(ended=it.now, ended_by="recovered", acknowledged=it.now, acknowledged_by="ana")
    said = text(await it.page(f"/{ALARM}"))
    assert "the mean is back" in said
    assert "UTC; reference when it rose" in said
    assert "ana took note of it at" in said


async def test_of_many_values_those_are_shown_that_pull_most(it: Past) -> None:
    for n in range(30):
        for ago, value in ((9, 1.0), (2, 0.0 if n == 17 else 0.9)):
            for _ in range(3):
                it.add(value, ago, index=f"index {n}")
    it.alarm(began=it.now - 3 * HOUR, rose=it.now - HOUR)
    said = text(await it.page(f"/{ALARM}"))
    assert "index 17" in said
    assert "And 10 further values" in said
    assert len((await it.json(ALARM))["segments"]["index"]) == 30


async def test_text_that_is_gone_is_said(it: Past) -> None:
    it.fall()
    [worst, *_] = (await it.json(ALARM))["worst"]
    await it.history.forget_text(bytes.fromhex(worst["trace_id"]))
    said = text(await it.page(f"/{ALARM}"))
    assert "its text was deleted" in said
    assert f"run {worst['run_id']}" in said


async def test_the_list_leads_to_each_alarm_and_says_what_is_watched(it: Past) -> None:
    assert "No alarm has risen." in text(await it.page("/alarms"))
    record = it.alarm()
    it.service.kept["old"] = replace(record, id="old", ended=it.now, ended_by="recovered")
    it.service.series.append((Series("docs", SCORER, VERSION), AlarmStatus("no reference", traces=412, days=3)))
    page = await it.page("/alarms")
    assert links(page, "alarms/") == ["alarms/a1b2", "alarms/old", "alarms/a1b2"]
    assert "412 traces of 3 days" in text(page)
    assert "recovered" in text(page)


async def test_taking_note_needs_the_token_of_the_page(it: Past) -> None:
    it.alarm()
    page = await it.page(f"/{ALARM}")
    [token] = re.findall(r'name="csrf" value="([^"]+)"', page)
    refused = await it.http.post(f"/{ALARM}/ack", data={"csrf": "guess", "by": "ana"})
    assert refused.status == 403
    answer = await it.http.post(f"/{ALARM}/ack", data={"csrf": token, "by": " ana "}, allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (303, "../a1b2?done=acknowledged")
    assert it.service.kept["a1b2"].acknowledged_by == "ana"
    after = await it.page(f"/{ALARM}?done=acknowledged")
    assert text(after).count("ana took note of it") == 1
    assert "Done. The alarm is acknowledged." in text(after)
    assert "Done." not in text(await it.page(f"/{ALARM}"))
    assert "Acknowledge" not in after
    long = await it.http.post(f"/{ALARM}/ack", data={"csrf": token, "by": "x" * 201})
    assert long.status == 400
    assert (await it.http.post("/alarms/none/ack", data={"csrf": token})).status == 404


async def test_an_alarm_that_is_not_there_is_said(it: Past) -> None:
    assert "No such alarm" in await it.page("/alarms/none", 404)


async def test_nothing_from_traffic_becomes_markup(it: Past) -> None:
    hostile: dict[str, Any] = {
        "service": HOSTILE, "version": HOSTILE, "by": replace(JUDGED_BY, model=HOSTILE), "index": HOSTILE,
        "query": HOSTILE,
    }  # fmt: skip
    it.hours(8, 4, 1.0, **hostile)
    it.hours(4, -1, 0.0, **hostile)
    it.hours(3, 2, 0.5, **{**hostile, "version": f"{HOSTILE}2"})
    record = it.alarm(
        service=HOSTILE, version=HOSTILE, began=it.now - 4 * HOUR, acknowledged=1.0, acknowledged_by=HOSTILE
    )
    for path in (f"/{ALARM}", "/alarms", "/segments", "/segments?service=%22%3E%3Cscript%3E"):
        page = await it.page(path)
        assert harmless(page), path
    assert "{{ 7*7 }}" in text(await it.page(f"/{ALARM}"))
    assert (await it.json(ALARM))["change"] is not None
    assert record.is_up


async def test_the_pages_can_be_read_without_sight_or_style(it: Past) -> None:
    it.fall()
    for path in (f"/{ALARM}", "/alarms", "/segments"):
        elements = Elements(await it.page(path))
        tags = [tag for tag, _ in elements.tags]
        assert (tags.count("h1"), tags.count("main")) == (1, 1)
        assert all(given.get("scope") for tag, given in elements.tags if tag == "th")


# ---- segments ---------------------------------------------------------------------------------------------------


async def test_each_value_stands_against_the_rest(it: Past) -> None:
    it.fall(at=12)
    found = (await it.json("segments?since=6h"))["segments"]
    assert [row["value"] for row in found] == ["eu", "us"]
    eu, us = found
    assert eu["rest"]["mean"] == us["mean"]
    assert eu["difference"]["value"] == pytest.approx(-us["difference"]["value"])
    assert eu["difference"]["beyond_noise"]
    assert eu["share"] == pytest.approx(0.75)
    said = text(await it.page("/segments?since=6h"))
    assert "index eu" in said
    assert links(await it.page("/segments?since=6h"), "segment=index&value=eu")


async def test_runs_that_do_not_state_a_segment_are_a_part_of_their_own(it: Past) -> None:
    it.add(1.0)
    it.add(0.0, index="eu")
    values = {row["value"]: row["mean"] for row in (await it.json("segments"))["segments"]}
    assert values == {None: 1.0, "eu": 0.0}
    assert "not stated" in text(await it.page("/segments"))


async def test_segments_are_filtered_and_have_pages(it: Past) -> None:
    for index in ("a", "b", "c"):
        it.add(0.5, index=index)
        it.add(0.5, index=index, service="docs")
    found = await it.json("segments?service=docs&limit=2")
    assert ({row["service"] for row in found["segments"]}, len(found["segments"]), found["more"]) == ({"docs"}, 2, True)
    assert len((await it.json("segments?service=docs&limit=2&page=2"))["segments"]) == 1
    assert (await it.json("segments?scorer=hit_rate"))["segments"] == []
    assert (await it.json("segments?segment=other"))["segments"] == []
    assert links(await it.page("/segments?limit=2"), "page=2")
    assert 'role="alert"' in await it.page("/segments?since=soon", 400)
    assert "since" in (await it.json("segments?since=soon", 400))["error"]


async def test_without_segments_it_says_how_to_have_some(it: Past) -> None:
    it.service.segments = ()
    assert "No segment is configured" in text(await it.page("/segments"))
