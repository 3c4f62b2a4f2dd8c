"""Small values in the state file."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.io.state import Database, Kept

MIB = 1 << 20


async def test_values_come_back_by_kind_and_prefix_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite3"
    first = Database(path, max_size=64 * MIB, max_age=1)
    kept = Kept(first)
    for kind, name in [("day", "01 a"), ("day", "01 b"), ("day", "02 a"), ("daylight", "01 c"), ("d", "ay:01")]:
        kept.put(kind, name, [kind, name])
    kept.put("day", "01 a", {"é": 1.5})
    kept.remove("day", "02 a")
    await first.close()
    second = Database(path, max_size=64 * MIB, max_age=1)
    again = Kept(second)
    assert await again.all("day") == {"01 a": {"é": 1.5}, "01 b": ["day", "01 b"]}
    assert await again.all("day", "01 b") == {"01 b": ["day", "01 b"]}
    assert await again.all("nothing") == {}
    await second.close()


async def test_another_process_sees_what_was_committed(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite3"
    service, command = (Database(path, max_size=64 * MIB, max_age=1) for _ in range(2))
    Kept(command).put("baseline", "x", 1)
    await command.flush()
    assert await Kept(service).all("baseline") == {"x": 1}
    await service.close()
    await command.close()


async def test_a_value_that_cannot_be_read_is_left_out_and_said(caplog: pytest.LogCaptureFixture) -> None:
    database = Database(None, max_size=MIB, max_age=1)
    kept = Kept(database)
    kept.put("k", "good", 1)
    database.write("INSERT INTO kept VALUES ('k:bad', 0, '{')")
    with caplog.at_level(logging.ERROR):
        assert await kept.all("k") == {"good": 1}
    assert "k:bad" in caplog.text
    await database.close()


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), st.integers(), max_size=5))
async def test_any_name_is_kept(values: dict[str, int]) -> None:
    database = Database(None, max_size=MIB, max_age=1)
    kept = Kept(database)
    for name, value in values.items():
        kept.put("k", name, value)
    assert await kept.all("k") == values
    await database.close()
