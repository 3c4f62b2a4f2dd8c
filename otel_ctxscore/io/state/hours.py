"""Sums and counts by the quarter of a minute, by the hour and by the day, in the state file.

What the traces of a second add is added up in memory first: a trace touches some twenty rows, and most of them again
and again. A kill loses that second.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

from otel_ctxscore.core.history import Finished
from otel_ctxscore.core.hours import HOUR, CountKey, CountRow, Evaluator, SumsKey, SumsRow, Window, finest
from otel_ctxscore.core.stats import JUDGED_TERMS, Sums
from otel_ctxscore.io.state.database import Database
from otel_ctxscore.monitoring import hours
from otel_ctxscore.telemetry.labels import Cap

HAND_OVER_SECONDS = 1.0
MAX_VALUES = 200
"""Services, and values of one segment, that are kept apart; what comes later is `other` until the next start."""

_TERMS = ", ".join(JUDGED_TERMS)
_ADDED = ", ".join(f"{term} = {term} + excluded.{term}" for term in JUDGED_TERMS)
_TOTALS = ", ".join(f"sum({term})" for term in JUDGED_TERMS)
_ADD_SUMS = f"""
INSERT INTO {{span}}_sums (at, service, scorer, version, stage, {_TERMS}) VALUES ({", ".join("?" * 15)})
ON CONFLICT (at, service, scorer, version, stage) DO UPDATE SET {_ADDED}
"""  # noqa: S608 -- names of our own, here and below
_ADD_SEGMENT = f"""
INSERT INTO {{span}}_segments (at, service, segment, value, scorer, version, stage, {_TERMS})
VALUES ({", ".join("?" * 17)}) ON CONFLICT (at, segment, service, scorer, version, stage, value) DO UPDATE SET {_ADDED}
"""  # noqa: S608
_ADD_COUNT = """
INSERT INTO {span}_counts VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (at, service, kind, name, detail) DO UPDATE SET n = n + excluded.n
"""
_WINDOW = "at >= ? AND at < ? AND (? IS NULL OR service IN (SELECT value FROM json_each(?)))"


class Hours:
    """`tick`: seconds of an hour; anything but the default is for a demonstration, which has nothing finer. `segments`
    are names and attributes; `leading` names the scorers that have sums within segments."""

    def __init__(
        self, database: Database, segments: Mapping[str, str], leading: Collection[str], *, tick: float = HOUR
    ) -> None:
        self._database = database
        self._segments = dict(segments)
        self._leading = frozenset(leading)
        self._tick = tick
        self._finest = finest(tick)
        self._sums: dict[tuple[float, SumsKey], Sums] = {}
        self._counts: dict[tuple[float, CountKey], float] = {}
        self._evaluators: dict[Evaluator, float] = {}
        self._services = Cap(MAX_VALUES)
        self._values: dict[str, Cap] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, done: Finished, now: float) -> None:
        """Take a trace, at a moment in Unix seconds. Its quarter of a minute and its hour are those in which its
        first run ended."""
        ended = done.evaluations[0].run.end_ns / 1e9 if done.evaluations else 0.0
        begun = (min(now, ended) if ended else now) // self._finest * self._finest
        for key, sums in hours.sums(done, self._segments, self._leading):
            place = (begun, self._admitted(key))
            self._sums[place] = self._sums[place] + sums if place in self._sums else sums
        for counted, n in hours.counts(done):
            at = (begun, counted._replace(service=self._services.admit(counted.service)))
            self._counts[at] = self._counts.get(at, 0.0) + n
        self._evaluators |= dict.fromkeys(hours.evaluators(done.evaluations), now)
        self._save_soon()

    def _save_soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(HAND_OVER_SECONDS, self.save)

    def truncated(self, now: float) -> None:
        """A run came while the budget's fuse was blown: in this hour some runs have no chance to be judged."""
        at = (now // self._finest * self._finest, CountKey("", "truncated"))
        self._counts[at] = self._counts.get(at, 0.0) + 1
        self._save_soon()

    def _admitted(self, key: SumsKey) -> SumsKey:
        service = self._services.admit(key.service)
        value = self._values.setdefault(key.segment, Cap(MAX_VALUES)).admit(key.value)
        return key._replace(service=service, value=value)

    def save(self) -> None:
        """Hand over to the database what has been added since."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        write = self._database.write
        for (begun, key), sums in self._sums.items():
            terms = [getattr(sums, term) for term in JUDGED_TERMS]
            named = (key.scorer, key.version, key.stage)
            for span, at in self._spans(begun):
                if key.segment:
                    segment = (at, key.service, key.segment, key.value)
                    write(_ADD_SEGMENT.format(span=span), (*segment, *named, *terms))
                else:
                    write(_ADD_SUMS.format(span=span), (at, key.service, *named, *terms))
        for (begun, counted), n in self._counts.items():
            for span, at in self._spans(begun):
                write(_ADD_COUNT.format(span=span), (at, *counted, n))
        for evaluator, at in self._evaluators.items():
            write("INSERT OR REPLACE INTO evaluators VALUES (?, ?, ?, ?, ?)", (*evaluator, at))
        self._sums, self._counts, self._evaluators = {}, {}, {}

    def _spans(self, begun: float) -> tuple[tuple[str, float], ...]:
        """Where a quarter of a minute is kept: by itself, in its hour, and in its day, which answers long windows."""
        day = 24 * self._tick
        if self._finest == self._tick:
            return ("hour", begun), ("day", (begun + self._tick / 2) // day * day)
        return ("fine", begun), ("hour", begun // self._tick * self._tick), ("day", begun // day * day)

    # ---- what is asked ------------------------------------------------------------------------------------------

    async def sums(self, window: Window) -> list[SumsRow]:
        """Sums of whole services, piece by piece."""
        piece, values = _pieces(window)
        sql = f"""SELECT {piece} AS piece, service, '', '', scorer, version, stage, {_TOTALS} FROM {_span(window)}_sums
            WHERE {_WINDOW} GROUP BY piece, service, scorer, version, stage"""  # noqa: S608
        return await self._rows(sql, (*values, *_bounds(window)))

    async def segments(self, window: Window, *, segment: str | None = None, scorer: str | None = None) -> list[SumsRow]:
        """Sums by segment and value, piece by piece."""
        piece, values = _pieces(window)
        sql = f"""SELECT {piece} AS piece, service, segment, value, scorer, version, stage, {_TOTALS}
            FROM {_span(window)}_segments WHERE {_WINDOW} AND (? IS NULL OR segment = ?) AND (? IS NULL OR scorer = ?)
            GROUP BY piece, segment, service, scorer, version, stage, value"""  # noqa: S608
        return await self._rows(sql, (*values, *_bounds(window), segment, segment, scorer, scorer))

    async def _rows(self, sql: str, parameters: Sequence[object]) -> list[SumsRow]:
        return [
            SumsRow(cast("float", row[0]), SumsKey(*row[1:7]), Sums(*row[7:]))  # type: ignore[arg-type]
            for row in await self._read(sql, parameters)
        ]

    async def counts(self, window: Window) -> list[CountRow]:
        """Counts, piece by piece; those of no service are always among them."""
        piece, values = _pieces(window)
        sql = f"""SELECT {piece} AS piece, service, kind, name, detail, sum(n) FROM {_span(window)}_counts
            WHERE {_WINDOW}
            GROUP BY piece, service, kind, name, detail"""  # noqa: S608
        services = None if window.services is None else (*window.services, "")
        return [
            CountRow(cast("float", row[0]), CountKey(*row[1:5]), cast("float", row[5]))  # type: ignore[arg-type]
            for row in await self._read(sql, (*values, *_bounds(replace(window, services=services))))
        ]

    async def evaluators(self) -> list[Evaluator]:
        """Who stands behind the versions that are kept."""
        rows = await self._read("SELECT scorer, version, tier, model FROM evaluators ORDER BY at", ())
        return [Evaluator(*row) for row in rows]  # type: ignore[arg-type]

    async def since(self) -> float | None:
        """The earliest hour that is kept (Unix seconds)."""
        [(first,)] = await self._read("SELECT min(at) FROM hour_counts", ())
        return cast("float | None", first)

    async def latest(self) -> float | None:
        """The latest hour that is kept (Unix seconds)."""
        [(last,)] = await self._read("SELECT max(at) FROM hour_counts", ())
        return cast("float | None", last)

    async def _read(self, sql: str, parameters: Sequence[object]) -> list[tuple[object, ...]]:
        self.save()
        return await self._database.read(sql, parameters)


def _span(window: Window) -> str:
    return "day" if window.days else "fine" if window.fine else "hour"


def _pieces(window: Window) -> tuple[str, tuple[float, ...]]:
    """The start of the piece that an hour lies in, as SQL with its parameters."""
    if window.width is None:
        return "?", (window.since,)
    # The thousandth is for hours of a demonstration, whose starts are no whole seconds.
    return "? + CAST((at - ?) / ? + 0.001 AS INTEGER) * ?", (window.since, window.since, window.width, window.width)


def _bounds(window: Window) -> tuple[object, ...]:
    services = None if window.services is None else json.dumps(window.services)
    return window.since, window.until, services, services
