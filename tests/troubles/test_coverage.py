"""No case is forgotten: each is exercised by a test that names it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.troubles.spans import cases

TESTS = Path(__file__).parents[1]


def named() -> Iterator[str]:
    """The cases that tests name: in the mark `trouble`, or as the beginning of their name (`test_c02_...`)."""
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_c"):
                yield node.name.removeprefix("test_").partition("_")[0].upper()
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "trouble":
                yield from (str(word.value) for word in node.args if isinstance(word, ast.Constant))


def test_every_case_is_exercised() -> None:
    assert sorted(cases().keys() - set(named())) == []
