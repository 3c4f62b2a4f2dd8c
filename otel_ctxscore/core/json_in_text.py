"""Finds the answer in a language model's reply: JSON in prose, in fences, after a thinking block.

What a model writes is not trusted to be the answer only because it parses: a reply may quote the material it
was given, and that material may hold an answer of its own. Hence the rules of `answers`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

_MAX_UNCLOSED = 8
"""Brackets without an end that are passed over in one text: each costs a walk to its end."""

_BRACKET = re.compile(r"[{\[]")
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\]]', re.DOTALL)
_STARTS_LIKE_JSON = re.compile(r'[{\[]\s*(?:["{\[]|$)')
_THINKING_ENDS = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_THINKING_STARTS = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuses an object that names a key twice: which of the two is meant cannot be known."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once, parse_constant=_no_constant)


@dataclass(frozen=True, slots=True)
class Found:
    """A JSON object or array and where it stands in the text."""

    value: Any
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Answers:
    """Distinct answers of a reply, in order. `cut`: the text ends inside a JSON value. `quoted`: some candidate
    was left out because it stands word for word in the material."""

    values: tuple[Any, ...]
    cut: bool = False
    quoted: bool = False


def find_json(text: str) -> tuple[list[Found], bool]:
    """The outermost JSON objects and arrays of a text, and whether the text ends inside one.

    What lies inside a broken value is not looked for: half an answer is none.
    """
    found: list[Found] = []
    at = unclosed = 0
    while unclosed < _MAX_UNCLOSED and (bracket := _BRACKET.search(text, at)) is not None:
        start = bracket.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
            found.append(Found(value, start, at))
        except (ValueError, RecursionError):
            end = _closing(text, start)
            if end is None and _STARTS_LIKE_JSON.match(text, start):
                return found, True
            unclosed += end is None
            at = start + 1 if end is None else end
    return found, False


def _closing(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed, quoted strings aside."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            if not depth:
                return token.end()
    return None


def answers(reply: str, is_answer: Callable[[Any], bool], words: Iterable[str], material: Iterable[str]) -> Answers:
    """The values of `reply` that have the form of an answer and are not quoted from `material`.

    Left out are values inside a thinking block, and values that the material holds too, spaces aside: a model
    that repeats a passage has not judged it. `words` are the keys of an answer; material without any of them
    cannot hold one. Several values may remain; which one counts is for the caller, who must not simply take one.
    """
    reply = _written_out(reply)
    found, cut = find_json(reply)
    candidates = [f for f in _after_thinking(reply, found) if is_answer(f.value)]
    if not candidates:
        return Answers((), cut)
    held = _held(material, tuple(words))
    distinct: list[Any] = []
    for candidate in candidates:
        raw = _compact(reply[candidate.start : candidate.end])
        if candidate.value not in distinct and not held(raw, candidate.value):
            distinct.append(candidate.value)
    quoted = any(held(_compact(reply[c.start : c.end]), c.value) for c in candidates)
    return Answers(tuple(distinct), cut, quoted)


def _written_out(reply: str) -> str:
    """What a reply says that is a JSON string as a whole: some models write their answer in JSON twice."""
    bare = reply.strip()
    if not (bare.startswith('"') and bare.endswith('"')):
        return reply
    try:
        said = json.loads(bare)
    except ValueError:
        return reply
    return said if isinstance(said, str) else reply


def _after_thinking(text: str, found: list[Found]) -> list[Found]:
    """Values outside the thinking. Tags inside a value are text of that value."""
    if "<" not in text:
        return found
    begin = max(_tags(_THINKING_ENDS, text, found), default=0)
    ends = [at for at in _tags(_THINKING_STARTS, text, found) if at > begin]
    end = min(ends, default=len(text))
    return [f for f in found if begin <= f.start < end]


def _tags(tag: re.Pattern[str], text: str, found: list[Found]) -> list[int]:
    return [m.end() for m in tag.finditer(text) if not any(f.start <= m.start() < f.end for f in found)]


def _compact(text: str) -> str:
    return "".join(text.split())


def _held(material: Iterable[str], words: tuple[str, ...]) -> Callable[[str, Any], bool]:
    """Whether the material holds a value: the same characters, or the same value in another spelling."""
    suspects = [text for text in material if any(word in text for word in words)]
    if not suspects:
        return lambda raw, value: False
    unescaped = [*suspects, *(text.replace('\\"', '"') for text in suspects if '\\"' in text)]
    compact = [_compact(text) for text in unescaped]
    values = [found.value for text in unescaped for found in find_json(text)[0]]
    return lambda raw, value: value in values or any(raw in text for text in compact)
