"""What people say of runs, in the state file: kept with the run, its text with the text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore.core.errors import StateError
from otel_ctxscore.core.history import Label, RunQuery
from otel_ctxscore.core.kept_run import opinion
from otel_ctxscore.core.lines import to_jsonl
from otel_ctxscore.core.model import Verdict
from otel_ctxscore.io.results import evaluation_id
from otel_ctxscore.io.state import Database, History, Kept
from otel_ctxscore.monitoring.anchors import KIND
from tests.io.evaluations import TRACE
from tests.io.test_history import SECRET, Past, judged, on_disk, secret

RUN_ID = evaluation_id(secret())


@pytest.fixture
async def past() -> AsyncIterator[Past]:
    found = Past()
    yield found
    await found.database.close()


def label(who: str = "ann", at: float = 5.0, **verdicts: Verdict) -> Label:
    places = {int(name[1:]): verdict for name, verdict in verdicts.items()}
    return Label(who, at, places or {0: Verdict(False, "low", None, SECRET)})


async def known(past: Past, run_id: str = RUN_ID) -> dict[str, Any]:
    found = await past.history.run(run_id)
    assert found is not None
    return found


async def said(past: Past) -> Mapping[str, Any]:
    return {one["who"]: one for one in (await known(past))["labels"]}


async def rows(past: Past) -> dict[str, int]:
    tables = ("labels", "label_notes", "opinions")
    counts = {table: await past.database.read(f"SELECT count(*) FROM {table}") for table in tables}
    return {table: int(str(count[0][0])) for table, count in counts.items()}


async def test_the_last_label_of_each_person_counts(past: Past) -> None:
    past.add(secret())
    assert (await known(past))["labels"] == []
    await past.history.label(RUN_ID, label(at=5.0))
    await past.history.label(RUN_ID, label("bob", 6.0, c0=Verdict(True)))
    await past.history.label(RUN_ID, label("ann", 7.0, c0=Verdict(used=True)))
    found = await said(past)
    assert list(found) == ["bob", "ann"], "by when it was said"
    assert found["ann"]["at"] == 7.0
    assert found["ann"]["contexts"] == [{"index": 0, "useful": None, "relevance": None, "used": True, "note": None}]
    await past.history.label(RUN_ID, label(at=8.0))
    [only] = (await said(past))["ann"]["contexts"]
    assert (only["useful"], only["relevance"], only["note"]) == (False, "low", SECRET)


async def test_a_label_of_no_run_is_kept_nowhere(past: Past) -> None:
    await past.history.label("nothing", label())
    assert await past.history.judged_again("nothing", {}) is False
    assert await rows(past) == {"labels": 0, "label_notes": 0, "opinions": 0}


async def test_a_repeat_of_the_run_keeps_its_labels(past: Past) -> None:
    past.add(secret())
    await past.history.label(RUN_ID, label())
    past.add(secret())
    assert list(await said(past)) == ["ann"]


async def test_labelled_runs_are_found(past: Past) -> None:
    for n in range(5):
        past.add(judged(str(n), n / 10), trace=n)
    for n in (1, 3):
        await past.history.label(evaluation_id(judged(str(n), n / 10)), label(str(n), c0=Verdict(True)))
    page = await past.history.runs(RunQuery(sort="newest", labelled=True, limit=1))
    following = await past.history.runs(RunQuery(sort="newest", labelled=True, limit=1, cursor=page.next))
    assert [run["trace_id"] for run in (*page.runs, *following.runs)] == ["3", "1"]
    assert following.next is None
    assert [one["who"] for one in page.runs[0]["labels"]] == ["3"]  # type: ignore[attr-defined]
    assert (await past.history.runs(RunQuery(labelled=True, service="nobody"))).runs == []
    worst = await past.history.runs(RunQuery(labelled=True, below=0.2))
    assert [run["trace_id"] for run in worst.runs] == ["1"]


async def test_a_later_opinion_stands_beside_the_first_and_is_replaced(past: Past) -> None:
    past.add(secret())
    assert (await known(past))["again"] is None
    for at in (1.0, 2.0):
        assert await past.history.judged_again(RUN_ID, {"at": at, **opinion(to_jsonl(secret()))})
    found = await known(past)
    assert found["again"]["at"] == 2.0
    assert found["again"]["verdicts"][0]["note"] == SECRET
    assert found["scores"][0]["value"] == 0.5


async def test_text_of_labels_goes_when_it_is_deleted(tmp_path: Path) -> None:
    past = Past(tmp_path / "state")
    past.add(secret(), trace=int(TRACE, 16))
    await past.history.label(RUN_ID, label())
    await past.history.judged_again(RUN_ID, {"at": 1.0, **opinion(to_jsonl(secret()))})
    anchors = Kept(past.database)
    anchors.put(KIND, "of it", {"query": SECRET, "trace_id": TRACE})
    anchors.put(KIND, "from a file", {"query": "another"})
    await past.database.flush()
    assert SECRET.encode() in await on_disk(tmp_path / "state")
    assert await past.history.forget_text(bytes.fromhex(TRACE)) == 1
    assert SECRET.encode() not in await on_disk(tmp_path / "state")
    assert list(await anchors.all(KIND)) == ["from a file"]
    found = await known(past)
    assert (found["content"], found["again"]) == ("deleted", None)
    [only] = found["labels"][0]["contexts"]
    assert (only["useful"], only["note"]) == (False, None)
    await past.history.label(RUN_ID, label())
    assert await past.history.judged_again(RUN_ID, {"at": 3.0}) is False, "there is no text that it could be about"
    assert await rows(past) == {"labels": 1, "label_notes": 0, "opinions": 0}
    await past.database.close()


async def test_text_of_labels_goes_with_its_age_and_labels_with_their_run() -> None:
    past = Past(max_age=5000, content_max_age=1000)
    past.add(secret())
    await past.history.label(RUN_ID, label(at=past.now))
    await past.history.judged_again(RUN_ID, {"at": past.now})
    past.now += 1001
    found = await known(past)
    assert (found["again"], found["labels"][0]["contexts"][0]["note"]) == (None, None), "at once"
    past.add(judged("b", 0.5), trace=2)
    await past.database.flush()
    assert await rows(past) == {"labels": 1, "label_notes": 0, "opinions": 0}
    past.now += 5000
    past.add(judged("c", 0.5), trace=3)
    await past.database.flush()
    assert await rows(past) == {"labels": 0, "label_notes": 0, "opinions": 0}
    await past.database.close()


async def test_a_full_file_leaves_no_label_without_its_run(tmp_path: Path) -> None:
    past = Past()
    await past.database.close()
    past.database = Database(tmp_path / "state", max_size=1 << 20, max_age=1e9)
    past.history = History(past.database)
    for n in range(600):
        past.add(judged(str(n), 0.5), trace=n)
        await past.history.label(evaluation_id(judged(str(n), 0.5)), label(c0=Verdict(True, note="why " * 50)))
    kept = {run["trace_id"] for run in (await past.history.runs(RunQuery(sort="newest", limit=600))).runs}
    labelled = await past.database.read("SELECT r.trace_id FROM labels l LEFT JOIN runs r ON r.id = l.run_id")
    assert 0 < len(kept) < 600
    assert {str(row[0]) for row in labelled} == kept
    assert (await rows(past))["label_notes"] == len(kept), "what people wrote goes with the run, and not before"
    await past.database.close()


async def test_what_cannot_be_kept_is_said(past: Past) -> None:
    past.add(secret())
    with pytest.raises(StateError, match="nothing was kept"):
        await past.history.label(RUN_ID, label("a\ud800"))
    assert await said(past) == {}
