"""Recent runs with their evidence, in an order that a page can be cut from at any place."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from otel_ctxscore.core.history import RunPage
from otel_ctxscore.core.history import RunQuery as Query
from otel_ctxscore.core.model import Evaluation, RagRun
from otel_ctxscore.core.records import Record, Store, record, text_of, with_text
from otel_ctxscore.io.results import evaluation_id
from otel_ctxscore.io.state.database import Database, Write
from otel_ctxscore.io.state.run_query import COLUMNS, WITHOUT_SCORE, cursor_of, statement
from otel_ctxscore.telemetry.labels import clean
from otel_ctxscore.telemetry.metrics import ratio

ALL = ""
"""The scorer that stands for all that count in the outcome."""
_SELECT = f"""
SELECT {COLUMNS} FROM runs r JOIN run_records c ON c.n = r.n LEFT JOIN run_texts t ON t.n = r.n AND t.at >= ?
"""  # noqa: S608 -- names of our own
_FORGET_BESIDE = (
    "DELETE FROM label_notes WHERE run_id IN (SELECT id FROM runs WHERE trace_id = ?)",
    "DELETE FROM opinions WHERE run_id IN (SELECT id FROM runs WHERE trace_id = ?)",
    "DELETE FROM kept WHERE name >= 'anchor:' AND name < 'anchor;' AND json_extract(value, '$.trace_id') = ?",
)


class Runs:
    """Evaluations by the id that sinks know them by. `store` says what is kept of their text. `segments` are names
    and attributes; `leading` names the scorers whose scores count in the outcome."""

    def __init__(
        self,
        database: Database,
        *,
        store: Store = "text",
        segments: Mapping[str, str] | None = None,
        leading: Collection[str] = ("context_precision", "context_relevance"),
    ) -> None:
        self._database = database
        self._store = store
        self._segments = dict(segments or {})
        self._leading = frozenset(leading)
        self._last = 0

    def add(self, evaluation: Evaluation, now: float) -> None:
        """Keep an evaluation, in place of an earlier one with the same id; `now` in Unix seconds."""
        n = self._number(now)
        self._database.write_later(lambda: self._writes(evaluation, n, now), characters(evaluation.run))

    def _writes(self, evaluation: Evaluation, n: int, now: float) -> Iterator[Write]:
        """What keeps an evaluation. It is packed here: a run with great documents takes a tenth of a second."""
        run = evaluation.run
        known, service = evaluation_id(evaluation), clean(run.service)
        kept = record(evaluation, self._segments)
        yield "DELETE FROM runs WHERE id = ?", (known,)
        row = (n, known, run.trace_id, now, service, evaluation.outcome, evaluation.reason, self._store)
        yield "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row
        yield "INSERT INTO run_records VALUES (?, ?)", (n, _packed(kept))
        text = text_of(evaluation, self._store)
        if text is not None:
            yield "INSERT INTO run_texts VALUES (?, ?, ?)", (n, now, _packed(text))
        for scorer, place in self._places(evaluation).items():
            yield "INSERT INTO run_scores VALUES (?, ?, ?, ?)", (scorer, place, n, service)
        for name, value in kept["segments"].items():
            yield "INSERT INTO run_segments VALUES (?, ?, ?)", (name, clean(value), n)

    def _number(self, now: float) -> int:
        self._last = max(int(now * 1e6), self._last + 1)
        return -self._last

    def _places(self, evaluation: Evaluation) -> dict[str, float]:
        found = {ALL: WITHOUT_SCORE}
        for score in evaluation.scores:
            value = ratio(score)
            place = WITHOUT_SCORE if value is None else value
            for name in (clean(score.name), ALL) if score.name in self._leading else (clean(score.name),):
                found[name] = min(found.get(name, WITHOUT_SCORE), place)
        return found

    async def page(self, query: Query) -> RunPage:
        """The runs that a question asks for. Raises ValueError for a cursor that is none."""
        sql, parameters = statement(query)
        rows = await self._database.rows(sql, (*parameters, self._database.text_horizon), lambda row: (row, _read(row)))
        shown = rows[: query.limit]
        more = cursor_of(query.sort, shown[-1][0]) if len(rows) > len(shown) else None
        return RunPage([run for _, run in shown], more)

    async def run(self, known: str) -> Record | None:
        """The run of an id."""
        rows = await self._database.rows(_SELECT + "WHERE r.id = ?", (self._database.text_horizon, known), _read)
        return rows[0] if rows else None

    async def of_trace(self, trace_id: str) -> list[Record]:
        """The runs of a trace, as they stand in it."""
        sql = _SELECT + "WHERE r.trace_id = ? ORDER BY r.n DESC"
        return await self._database.rows(sql, (self._database.text_horizon, trace_id), _read)

    async def forget_text(self, trace_id: str) -> int:
        """Delete the text of a trace's runs from the disk, also the notes and missing pieces of theirs that the verdict
        cache holds, what people noted, what was judged again, and the anchors that were made of them; of how many runs
        there was any. Raises StateError."""
        pieces = [piece for run in await self.of_trace(trace_id) for piece in _judges_words(run)]
        if pieces:
            where = " OR ".join(["instr(judgement, ?)"] * len(pieces))
            await self._database.erase(f"DELETE FROM verdicts WHERE {where}", [json.dumps(one) for one in pieces])  # noqa: S608
        self._database.write("UPDATE runs SET content = 'deleted' WHERE trace_id = ?", (trace_id,))
        for sql in _FORGET_BESIDE:
            await self._database.erase(sql, (trace_id,))
        return await self._database.erase(
            "DELETE FROM run_texts WHERE n IN (SELECT n FROM runs WHERE trace_id = ?)", (trace_id,)
        )


def _judges_words(run: Record) -> set[str]:
    """What a judge wrote of a run: the notes, and what no context holds."""
    notes = (context["note"] for retrieval in run["retrievals"] for context in retrieval["contexts"])
    return {words for words in (*notes, *(run["missing"] or ())) if words}


def _read(row: Sequence[object]) -> Record:
    """`content` says what there is of the text: text, hash, none, deleted, or expired."""
    _, _, known, at, content, kept, text = row
    if text is None and content in ("text", "hash"):
        content = "expired"
    whole = with_text(_unpacked(kept), None if text is None else _unpacked(text))
    return {"run_id": known, "at": at, "content": content, **whole}


def characters(run: RagRun) -> int:
    """The text of a run that is held until it is packed."""
    contexts = sum(len(context.text) for context in run.judged)
    return contexts + len(run.query or "") + len(run.response or "")


def _packed(value: Record) -> bytes:
    try:
        written = msgspec.json.encode(value)  # thirty times as fast on long texts, and meanwhile the loop stands still
    except UnicodeEncodeError:
        written = json.dumps(value).encode()  # keeps lone surrogates
    return zlib.compress(written, 1)


def _unpacked(packed: object) -> Record:
    assert isinstance(packed, bytes)
    found: Record = json.loads(zlib.decompress(packed))
    return found
