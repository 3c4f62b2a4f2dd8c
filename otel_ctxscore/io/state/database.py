"""One SQLite file behind one thread: writes in batches, off the event loop, bounded by age and size.

A write is safe once its batch is committed, a fraction of a second later; a kill before that loses it, and nothing
else. A disk that takes no more costs history, never a score, and so does a file that turns out to be damaged.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from otel_ctxscore.core.errors import StateError, with_its_file
from otel_ctxscore.io.state.opening import connect, damage, default_folder, locked, tells_damage
from otel_ctxscore.io.state.schema import AGED, WITH_THEIR_RUN

log = logging.getLogger(__name__)
T = TypeVar("T")

BATCH_SECONDS = 0.2
MAX_PENDING = 50_000
"""Writes that wait for the file, at most; beyond that they are dropped and counted."""
MAX_PENDING_BYTES = 128 << 20
"""Bytes that wait in writes which are still to be made, at most; beyond that they are dropped and counted."""
FINE_AGE = 3 * 3600.0
"""Seconds that the sums of a quarter of a minute stay: as many rows as the hours of a month."""
PRUNE_SECONDS = 600.0
PRUNED_SHARE = 0.2
"""Share of the rows that goes, oldest first, where the file has reached its size."""
FULL_SHARE = 0.9
PIECE = 500
"""Rows that one deletion takes: a full file has no room for the journal of a great one, and reads wait for each."""
Parameters = Sequence[object]
Write = tuple[str, Parameters]


@dataclass(frozen=True, slots=True)
class _Unmade:
    """What makes writes that are committed together, and the bytes that it holds until then."""

    make: Callable[[], Iterable[Write]]
    size: int


def opened(folder: Path | None, *, max_size: int, max_age: float, content_max_age: float | None = None) -> Database:
    """The state of a service in a folder, or one in memory where the file cannot be used: the service scores all the
    same. A folder serves one service at a time: two would overwrite each other's evidence."""
    path = (folder or default_folder()) / "state.sqlite3"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = locked(path)
        try:
            known = Database(
                path, max_size=max_size, max_age=max_age, content_max_age=content_max_age, lock=lock, expendable=True
            )
        except StateError:
            os.close(lock)
            raise
        known.check()
        return known
    except (StateError, OSError) as error:
        log.error("state: %s; nothing will survive a restart", with_its_file(error))
        return Database(None, max_size=max_size, max_age=max_age, content_max_age=content_max_age)


class Database:
    """Writes are handed over and forgotten; reads are awaited and see all writes before them.

    `path` None keeps all in memory. Raises StateError for a file of another program, a newer one and one that is none;
    and for one that is damaged, which takes seconds to find out in a large one. An `expendable` file is not looked
    through at once, and is left for a state in memory where it turns out to be damaged later.
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
        expendable: bool = False,
    ) -> None:
        """Rows stay for `max_age` seconds; those that hold text for `content_max_age`, where that is less. `lock` is a
        descriptor that is closed with the database."""
        self.path = path
        self._lock = lock
        self.dropped = 0
        self._clock = clock
        text_age = max_age if content_max_age is None else min(max_age, content_max_age)
        self._ages = {"history": max_age, "text": text_age, "fine": min(max_age, FINE_AGE)}
        self._pending: list[Write | _Unmade] = []
        # Each is written on one side alone: the first two on the event loop, the others on the thread.
        self._handed, self._handed_bytes = 0, 0
        self._done, self._done_bytes = 0, 0
        self._timer: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="state")
        self._pruned = clock()
        self._closing = False
        self._trouble: str | None = None
        self._max_size = max_size
        self._expendable = expendable
        self._sql = self._thread.submit(connect, path, max_size).result()
        if path is not None and not expendable and (found := damage(path)) is not None:
            self._thread.submit(self._sql.close)
            raise StateError(f"{path} is damaged ({found}); move it away to begin a new one")

    # ---- from the event loop ------------------------------------------------------------------------------------

    def write(self, sql: str, parameters: Parameters = ()) -> None:
        """Hand a write over. It is committed with its batch."""
        self._hand_over((sql, parameters), 0)

    def write_later(self, make: Callable[[], Iterable[Write]], size: int) -> None:
        """Hand over what makes writes, for it takes long to: it is called on the thread, in its turn, and what it gives
        is committed together. `size`: bytes that are held until then."""
        self._hand_over(_Unmade(make, size), size)

    def _hand_over(self, entry: Write | _Unmade, size: int) -> None:
        waiting, held = self._handed - self._done, self._handed_bytes - self._done_bytes
        if waiting >= MAX_PENDING or (size and held and held + size > MAX_PENDING_BYTES):
            self.dropped += 1
            return
        self._handed, self._handed_bytes = self._handed + 1, self._handed_bytes + size
        self._pending.append(entry)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._start_batch)

    def check(self) -> None:
        """Look through the file in the background."""
        threading.Thread(target=self._check, name="state check", daemon=True).start()

    async def read(self, sql: str, parameters: Parameters = ()) -> list[tuple[object, ...]]:
        """The rows of a query."""
        return await self._run(lambda connection: connection.execute(sql, parameters).fetchall())

    async def rows(self, sql: str, parameters: Parameters, read: Callable[[tuple[object, ...]], T]) -> list[T]:
        """The rows of a query, each as `read` makes of it on the thread, for it takes long to."""
        return await self._run(lambda connection: [read(row) for row in connection.execute(sql, parameters)])

    async def flush(self) -> None:
        """Return when all writes before are committed, or given up."""
        await self._run(lambda _: None)

    async def close(self) -> None:
        """Commit what waits and close the file."""
        self._closing = True
        await self.flush()
        await self._run(lambda connection: connection.close())
        self._thread.shutdown()
        if self._lock is not None:
            os.close(self._lock)

    async def change(self, *writes: Write) -> int:
        """Commit these writes together and now; how many rows the last one touched. Raises StateError where they cannot
        be, and then none of them is."""
        return await self._changed(lambda _: self._transact_with_room(writes), "nothing was kept")

    async def erase(self, sql: str, parameters: Parameters = ()) -> int:
        """Delete rows, also from the log of the file; how many there were. Raises StateError where it cannot be."""
        return await self._changed(lambda connection: _erase(connection, sql, parameters), "nothing was deleted")

    async def _changed(self, work: Callable[[sqlite3.Connection], int], otherwise: str) -> int:
        try:
            return await self._run(work)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise StateError(f"{otherwise}: {error}") from None

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
        self._thread.submit(self._work_off, batch)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._timer is not None:
            self._timer.cancel()
            self._start_batch()
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._whole, work)

    # ---- on the thread ------------------------------------------------------------------------------------------

    def _whole(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Work on the file; on what takes its place where that is how it turns out to be damaged."""
        try:
            return work(self._sql)
        except sqlite3.DatabaseError as error:
            if not (tells_damage(error) and self._leave(str(error))):
                raise
            return work(self._sql)

    def _leave(self, found: str) -> bool:
        """Go on in memory; whether that is how it is from now on."""
        if not self._expendable:
            return False
        self._expendable = False
        log.error(
            "state: %s is damaged (%s); nothing will survive a restart; move it away to begin a new one",
            self.path,
            found,
        )
        self._sql.close()
        self._sql = connect(None, self._max_size)
        return True

    def _work_off(self, batch: list[Write | _Unmade]) -> None:
        made = [writes for entry in batch if (writes := self._made(entry))]
        self._commit(made)
        self._done += len(batch)
        self._done_bytes += sum(entry.size for entry in batch if isinstance(entry, _Unmade))

    def _made(self, entry: Write | _Unmade) -> Sequence[Write]:
        if not isinstance(entry, _Unmade):
            return (entry,)
        try:
            return list(entry.make())
        except Exception:
            log.exception("state: a write could not be made and is lost")
            self.dropped += 1
            return ()

    def _commit(self, batch: Sequence[Sequence[Write]]) -> None:
        """Write a batch; where that fails, each entry by itself, so that one which never works costs no other."""
        try:
            self._whole(lambda _: self._write([write for writes in batch for write in writes]))
            if self._trouble:
                log.info("state: writes again")
            self._trouble = None
        except (sqlite3.Error, UnicodeEncodeError) as error:
            if len(batch) > 1 and not isinstance(error, sqlite3.OperationalError):
                for writes in batch:
                    self._commit([writes])
                return
            self.dropped += sum(map(len, batch))
            if self._trouble != str(error):
                log.error("state: %d writes are lost: %s", sum(map(len, batch)), error)
            self._trouble = str(error)

    def _write(self, batch: Sequence[Write]) -> None:
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
            if not (tells_damage(error) and self._leave(str(error))):
                log.warning("state: what is too old stays for now: %s", error)
            return
        self._thread.submit(self._go_on, pieces)

    def _transact_with_room(self, writes: Sequence[Write]) -> int:
        try:
            return self._transact(writes)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                raise
            self._make_room()
            return self._transact(writes)

    def _transact(self, writes: Sequence[Write]) -> int:
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

    # ---- on a thread of its own ---------------------------------------------------------------------------------

    def _check(self) -> None:
        assert self.path is not None
        try:
            found = damage(self.path, lambda: self._closing)
        except StateError as error:
            log.warning("state: %s", error)
            return
        if found is not None:
            with suppress(RuntimeError):  # it is closed by now
                self._thread.submit(self._leave, found)


def _erase(sql: sqlite3.Connection, statement: str, parameters: Parameters) -> int:
    with sql:
        count = sql.execute(statement, parameters).rowcount
    sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return count


def _used(sql: sqlite3.Connection) -> int:
    pages, free, size = (
        sql.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)
