"""One SQLite file behind one thread: writes in batches, off the event loop, bounded by age and size.

A write is safe once its batch is committed, a fraction of a second later; a kill before that loses it, and nothing
else. A disk that takes no more costs history, never a score.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from otel_ctxscore.core.errors import StateError, in_words, with_its_file
from otel_ctxscore.io.state.schema import AGED, APPLICATION_ID, SCHEMA, SCHEMA_VERSION, WITH_THEIR_RUN

log = logging.getLogger(__name__)
T = TypeVar("T")

BATCH_SECONDS = 0.2
MAX_PENDING = 50_000
"""Writes that wait for their batch, at most; beyond that they are dropped and counted."""
PRUNE_SECONDS = 600.0
PRUNED_SHARE = 0.2
"""Share of the rows that goes, oldest first, where the file has reached its size."""
FULL_SHARE = 0.9
PIECE = 500
"""Rows that one deletion takes: a full file has no room for the journal of a great one, and reads wait for each."""
Parameters = Sequence[object]


def default_folder() -> Path:
    """The XDG state folder of this program."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "otel-ctxscore"


def opened(folder: Path | None, *, max_size: int, max_age: float, content_max_age: float | None = None) -> Database:
    """The state of a service in a folder, or one in memory where the file cannot be used: the service scores all the
    same. A folder serves one service at a time: two would overwrite each other's evidence."""
    path = (folder or default_folder()) / "state.sqlite3"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = _locked(path)
        try:
            return Database(path, max_size=max_size, max_age=max_age, content_max_age=content_max_age, lock=lock)
        except StateError:
            os.close(lock)
            raise
    except (StateError, OSError) as error:
        log.error("state: %s; nothing will survive a restart", with_its_file(error))
        return Database(None, max_size=max_size, max_age=max_age, content_max_age=content_max_age)


def _locked(path: Path) -> int:
    """The descriptor of a file that is locked while it is open. Raises StateError where another process has it."""
    lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StateError(f"{path} is in use by another service; set state.path to another folder") from None
    except OSError as error:
        log.warning("state: %s cannot be locked (%s); let no other service use it", path, in_words(error))
    return lock


class Database:
    """Writes are handed over and forgotten; reads are awaited and see all writes before them.

    `path` None keeps all in memory. Raises StateError for a file that is corrupt, of another program or newer.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        max_size: int,
        max_age: float,
        content_max_age: float | None = None,
        clock: Callable[[], float] = time.time,
        lock: int | None = None,
    ) -> None:
        """Rows stay for `max_age` seconds; those that hold text for `content_max_age`, where that is less. `lock` is a
        descriptor that is closed with the database."""
        self.path = path
        self._lock = lock
        self.dropped = 0
        self._clock = clock
        text_age = max_age if content_max_age is None else min(max_age, content_max_age)
        self._ages = {"history": max_age, "text": text_age}
        self._pending: list[tuple[str, Parameters]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="state")
        self._pruned = clock()
        self._closing = False
        self._trouble: str | None = None
        self._sql = self._thread.submit(_connect, path, max_size).result()

    # ---- from the event loop ------------------------------------------------------------------------------------

    def write(self, sql: str, parameters: Parameters = ()) -> None:
        """Hand a write over. It is committed with its batch."""
        if len(self._pending) >= MAX_PENDING:
            self.dropped += 1
            return
        self._pending.append((sql, parameters))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._start_batch)

    async def read(self, sql: str, parameters: Parameters = ()) -> list[tuple[object, ...]]:
        """The rows of a query."""
        return await self._run(lambda sql_: sql_.execute(sql, parameters).fetchall())

    async def flush(self) -> None:
        """Return when all writes before are committed, or given up."""
        await self._run(lambda _: None)

    async def close(self) -> None:
        """Commit what waits and close the file."""
        self._closing = True
        await self.flush()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._sql.close)
        self._thread.shutdown()
        if self._lock is not None:
            os.close(self._lock)

    async def change(self, *writes: tuple[str, Parameters]) -> int:
        """Commit these writes together and now; how many rows the last one touched. Raises StateError where they cannot
        be, and then none of them is."""
        return await self._run(lambda _: self._change(writes))

    async def erase(self, sql: str, parameters: Parameters = ()) -> int:
        """Delete rows, also from the log of the file; how many there were. Raises StateError where it cannot be."""
        return await self._run(lambda connection: _erase(connection, sql, parameters))

    @property
    def text_horizon(self) -> float:
        """Text that was kept before this moment, in Unix seconds, is not to be shown any more."""
        return self._clock() - self._ages["text"]

    async def size(self) -> int:
        """Bytes of the file, without what is free in it."""
        return await self._run(_used)

    def _start_batch(self) -> None:
        self._timer = None
        batch, self._pending = self._pending, []
        self._thread.submit(self._commit, batch)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._timer is not None:
            self._timer.cancel()
            self._start_batch()
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, self._sql)

    # ---- on the thread ------------------------------------------------------------------------------------------

    def _commit(self, batch: list[tuple[str, Parameters]]) -> None:
        """Write a batch; where that fails, each write by itself, so that one which never works costs no other."""
        try:
            self._write(batch)
            if self._trouble:
                log.info("state: writes again")
            self._trouble = None
        except (sqlite3.Error, UnicodeEncodeError) as error:
            if len(batch) > 1 and not isinstance(error, sqlite3.OperationalError):
                for write in batch:
                    self._commit([write])
                return
            self.dropped += len(batch)
            if self._trouble != str(error):
                log.error("state: %d writes are lost: %s", len(batch), error)
            self._trouble = str(error)

    def _write(self, batch: list[tuple[str, Parameters]]) -> None:
        self._transact_with_room(batch)
        if self._clock() - self._pruned > PRUNE_SECONDS:
            self._pruned = self._clock()
            self._go_on(self._pruning())

    def _go_on(self, pieces: Iterator[None]) -> None:
        """Do one piece of what is left, and let what waits for the thread go before the next."""
        if self._closing:
            return
        try:
            next(pieces)
        except StopIteration:
            return
        except sqlite3.Error as error:
            log.warning("state: what is too old stays for now: %s", error)
            return
        self._thread.submit(self._go_on, pieces)

    def _change(self, writes: Sequence[tuple[str, Parameters]]) -> int:
        try:
            return self._transact_with_room(writes)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise StateError(f"nothing was kept: {error}") from None

    def _transact_with_room(self, writes: Sequence[tuple[str, Parameters]]) -> int:
        try:
            return self._transact(writes)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                raise
            self._make_room()
            return self._transact(writes)

    def _transact(self, writes: Sequence[tuple[str, Parameters]]) -> int:
        """Commit all or none of them; the rows that the last one touched."""
        touched = 0
        with self._sql:
            for sql, parameters in writes:
                touched = self._sql.execute(sql, parameters).rowcount
        return touched

    def _pruning(self) -> Iterator[None]:
        """Rows beyond their age go, piece by piece; of a file that is nearly full, the oldest share of the rest too."""
        now = self._clock()
        for table, holds, _ in AGED:
            while self._delete_oldest(table, now - self._ages[holds]) >= PIECE:
                yield
        self._drop_orphans()
        limit = self._sql.execute("PRAGMA max_page_count").fetchone()[0]
        page = self._sql.execute("PRAGMA page_size").fetchone()[0]
        if _used(self._sql) > FULL_SHARE * limit * page:
            yield from self._making_room()

    def _making_room(self) -> Iterator[None]:
        for table in (aged.table for aged in AGED if aged.makes_room):
            count = self._sql.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 -- names of our own
            for _ in range(max(1, int(count * PRUNED_SHARE)) // PIECE + 1):
                self._delete_oldest(table)
                yield
        self._drop_orphans()

    def _make_room(self) -> None:
        for _ in self._making_room():
            pass

    def _delete_oldest(self, table: str, horizon: float = math.inf) -> int:
        """Delete a piece of the rows before the horizon; how many went."""
        oldest = f"SELECT at FROM {table} WHERE at < ? ORDER BY at LIMIT {PIECE}"  # noqa: S608 -- names of our own
        with self._sql:
            return self._sql.execute(f"DELETE FROM {table} WHERE at IN ({oldest})", (horizon,)).rowcount  # noqa: S608

    def _drop_orphans(self) -> None:
        with self._sql:
            for sql in WITH_THEIR_RUN:
                self._sql.execute(sql)


def _erase(sql: sqlite3.Connection, statement: str, parameters: Parameters) -> int:
    try:
        with sql:
            count = sql.execute(statement, parameters).rowcount
        sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.Error as error:
        raise StateError(f"nothing was deleted: {error}") from None
    return count


def _used(sql: sqlite3.Connection) -> int:
    pages, free, size = (
        sql.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _connect(path: Path | None, max_size: int) -> sqlite3.Connection:
    try:
        sql = sqlite3.connect(str(path) if path else ":memory:", timeout=5, isolation_level="IMMEDIATE")
        _check(sql, path)
        sql.execute("PRAGMA journal_mode = WAL")
        sql.execute("PRAGMA synchronous = NORMAL")  # with WAL a kill loses nothing; a power cut the last batch
        sql.execute("PRAGMA journal_size_limit = 16777216")
        sql.execute("PRAGMA secure_delete = ON")  # text that is deleted is gone from the file too
        sql.execute("PRAGMA foreign_keys = ON")
        page = sql.execute("PRAGMA page_size").fetchone()[0]
        sql.execute(f"PRAGMA max_page_count = {max(64, max_size // page)}")
        sql.executescript(SCHEMA)
        sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        sql.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except sqlite3.Error as error:
        raise StateError(f"{path} cannot be used ({error}); move it away to begin a new one") from None
    return sql


def _check(sql: sqlite3.Connection, path: Path | None) -> None:
    """Raise StateError for a file of another program, of a later version, or damaged."""
    application = sql.execute("PRAGMA application_id").fetchone()[0]
    version = sql.execute("PRAGMA user_version").fetchone()[0]
    tables = sql.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and application != APPLICATION_ID:
        raise StateError(f"{path} belongs to another program; set state.path to another folder")
    if version > SCHEMA_VERSION:
        raise StateError(f"{path} was written by a later version of otel-ctxscore; set state.path to another folder")
    damage = sql.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        raise StateError(f"{path} is damaged ({damage}); move it away to begin a new one")
