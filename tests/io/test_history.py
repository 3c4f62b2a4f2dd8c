"""What the state knows of the past."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.core.history import Finished, RunQuery
from otel_ctxscore.core.lines import to_jsonl
from otel_ctxscore.core.model import Context, Evaluation, Judgement, Provenance, RagRun, Retrieval, Verdict
from otel_ctxscore.core.outcomes import Closed, Reason, TraceOutcome
from otel_ctxscore.core.records import hashed
from otel_ctxscore.io.results import evaluation_id
from otel_ctxscore.io.state import Database, History, StoredVerdicts
from tests.io.evaluations import RUN, TRACE, evaluation, score

MIB = 1 << 20
SCORED, UNSCORED, NOT_RAG = TraceOutcome.SCORED, TraceOutcome.UNSCORED, TraceOutcome.NOT_RAG
SECRET = "a passage that nobody else has"


class Past:
    """A history whose clock is told."""

    def __init__(self, path: Path | None = None, **options: Any) -> None:
        self.now = 1e9
        ages = {"max_age": options.pop("max_age", 1e9), "content_max_age": options.pop("content_max_age", 1e9)}
        self.database = Database(path, max_size=64 * MIB, clock=lambda: self.now, **ages)
        self.history = History(self.database, clock=lambda: self.now, **options)

    def add(self, *evaluations: Evaluation, trace: int = 1, outcome: TraceOutcome = SCORED, **changed: Any) -> None:
        self.now += 1
        done = Finished(trace.to_bytes(16), outcome, service="shop", evaluations=evaluations, **changed)
        self.history.finished(done)

    async def ids(self, **query: Any) -> list[str]:
        return [run["trace_id"] for run in (await self.history.runs(RunQuery(**query))).runs]  # type: ignore[misc]


@pytest.fixture
async def past() -> AsyncIterator[Past]:
    found = Past()
    yield found
    await found.database.close()


def judged(name: str, value: float | None, *, service: str = "shop", **changed: Any) -> Evaluation:
    """A run known by its trace id, with one score."""
    reason = None if value is not None else Reason.JUDGE_REFUSED
    attributes = changed.pop("attributes", {})
    run = replace(RUN, trace_id=name, service=service, attributes=attributes)
    scores = [score("context_precision", value, retrieval=0, unscored=reason), score("hit_rate", 0.0, retrieval=0)]
    outcome = SCORED if value is not None else UNSCORED
    return evaluation(scores, run, outcome=outcome, reason=reason, **changed)


# ---- outcomes ---------------------------------------------------------------------------------------------------


async def test_each_trace_has_its_outcome(past: Past) -> None:
    past.add(trace=7, outcome=NOT_RAG, closed=Closed.IDLE, spans=3, hint="set it", convention="openinference")
    known = await past.history.trace((7).to_bytes(16))
    assert known == {
        "trace_id": f"{7:032x}", "outcome": "not_rag", "reason": None, "service": "shop", "at": 1e9 + 1,
        "closed": "idle", "spans": 3, "delivered": True, "redelivered_at": None, "convention": "openinference",
        "hint": "set it", "considered": [], "runs": [],
    }  # fmt: skip
    assert await past.history.trace((8).to_bytes(16)) is None


@pytest.mark.parametrize(
    ("outcome", "delivered", "known"),
    [
        (SCORED, True, "shop"),
        (TraceOutcome.PARTLY_SCORED, True, "shop"),
        (SCORED, False, None),
        (UNSCORED, True, None),
        (NOT_RAG, True, None),
        (TraceOutcome.SCREENED, True, None),
    ],
)
async def test_only_what_every_sink_has_counts_as_evaluated(
    past: Past, outcome: TraceOutcome, delivered: bool, known: str | None
) -> None:
    past.add(outcome=outcome, delivered=delivered)
    assert await past.history.evaluated((1).to_bytes(16)) == known
    assert await past.history.evaluated((2).to_bytes(16)) is None


@pytest.mark.parametrize("later", [TraceOutcome.REDELIVERED, NOT_RAG, UNSCORED])
async def test_an_evaluated_trace_stays_evaluated(past: Past, later: TraceOutcome) -> None:
    past.add(outcome=SCORED)
    past.add(outcome=later)
    known = await past.history.trace((1).to_bytes(16))
    assert known is not None
    assert (known["outcome"], known["at"]) == ("scored", 1e9 + 1)
    assert known["redelivered_at"] == (1e9 + 2 if later is TraceOutcome.REDELIVERED else None)


async def test_a_trace_that_was_nothing_can_become_something(past: Past) -> None:
    past.add(outcome=NOT_RAG)
    past.add(outcome=SCORED)
    known = await past.history.trace((1).to_bytes(16))
    assert known is not None
    assert known["outcome"] == "scored"


# ---- runs -------------------------------------------------------------------------------------------------------


async def test_a_great_run_is_packed_off_the_event_loop_and_comes_back_with_odd_text(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed_by: set[str] = set()
    pack = zlib.compress

    def compress(written: bytes, level: int) -> bytes:
        packed_by.add(threading.current_thread().name)
        return pack(written, level)

    monkeypatch.setattr(zlib, "compress", compress)
    texts = ["half \ud83d", "nul \0", "naïve ẞ 検", *(f"{n} " * 10_000 for n in range(30))]
    run = replace(RUN, retrievals=[Retrieval([Context(text) for text in texts])])
    whole = evaluation([score("context_precision", 0.5, retrieval=0)], run)
    past.add(whole)
    known = await past.history.run(evaluation_id(whole))
    assert known is not None
    assert [context["text"] for context in known["retrievals"][0]["contexts"]] == texts
    assert packed_by
    assert threading.current_thread().name not in packed_by


async def test_a_run_comes_back_with_its_text_and_where_it_was_read(past: Past) -> None:
    where = Provenance("00000000000000b1", "retrieval.documents.0.document.content")
    context = Context("port", "d", 0.5, "a.md", where)
    run = replace(RUN, retrievals=[Retrieval([context])], attributes={"v": 3}, query_read_from=where)
    whole = evaluation([score("context_precision", 0.5, retrieval=0)], run, judgement=Judgement([Verdict(True)]))
    past.history = History(past.database, segments={"release": "v"}, clock=lambda: past.now)
    past.add(whole)
    known = await past.history.run(evaluation_id(whole))
    assert known is not None
    for key, value in json.loads(json.dumps(to_jsonl(whole))).items():
        if key not in ("retrievals", "judge"):
            assert known[key] == value
    [written] = known["retrievals"][0]["contexts"]
    assert (written["text"], written["source"], written["useful"]) == ("port", "a.md", True)
    assert written["read_from"] == known["query_read_from"] == {"span_id": where.span_id, "attribute": where.attribute}
    assert (known["segments"], known["content"]) == ({"release": "3"}, "text")
    assert await past.history.run("nothing") is None


async def test_a_repeat_takes_the_place_of_the_first(past: Past) -> None:
    for _ in range(3):
        past.add(judged("a", 0.5, backfill=True))
    page = await past.history.runs(RunQuery())
    assert [run["at"] for run in page.runs] == [1e9 + 3]


RUNS = {"a": 0.9, "b": 0.0, "c": None, "d": 0.4, "e": 0.0}


def fill(past: Past) -> None:
    """Runs a to e at seconds 1 to 5; d is of another service."""
    past.history = History(past.database, segments={"release": "v"}, clock=lambda: past.now)
    for name, value in RUNS.items():
        service, version = ("docs" if name == "d" else "shop"), ("v2" if name in "de" else "v1")
        past.add(judged(name, value, service=service, attributes={"v": version}))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, "ebdac"),
        ({"sort": "newest"}, "edcba"),
        ({"service": "shop"}, "ebac"),
        ({"service": "docs", "sort": "newest"}, "d"),
        ({"service": "nobody"}, ""),
        ({"below": 0.5}, "ebd"),
        ({"below": 0.5, "sort": "newest"}, "edb"),
        ({"scorer": "context_precision", "below": 0.01}, "eb"),
        ({"scorer": "hit_rate"}, "edcba"),
        ({"scorer": "hit_rate", "sort": "newest", "below": 0.1}, "edcba"),
        ({"scorer": "faithfulness"}, ""),
        ({"outcome": TraceOutcome.UNSCORED}, "c"),
        ({"reason": Reason.JUDGE_REFUSED, "sort": "newest"}, "c"),
        ({"since": 1e9 + 3}, "edc"),
        ({"until": 1e9 + 3, "sort": "newest"}, "ba"),
        ({"since": 1e9 + 2, "until": 1e9 + 4}, "bc"),
        ({"segment": "release", "value": "v2"}, "ed"),
        ({"segment": "release", "value": "v3", "sort": "newest"}, ""),
        ({"segment": "release", "value": "v1", "service": "shop", "below": 0.5}, "b"),
    ],
)
async def test_runs_by_filter_and_order(past: Past, query: dict[str, Any], found: str) -> None:
    fill(past)
    assert "".join(await past.ids(**query)) == found


@pytest.mark.parametrize("sort", ["worst", "newest"])
@given(values=st.lists(st.none() | st.sampled_from([0.0, 0.5, 1.0]), max_size=12), limit=st.integers(1, 5))
async def test_pages_hold_each_run_once(sort: Any, values: list[float | None], limit: int) -> None:
    past = Past()
    for n, value in enumerate(values):
        past.add(judged(str(n), value))
    whole = await past.ids(sort=sort, limit=200)
    assert sorted(whole) == sorted(map(str, range(len(values))))
    paged: list[str] = []
    cursor = None
    while True:
        page = await past.history.runs(RunQuery(sort=sort, limit=limit, cursor=cursor))
        paged += [str(run["trace_id"]) for run in page.runs]
        cursor = page.next
        if cursor is None:
            break
    assert paged == whole
    await past.database.close()


@pytest.mark.parametrize("cursor", ["x", "", "1,2,3", '"a"', "null", "[1]"])
async def test_a_cursor_that_is_none_is_a_value_error(past: Past, cursor: str) -> None:
    for sort in ("worst", "newest"):
        with pytest.raises(ValueError):  # noqa: PT011 -- any
            await past.history.runs(RunQuery(sort=sort, cursor=cursor))


async def test_what_sampling_left_out_is_no_run(past: Past) -> None:
    past.add(Evaluation(RUN, None, (), TraceOutcome.NOT_SAMPLED), outcome=TraceOutcome.NOT_SAMPLED)
    assert await past.ids() == []


async def test_hostile_names_are_kept_and_found(past: Past) -> None:
    name = "sh\udc00op\0' OR 1 --"
    past.add(judged("a", 0.5, service=name, attributes={"v": "\udc00"}))
    assert await past.ids(service=name) == ["a"]
    assert past.database.dropped == 0


# ---- text -------------------------------------------------------------------------------------------------------


def secret() -> Evaluation:
    run = RagRun(
        SECRET, [Retrieval([Context(SECRET)], query=SECRET)], SECRET, trace_id=TRACE, span_id="00000000000000a1"
    )
    verdicts = Judgement([Verdict(True, note=SECRET)], missing=[SECRET])
    return evaluation([score("context_precision", 0.5, retrieval=0, explanation=SECRET)], run, judgement=verdicts)


async def on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


@pytest.mark.parametrize(("store", "query"), [("text", SECRET), ("hash", hashed(SECRET)), ("none", None)])
async def test_as_much_text_is_kept_as_was_said(tmp_path: Path, store: str, query: str | None) -> None:
    past = Past(tmp_path / "state", store=store)
    past.add(secret())
    known = await past.history.run(evaluation_id(secret()))
    assert known is not None
    context = known["retrievals"][0]["contexts"][0]
    assert known["query"] == known["response"] == known["retrievals"][0]["query"] == context["text"] == query
    assert (context["useful"], known["content"]) == (True, store)
    assert known["missing"] == (None if query is None else [query])
    rows = await past.database.read("SELECT text FROM run_texts")
    assert [SECRET in zlib.decompress(bytes(row[0])).decode() for row in rows] == {  # type: ignore[call-overload]
        "text": [True], "hash": [False], "none": []
    }[store]  # fmt: skip
    await past.database.close()


async def test_deleted_text_is_gone_from_the_disk_and_the_scores_stay(tmp_path: Path) -> None:
    past = Past(tmp_path / "state")
    past.add(secret(), trace=int(TRACE, 16))
    cache = StoredVerdicts(past.database)
    await cache.put("its own", Judgement([Verdict(True, note=SECRET)]))
    await cache.put("another", Judgement([Verdict(True, note="something else")]))
    [[packed]] = await past.database.read("SELECT text FROM run_texts")
    assert isinstance(packed, bytes)
    assert packed in await on_disk(tmp_path / "state")
    assert SECRET.encode() in await on_disk(tmp_path / "state"), "in the cache"
    assert await past.history.forget_text(bytes.fromhex(TRACE)) == 1
    assert await past.history.forget_text(bytes.fromhex(TRACE)) == 0
    assert packed not in await on_disk(tmp_path / "state")
    assert SECRET.encode() not in await on_disk(tmp_path / "state")
    known = await past.history.trace(bytes.fromhex(TRACE))
    assert known is not None
    assert (await cache.get("its own"), await cache.get("another") is None) == (None, False)
    [run] = known["runs"]
    assert (run["query"], run["content"], run["scores"][0]["value"]) == (None, "deleted", 0.5)
    await past.database.close()


async def test_text_goes_with_its_age_and_the_rest_with_its_own(tmp_path: Path) -> None:
    past = Past(tmp_path / "state", max_age=5000, content_max_age=1000)
    past.add(secret())
    past.now += 999
    assert (await past.history.runs(RunQuery())).runs[0]["query"] == SECRET
    past.now += 2
    [run] = (await past.history.runs(RunQuery())).runs
    assert (run["query"], run["content"]) == (None, "expired"), "at once, whenever it is deleted"
    past.now += 700
    past.add(outcome=NOT_RAG, trace=2)
    await past.database.flush()
    assert await past.database.read("SELECT count(*) FROM run_texts") == [(0,)]
    past.now += 5000
    past.add(outcome=NOT_RAG, trace=3)
    await past.database.flush()
    assert await past.history.trace((1).to_bytes(16)) is None
    assert await past.ids() == []
    tables = ("run_records", "run_texts", "run_scores", "run_segments", "documents")
    for table in tables:
        assert await past.database.read(f"SELECT count(*) FROM {table}") == [(0,)], table
    await past.database.close()


# ---- documents --------------------------------------------------------------------------------------------------


def found(*ranked: tuple[str, bool | None], **changed: Any) -> Evaluation:
    """A run that retrieved documents of these ids, useful or not."""
    contexts = [Context(f"text {name}", name, source=f"{name}.md") for name, _ in ranked]
    run = replace(RUN, retrievals=[Retrieval(contexts)], **changed)
    verdicts = [Verdict(useful, used=useful) for _, useful in ranked]
    return evaluation([score("context_precision", 0.5, retrieval=0)], run, judgement=Judgement(verdicts))


async def test_documents_that_crowd_out_others_come_first(past: Past) -> None:
    past.add(found(("noise", False), ("good", True), ("mixed", True)))
    past.add(found(("noise", False), ("mixed", False)))
    past.add(found(("unjudged", None)))
    past.add(found(("noise", False), redelivered=True))
    rows = await past.history.documents("id", service="shop", since=0, limit=10)
    assert [row.document for row in rows] == ["noise", "mixed", "good", "unjudged"]
    noise, mixed = rows[:2]
    assert (noise.retrieved, noise.judged, noise.useful, noise.used, noise.above) == (2, 2, 0, 0, 1)
    assert (mixed.retrieved, mixed.judged, mixed.useful, mixed.used, mixed.above) == (2, 2, 1, 1, 0)
    assert [
        row.document for row in await past.history.documents("source", service=None, since=0, limit=1, offset=1)
    ] == ["mixed.md"]
    assert await past.history.documents("id", service="docs", since=0, limit=10) == []
    assert await past.history.documents("id", service=None, since=past.now + 86400, limit=10) == []
