from __future__ import annotations

import logging
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from otel_ctxscore.core.model import JudgedBy, Judgement, Verdict
from otel_ctxscore.io.state import Database, StateError, StoredVerdicts, opened, opening
from otel_ctxscore.io.state import database as module
from otel_ctxscore.io.state.database import PIECE, Write
from otel_ctxscore.io.state.opening import damage
from tests.io.waiting import until

JUDGEMENT = Judgement(
    [Verdict(useful=0.25, relevance="low", used=None, note="naïve"), Verdict(useful=True)],
    ["the price"],
    JudgedBy("llm", "m", "v", calls=1, cost_usd=None),
)
MIB = 1 << 20


def database(path: Path | None, *, max_size: int = 64 * MIB, max_age: float = 1e9, now: float = 1e9) -> Database:
    return Database(path, max_size=max_size, max_age=max_age, clock=lambda: now)


async def test_judgements_come_back_as_they_were_also_after_a_restart(tmp_path: Path) -> None:
    first = opened(tmp_path, max_size=64 * MIB, max_age=1e9)
    await StoredVerdicts(first).put("k", JUDGEMENT)
    assert await StoredVerdicts(first).get("k") == JUDGEMENT, "a read sees the writes before it"
    await first.close()
    second = opened(tmp_path, max_size=64 * MIB, max_age=1e9)
    assert await StoredVerdicts(second).get("k") == JUDGEMENT
    assert await StoredVerdicts(second).get("other") is None
    await second.close()


@pytest.mark.parametrize(
    "content", [b"no database at all, but text of some length" * 50, b"SQLite format 3\0" + b"\xff" * 4096]
)
async def test_a_damaged_file_is_one_line_and_a_state_in_memory(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state.sqlite3").write_bytes(content)
    with caplog.at_level(logging.ERROR):
        state = opened(tmp_path, max_size=MIB, max_age=1e9)
    [record] = caplog.records
    assert "state.sqlite3" in record.getMessage()
    assert "\n" not in record.getMessage()
    await StoredVerdicts(state).put("k", JUDGEMENT)
    assert await StoredVerdicts(state).get("k") == JUDGEMENT
    await state.close()
    assert (tmp_path / "state.sqlite3").read_bytes() == content, "a file that is not ours is left as it is"


async def test_a_file_of_another_program_or_a_later_version_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "state.sqlite3"
    with sqlite3.connect(path) as foreign:
        foreign.execute("CREATE TABLE songs (name TEXT)")
    state = opened(tmp_path, max_size=MIB, max_age=1e9)
    assert "another program" in caplog.text
    assert state.path is None
    await state.close()
    path.unlink()
    await opened(tmp_path, max_size=MIB, max_age=1e9).close()
    with sqlite3.connect(path) as later:
        later.execute("PRAGMA user_version = 99")
    assert opened(tmp_path, max_size=MIB, max_age=1e9).path is None
    assert "later version" in caplog.text


async def test_the_file_stays_within_its_size(tmp_path: Path) -> None:
    state = database(tmp_path / "s", max_size=MIB)
    for n in range(3000):
        state.write("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)", (str(n), float(n), "x" * 1000))
        if n % 100 == 0:
            await state.flush()
    await state.flush()
    assert state.dropped == 0
    assert (tmp_path / "s").stat().st_size <= MIB
    kept = [str(row[0]) for row in await state.read("SELECT key FROM verdicts")]
    assert "2999" in kept, "the youngest stay"
    assert "0" not in kept
    await state.close()


async def test_rows_go_with_age(tmp_path: Path) -> None:
    now = 1000.0
    state = Database(tmp_path / "s", max_size=MIB, max_age=500, clock=lambda: now)
    state.write("INSERT INTO verdicts VALUES ('old', 400, '')")
    state.write("INSERT INTO verdicts VALUES ('young', 1200, '')")
    await state.flush()
    now = 1650.0
    state.write("INSERT INTO verdicts VALUES ('new', 1650, '')")
    await state.flush()
    assert sorted(str(row[0]) for row in await state.read("SELECT key FROM verdicts")) == ["new", "young"]
    await state.close()


async def test_a_read_does_not_wait_for_all_old_rows_to_go(tmp_path: Path) -> None:
    now = 1000.0
    state = Database(tmp_path / "s", max_size=64 * MIB, max_age=500, clock=lambda: now)
    for i in range(5 * PIECE):
        state.write("INSERT INTO verdicts VALUES (?, ?, '')", (str(i), 100 + i / 100))
    await state.flush()
    now = 1650.0
    state.write("INSERT INTO verdicts VALUES ('new', 1650, '')")
    left = [int(str((await state.read("SELECT count(*) FROM verdicts"))[0][0])) for _ in range(20)]
    assert left[0] > 1, "the first read came before the last piece had gone"
    assert left == sorted(left, reverse=True)
    assert left[-1] == 1
    await state.close()


async def test_a_write_that_fails_costs_itself_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = database(tmp_path / "s")
    state.write("INSERT INTO absent VALUES (1)")
    await state.flush()
    await StoredVerdicts(state).put("k", JUDGEMENT)
    assert await StoredVerdicts(state).get("k") == JUDGEMENT
    assert state.dropped == 1
    assert "lost" in caplog.text
    await state.close()


async def test_a_value_that_cannot_be_written_costs_no_other_of_its_batch(tmp_path: Path) -> None:
    state = database(tmp_path / "s")
    for name in ("a", "half \ud83d", "b"):
        state.write("INSERT INTO verdicts VALUES (?, 0, '')", (name,))
    await state.flush()
    assert sorted(str(row[0]) for row in await state.read("SELECT key FROM verdicts")) == ["a", "b"]
    assert state.dropped == 1
    await state.close()


async def test_a_row_that_cannot_be_read_is_as_good_as_none(tmp_path: Path) -> None:
    state = database(tmp_path / "s")
    for n, text in enumerate(["", "[]", '{"verdicts": [{"useful": 7}], "missing": null, "judged_by": null}', "{}"]):
        state.write("INSERT INTO verdicts VALUES (?, 0, ?)", (str(n), text))
    assert [await StoredVerdicts(state).get(str(n)) for n in range(4)] == [None] * 4
    await state.close()


WRITER = """
import asyncio, sys
from pathlib import Path
from otel_ctxscore.io.state import Database
from otel_ctxscore.io.state.database import PIECE
async def main():
    state = Database(Path(sys.argv[1]), max_size=1 << 26, max_age=1e9)
    for n in range(10**9):
        state.write("INSERT INTO verdicts VALUES (?, 0, '')", (str(n),))
        if n % 50 == 0:
            await state.flush()
            print(n, flush=True)
asyncio.run(main())
"""


def killed_while_writing(path: Path) -> int:
    """Kill a process in the midst of its writes; the last of them that it saw committed."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        committed = [int(writer.stdout.readline()) for _ in range(5)][-1]
        writer.kill()
    return committed


async def test_what_was_committed_survives_a_kill(tmp_path: Path) -> None:
    committed = killed_while_writing(tmp_path / "s")
    state = database(tmp_path / "s")
    kept = {int(str(row[0])) for row in await state.read("SELECT key FROM verdicts")}
    assert set(range(committed + 1)) <= kept
    await state.close()


async def test_a_second_service_on_the_same_folder_keeps_its_state_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = opened(tmp_path, max_size=MIB, max_age=1)
    with caplog.at_level(logging.ERROR):
        second = opened(tmp_path, max_size=MIB, max_age=1)
    assert second.path is None
    assert "in use by another service" in caplog.text
    await first.close()
    third = opened(tmp_path, max_size=MIB, max_age=1)
    assert third.path == tmp_path / "state.sqlite3"
    await second.close()
    await third.close()


PUT = "INSERT OR REPLACE INTO verdicts VALUES (?, 0, ?)"


async def stored(state: Database) -> dict[str, str]:
    return {str(key): str(text) for key, text in await state.read("SELECT key, judgement FROM verdicts")}


async def test_what_is_made_on_the_thread_is_written_in_its_turn_and_seen_by_the_next_read(tmp_path: Path) -> None:
    state = database(tmp_path / "s")
    made_by: list[str] = []

    def make() -> Iterator[Write]:
        made_by.append(threading.current_thread().name)
        yield PUT, ("a", "2")
        yield PUT, ("b", "2")

    state.write(PUT, ("a", "1"))
    state.write_later(make, 0)
    state.write(PUT, ("b", "3"))
    assert not made_by
    assert await stored(state) == {"a": "2", "b": "3"}
    assert made_by == [made_by[0]]
    assert made_by[0].startswith("state")
    await state.close()


async def test_what_cannot_be_made_or_written_whole_costs_itself_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = database(tmp_path / "s")

    def broken() -> Iterator[Write]:
        yield PUT, ("half", "")
        raise ValueError("no such run")

    state.write(PUT, ("before", ""))
    state.write_later(broken, 1)
    state.write_later(lambda: [(PUT, ("together", "")), (PUT, ("half \ud83d", ""))], 1)
    state.write(PUT, ("after", ""))
    assert sorted(await stored(state)) == ["after", "before"]
    assert state.dropped == 3
    assert "no such run" in caplog.text
    await state.close()


async def test_what_waits_to_be_made_is_bounded_in_bytes_until_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PENDING_BYTES", 100)
    state = database(tmp_path / "s")
    for name, size in (("greater than all", 500), ("too much", 1), ("nothing", 0)):
        state.write_later(lambda name=name: [(PUT, (name, ""))], size)  # type: ignore[misc]
    assert state.dropped == 1
    await state.flush()
    state.write_later(lambda: [(PUT, ("again", ""))], 60)
    assert sorted(await stored(state)) == ["again", "greater than all", "nothing"]
    await state.close()


# ---- a file that turns out to be damaged ------------------------------------------------------------------------


async def damaged(folder: Path) -> bytes:
    """A state file that opens well and has broken pages further on."""
    state = opened(folder, max_size=64 * MIB, max_age=1e9)
    for n in range(3000):
        state.write(PUT, (str(n), "x" * 1000))
    await state.close()
    path = folder / "state.sqlite3"
    content = bytearray(path.read_bytes())
    content[len(content) // 3 :] = b"\xa5" * (len(content) - len(content) // 3)
    path.write_bytes(content)
    return bytes(content)


@pytest.mark.parametrize("found_by", ["the check", "a read", "a write"])
async def test_a_file_that_turns_out_to_be_damaged_is_left_for_a_state_in_memory(
    found_by: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = await damaged(tmp_path)
    if found_by != "the check":
        monkeypatch.setattr(Database, "check", lambda self: None)
    state = opened(tmp_path, max_size=64 * MIB, max_age=1e9)
    if found_by == "the check":
        await until(lambda: bool(caplog.records))
    elif found_by == "a read":
        assert await stored(state) == {}
    for n in range(3000):
        state.write(PUT, (f"new {n}", ""))
    assert len(await stored(state)) == 3000, "nothing new is lost"
    [line] = caplog.records
    assert re.fullmatch(
        r"state: \S+state.sqlite3 is damaged \(.+\); nothing will survive a restart; .+", line.getMessage()
    )
    assert state.dropped == 0
    await state.close()
    assert (tmp_path / "state.sqlite3").read_bytes()[len(content) // 3 :] == content[len(content) // 3 :]


async def test_a_command_refuses_a_damaged_file(tmp_path: Path) -> None:
    await damaged(tmp_path)
    with pytest.raises(StateError, match="is damaged"):
        database(tmp_path / "state.sqlite3")


async def test_a_whole_file_is_looked_through_while_it_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = threading.Event()

    def checking(path: Path, cancelled: Callable[[], bool]) -> str | None:
        found = damage(path, cancelled)
        checked.set()
        return found

    monkeypatch.setattr(module, "damage", checking)
    for _ in range(2):
        state = opened(tmp_path, max_size=64 * MIB, max_age=1e9)
        state.write(PUT, ("a", "b"))
        assert await stored(state) == {"a": "b"}
        await until(checked.is_set)
        checked.clear()
        await state.close()
    assert not caplog.records


async def test_a_check_ends_with_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await damaged(tmp_path)
    monkeypatch.setattr(opening, "STEPS", 100)
    asked: list[bool] = []

    def cancelled() -> bool:
        asked.append(True)
        return True

    assert damage(tmp_path / "state.sqlite3", cancelled) is None
    assert asked
    assert damage(tmp_path / "state.sqlite3") is not None
