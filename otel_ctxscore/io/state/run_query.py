"""A question about runs as SQL. Pages are cut by the key of their last row, so that deep ones cost as much as the
first, and none repeats or skips a run that was there."""

from __future__ import annotations

import json
from collections.abc import Sequence

from otel_ctxscore.core.history import RunQuery, Sort
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.telemetry.labels import clean

WITHOUT_SCORE = 2.0
"""The place of a run without a score: after all that have one."""
COLUMNS = "0.0, r.n, r.id, r.at, r.content, c.record, t.text"
_WIDE = "SELECT q.place, q.n, q.id, q.at, q.content, c.record, t.text FROM"
Condition = tuple[str, Sequence[object]]


def statement(query: RunQuery) -> tuple[str, list[object]]:
    """The question with its parameters, all but the last one: the moment before which text is not shown. It asks for
    one row more than the page has. Raises ValueError for a cursor that is none."""
    order = "s.place, s.n" if query.sort == "worst" else "r.n"
    conditions = [*_sorted(query), *_filters(query)]
    where = " AND ".join(sql for sql, _ in conditions) or "1"
    parameters = [value for _, values in conditions for value in values]
    narrow = f"SELECT {_place(query)} AS place, r.n, r.id, r.at, r.content FROM {_tables(query)} WHERE {where}"  # noqa: S608
    sql = (  # names of our own in every piece
        f"{_WIDE} ({narrow} ORDER BY {order} LIMIT ?) q JOIN run_records c ON c.n = q.n "
        f"LEFT JOIN run_texts t ON t.n = q.n AND t.at >= ? ORDER BY q.place, q.n"
    )
    return sql, [*parameters, query.limit + 1]


def cursor_of(sort: Sort, row: Sequence[object]) -> str:
    """The cursor behind a row."""
    place, n = row[:2]
    return json.dumps([place, n] if sort == "worst" else [n], separators=(",", ":"))[1:-1]


def _by_score(query: RunQuery) -> bool:
    return query.sort == "worst" or query.scorer is not None or query.below is not None


def _place(query: RunQuery) -> str:
    return "s.place" if query.sort == "worst" else "0.0"


def _tables(query: RunQuery) -> str:
    """CROSS JOIN keeps the order of the loops: the outer table gives the order of the page. Runs with a reason stand at
    the end of that order and may be few: they are found first, and sorted."""
    if query.sort == "worst" and query.reason is not None:
        return "runs r INDEXED BY runs_reason CROSS JOIN run_scores s ON s.n = r.n"
    if query.sort == "worst":
        return "run_scores s CROSS JOIN runs r ON r.n = s.n"
    return "runs r CROSS JOIN run_scores s ON s.n = r.n" if _by_score(query) else "runs r"


def _sorted(query: RunQuery) -> list[Condition]:
    found: list[Condition] = []
    if _by_score(query):
        found.append(("s.scorer = ?", [clean(query.scorer or "")]))
    if query.below is not None:
        found.append(("s.place < ?", [query.below]))
    if query.sort == "worst" and query.outcome is TraceOutcome.UNSCORED and query.scorer is None:
        found.append(("s.place >= ?", [WITHOUT_SCORE]))  # follows from the outcome, and spares a walk past all others
    if query.cursor is not None and query.sort == "worst":
        found.append(("(s.place, s.n) > (?, ?)", _cursor(query.cursor, 2)))
    elif query.cursor is not None:
        found.append(("r.n > ?", _cursor(query.cursor, 1)))
    return found


def _filters(query: RunQuery) -> list[Condition]:
    n = "s.n" if query.sort == "worst" else "r.n"
    service = "s.service" if query.sort == "worst" else "r.service"
    found: list[Condition | None] = [
        _if(query.service, f"{service} = ?", query.service and clean(query.service)),
        _if(query.outcome, "r.outcome = ?", query.outcome),
        _if(query.reason, "r.reason = ?", query.reason),
        _if(query.since, f"{n} <= ?", query.since and -int(query.since * 1e6)),
        _if(query.until, f"{n} > ?", query.until and -int(query.until * 1e6)),
    ]
    if query.segment is not None:
        sql = f"EXISTS (SELECT 1 FROM run_segments g WHERE g.name = ? AND g.value = ? AND g.n = {n})"  # noqa: S608
        found.append((sql, [query.segment, clean(query.value or "")]))
    if query.labelled:
        found.append(("EXISTS (SELECT 1 FROM labels l WHERE l.run_id = r.id)", []))
    return [one for one in found if one is not None]


def _if(given: object, sql: str, value: object) -> Condition | None:
    return None if given is None else (sql, [value])


def _cursor(text: str, size: int) -> list[object]:
    """Raises ValueError for what `cursor_of` never gives."""
    numbers = json.loads(f"[{text}]")
    if len(numbers) != size or not all(isinstance(one, int | float) for one in numbers):
        raise ValueError(text)
    return list(numbers)
