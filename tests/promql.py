"""What a PromQL expression names: metrics with the labels of their selectors, and the labels of its clauses."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SELECTOR = re.compile(r"\b(ctxscore[\w:]*|ALERTS)\b\s*(?:\{([^}]*)\})?")
_CLAUSE = re.compile(r"\b(?:by|on|ignoring|without|group_left|group_right)\s*\(([^)]*)\)")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")


@dataclass(frozen=True, slots=True)
class Names:
    """`selectors`: metric and the labels it is selected by. `clauses`: labels that are grouped by or matched on."""

    selectors: tuple[tuple[str, tuple[str, ...]], ...]
    clauses: frozenset[str]


def names(expression: str) -> Names:
    """The names in an expression whose variables are filled in."""
    bare = _STRING.sub('""', expression)
    selectors = tuple((name, tuple(_MATCHER.findall(inner or ""))) for name, inner in _SELECTOR.findall(bare))
    clauses = {label.strip() for inner in _CLAUSE.findall(bare) for label in inner.split(",") if label.strip()}
    return Names(selectors, frozenset(clauses))
