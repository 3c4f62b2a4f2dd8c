"""Errors of the operating system in words, and that none is told in another way."""

from __future__ import annotations

import ast
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import otel_ctxscore
from otel_ctxscore.core.errors import in_words, with_its_file

PACKAGE = Path(otel_ctxscore.__file__).parent


def raised(what: Callable[[], object]) -> BaseException:
    try:
        what()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_the_operating_system_is_quoted_without_number_and_file(tmp_path: Path) -> None:
    error = raised((tmp_path / "absent").read_text)
    assert in_words(error) == "No such file or directory"
    assert with_its_file(error) == f"{tmp_path / 'absent'}: No such file or directory"
    assert in_words(raised(lambda: os.listdir(b"/absent"))) == "No such file or directory"
    assert with_its_file(raised(lambda: os.listdir(b"/absent"))).startswith("/absent: ")


def test_what_others_say_is_one_line_without_their_own_marks(tmp_path: Path) -> None:
    (tmp_path / "pem").write_text("nothing")
    said = in_words(raised(lambda: ssl.create_default_context(cafile=tmp_path / "pem")))
    assert "_ssl.c" not in said
    assert not said.startswith("[")
    assert in_words(socket.gaierror(-2, "Name or service not known")) == "Name or service not known"
    assert in_words(ValueError("a\n  b")) == "a b"
    assert in_words(TimeoutError()) == "TimeoutError"
    assert with_its_file(ValueError("x")) == "x"


def told(handler: ast.ExceptHandler) -> Iterator[ast.AST]:
    """Where the error of a handler is written as it stands."""
    for node in ast.walk(handler):
        if isinstance(node, ast.FormattedValue) and ast.unparse(node.value) in (handler.name, f"str({handler.name})"):
            yield node
        if isinstance(node, ast.Call) and str(handler.name) in map(ast.unparse, node.args):
            called = ast.unparse(node.func)
            yield from [node] if called in ("str", "print") or "log." in called else []
        if isinstance(node, ast.Attribute) and node.attr == "strerror":
            yield node


@pytest.mark.parametrize("module", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_error_of_the_operating_system_is_shown_as_python_writes_it(module: Path) -> None:
    handlers = [
        node
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and node.type is not None and "OSError" in ast.unparse(node.type)
    ]
    assert [f"line {where.lineno}" for handler in handlers for where in told(handler)] == []  # type: ignore[attr-defined]
