"""Values inside values: JSON in strings in JSON, and Python literals, opened with limits.

A `Node` is a value with the path that leads to it, as `explain` writes it: `output.value#data.content#[0].text`
is the text of the first of the objects in the JSON string at `data.content` of the JSON string `output.value`. A
path that ends in a dot goes on without a `#`: the keys below it are attribute keys, not JSON.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from otel_ctxscore.core.spans import Value

MAX_LEVELS = 4
"""How many strings are opened one inside the other."""
MAX_JSON = 16 * 1024 * 1024
MAX_LITERAL = 256 * 1024
MAX_LITERAL_DEPTH = 60
MAX_ELEMENTS = 10_000
"""Elements of a list that are looked at. Each dialect looks, so a list without end would hold up all other traces."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*\Z")
_AROUND = " \t\r\n\f\v\ufeff"
"""White space, and the mark that some writers put before JSON."""
_PAIRS = {"{": "}", "[": "]", '"': '"'}
_JSON_START = re.compile(r"""[\s\ufeff]*(?:\{\s*["']|\[\s*[{\["'])""")
_CLASS_CALL = re.compile(r"\s*\[?\s*[A-Z]\w*\(\s*\w+=")


@dataclass(frozen=True, slots=True)
class Node:
    """A value, where it stands, and how many strings were opened to get there."""

    value: Value
    at: str
    level: int = 0

    def key(self, name: str) -> Node | None:
        """The entry `name` of a map, None where there is none."""
        if type(self.value) is not dict or name not in self.value:
            return None
        step = name if _PLAIN_KEY.match(name) else json.dumps(name)
        joint = "" if self.at.endswith(("#", ".", "/")) else "." if "#" in self.at else "#"
        return Node(self.value[name], f"{self.at}{joint}{step}", self.level)

    def dig(self, *names: str) -> Node | None:
        """The entry at a path of names, opening strings on the way."""
        node: Node | None = self
        for name in names:
            node = node.opened().key(name) if node else None
        return node

    def index(self, place: int) -> Node:
        joint = "" if "#" in self.at else "#"
        return Node(cast("list[Value]", self.value)[place], f"{self.at}{joint}[{place}]", self.level)

    def each(self) -> Iterator[Node]:
        """The elements of a list, as far as they are read; nothing for any other value."""
        if isinstance(self.value, list):
            for place in range(min(len(self.value), MAX_ELEMENTS)):
                yield self.index(place)

    def entries(self) -> Iterator[tuple[str, Node]]:
        """The entries of a map, nothing for any other value."""
        if isinstance(self.value, dict):
            for name in self.value:
                if (entry := self.key(name)) is not None:
                    yield name, entry

    def opened(self) -> Node:
        """What a string holds where it holds JSON or a Python literal; else the node itself, bytes as their text."""
        node = self if not isinstance(self.value, bytes) else Node(_decoded(self.value), self.at, self.level)
        while isinstance(node.value, str) and node.level < MAX_LEVELS:
            inner = _parsed(node.value)
            if inner is None:
                break
            inside = f"{node.at}#" if "#" in node.at and isinstance(inner, dict | list) else node.at
            node = Node(inner, inside, node.level + 1)
        return node

    @property
    def broken(self) -> bool:
        """A string that begins like JSON and cannot be read: most likely it was cut."""
        return isinstance(self.value, str) and bool(_JSON_START.match(self.value)) and self.opened().value is self.value


def _decoded(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _parsed(text: str) -> Value:
    if len(text) > MAX_JSON:
        return None
    bare = text.strip(_AROUND)
    if bare and bare[-1] == _PAIRS.get(bare[0]):
        opened = _json(bare)
        return opened if opened is not None or bare[0] == '"' else _literal(bare)
    return _literal(bare) if _CLASS_CALL.match(bare[:80]) else None


def _json(text: str) -> Value:
    try:
        return cast("Value", json.loads(text))
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=8)
def _literal(text: str) -> Value:
    """Python's own notation of dicts, lists and keyword-only constructors: `[Document(page_content='...')]`.

    Remembered, for each dialect looks at an attribute anew, and a long one takes Python most of a second.
    """
    if len(text) > MAX_LITERAL:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _evaluated(ast.parse(text, mode="eval").body, 0)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _evaluated(tree: ast.expr, depth: int) -> Value:
    if depth > MAX_LITERAL_DEPTH:
        raise ValueError("nested too deeply")
    below = depth + 1
    match tree:
        case ast.Constant(value=None | bool() | int() | float() | str() | bytes() as value):
            return cast("Value", value)
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_evaluated(element, below) for element in elements]
        case ast.Dict(keys=keys, values=values):
            return {_name(key): _evaluated(value, below) for key, value in zip(keys, values, strict=True)}
        case ast.Call(args=[], keywords=keywords):
            return {keyword.arg or "": _evaluated(keyword.value, below) for keyword in keywords}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Name(id="nan" | "inf"):
            return None
    raise ValueError("no literal")


def _name(key: ast.expr | None) -> str:
    if isinstance(key, ast.Constant):
        return str(key.value)
    raise ValueError("no literal key")
