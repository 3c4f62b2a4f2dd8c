"""One thing is singular, everywhere that a command says how many there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import otel_ctxscore
from otel_ctxscore.core.counting import count

PACKAGE = Path(otel_ctxscore.__file__).parent
SAID = [*sorted((PACKAGE / "cli").glob("*.py")), PACKAGE / "calibrating.py", PACKAGE / "web" / "label_body.py"]
VERBS = frozenset(
    {"does", "gives", "has", "holds", "is", "judges", "names", "needs", "says", "speaks", "stands", "was"}
)


def test_one_is_singular() -> None:
    assert [count(n, "query", "queries") for n in (0, 1, 2, 1200)] == [
        "0 queries",
        "1 query",
        "2 queries",
        "1,200 queries",
    ]
    assert (count(1, "run"), count(1.0, "effective trace"), count(3, "run")) == ("1 run", "1 effective trace", "3 runs")


def plurals(text: ast.JoinedStr) -> Iterator[str]:
    """Words in the plural right after a value that is not a constant."""
    for value, after in zip(text.values, text.values[1:], strict=False):
        if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
            found = re.match(r" (?:[a-z]+ )?([a-z]+s)\b", str(after.value))
            if found and found[1] not in VERBS and not ast.unparse(value.value).isupper():
                yield f"{{{ast.unparse(value.value)}}}{found[0]}"


@pytest.mark.parametrize("module", SAID, ids=lambda path: path.stem)
def test_numbers_of_things_are_written_in_one_way(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    assert [one for text in ast.walk(tree) if isinstance(text, ast.JoinedStr) for one in plurals(text)] == []
