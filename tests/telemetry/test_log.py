"""What the log writes, and what it never does."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_ctxscore.telemetry import configure_logging

Form = Literal["text", "json"]


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = before[0], before[1]


def written(form: Form, *args: object, secrets: tuple[str, ...] = (), **extra: object) -> str:
    stream = io.StringIO()
    configure_logging("info", form, secrets=secrets, stream=stream)
    logging.getLogger("ctx").warning(*args, extra=extra)
    return stream.getvalue()


def test_text_is_one_line_with_fields() -> None:
    line = written("text", "judge is %s", "late", service="shop")
    assert line.endswith("Z warning ctx  judge is late  service=shop\n")


def test_json_is_one_object_with_fields() -> None:
    event = json.loads(written("json", "judge is %s", "late", service="shop", n=3))
    assert event.pop("time").endswith("Z")
    assert event == {"level": "warning", "logger": "ctx", "message": "judge is late", "service": "shop", "n": 3}


def test_what_is_logged_cannot_begin_a_line_or_move_the_cursor() -> None:
    line = written("text", "service %s", "a\n2026-01-01T00:00:00.000Z error ctx  forged\x1b[2K", field="b\rc")
    assert line.count("\n") == 1
    assert line.rstrip("\n").isprintable()


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_exception_brings_its_trace_back(form: Form) -> None:
    stream = io.StringIO()
    configure_logging("info", form, secrets=["sk-1"], stream=stream)
    try:
        raise ValueError("key sk-1")
    except ValueError:
        logging.getLogger("ctx").exception("failed")
    assert "Traceback" in stream.getvalue()
    assert "ValueError: key ***" in stream.getvalue()


@given(st.text(min_size=3, max_size=30).filter(lambda s: "*" not in s), st.sampled_from(["text", "json"]))
def test_a_secret_never_leaves(secret: str, form: Form) -> None:
    marked = f"\u2400{secret}\u2400"
    line = written(form, "key is %s", marked, secrets=(marked,), header=f"Bearer {marked}")
    assert marked not in line
    assert line.count("***") == 2


@pytest.mark.parametrize("form", ["text", "json"])
def test_broken_text_is_logged_all_the_same(form: Form) -> None:
    written(form, "lone \ud83d surrogate").encode()


def test_lower_levels_are_left_out() -> None:
    stream = io.StringIO()
    configure_logging("error", stream=stream)
    logging.getLogger("ctx").warning("quiet")
    assert stream.getvalue() == ""
