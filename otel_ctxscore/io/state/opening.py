"""The state file as a file: where it is, whose it is, and whether it is whole."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from otel_ctxscore.core.errors import StateError, in_words
from otel_ctxscore.io.state.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION

log = logging.getLogger(__name__)

STEPS = 1_000_000
"""Instructions of SQLite's machine, some milliseconds, after which a check asks whether it may go on."""


def default_folder() -> Path:
    """The XDG state folder of this program."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "otel-ctxscore"


def locked(path: Path) -> int:
    """The descriptor of a file beside it, locked while it is open. Raises StateError where another process has it."""
    lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StateError(f"{path} is in use by another service; set state.path to another folder") from None
    except OSError as error:
        log.warning("state: %s cannot be locked (%s); let no other service use it", path, in_words(error))
    return lock


def connect(path: Path | None, max_size: int) -> sqlite3.Connection:
    """A connection to the file, made where there is none; to a state in memory without a path. Raises StateError for
    a file of another program, of a later version, or that is none."""
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
    """Raise StateError for a file of another program or of a later version."""
    application = sql.execute("PRAGMA application_id").fetchone()[0]
    version = sql.execute("PRAGMA user_version").fetchone()[0]
    tables = sql.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and application != APPLICATION_ID:
        raise StateError(f"{path} belongs to another program; set state.path to another folder")
    if version > SCHEMA_VERSION:
        raise StateError(f"{path} was written by a later version of otel-ctxscore; set state.path to another folder")


def damage(path: Path, cancelled: Callable[[], bool] = lambda: False) -> str | None:
    """What is wrong with the pages of a file; None where nothing is, or it was cancelled. It reads all of it, on a
    connection of its own, and disturbs nobody. Raises StateError where it cannot be read."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as sql:
            sql.set_progress_handler(cancelled, STEPS)
            found = str(sql.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        if cancelled():
            return None
        if tells_damage(error):
            return str(error)
        raise StateError(f"{path} could not be checked: {error}") from None
    return None if found == "ok" else found.splitlines()[-1]


def tells_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is not as SQLite wrote it."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # Python's own word for bytes where we wrote text
        return str(error).startswith("Could not decode to UTF-8")
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
