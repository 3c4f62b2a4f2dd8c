"""Finds the answer in a language model's reply: JSON in prose, in fences, after a thinking block.

What a model writes is not trusted to be the answer only because it parses: a reply may quote the material it
was given, and that material may hold an answer of its own. Hence the rules of `answers`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from otel_ctxscore.core.thinking import spoken, thinking

_MAX_UNCLOSED = 8
"""Brackets without an end that are passed over in one text: each costs a walk to its end."""
_MAX_BROKEN = 2_000
"""Brackets that are closed and hold no JSON: each costs the parser a count of the lines before it."""
_MAX_ANSWERS = 100
"""Different answers in one reply that are looked at: each is looked for in the material."""
_MAX_ENVELOPES = 4

_BRACKET = re.compile(r"[{\[]")
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
"""A quote that nothing closes runs to the end: looked at again from each of its characters, it would take a minute."""
_STARTS_LIKE_JSON = re.compile(r'[{\[]\s*(?:["{\[]|$)')
_LOOSE = re.compile(
    r'"(?:\\.|[^"\\])*+"|(?P<single>\'(?:\\.|[^\'\\])*+\')|(?P<word>\b(?:True|False|None)\b)|(?P<comma>,(?=\s*[}\]]))',
    re.DOTALL,
)
_IN_SINGLE_QUOTES = re.compile(r'\\.|"', re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}
_ENVELOPES = {
    "answer", "arguments", "data", "evaluation", "function", "input", "json", "judgement", "judgment", "output",
    "parameters", "response", "result", "results",
}  # fmt: skip
"""Names under which models put the whole of what they were asked for."""


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

    A comma before a closing bracket, and Python's quotes and constants, are read too: they can mean one thing only.
    What lies inside a broken value is not looked for: half an answer is none.
    """
    found: list[Found] = []
    at = unclosed = broken = 0
    while unclosed < _MAX_UNCLOSED and broken < _MAX_BROKEN and (bracket := _BRACKET.search(text, at)) is not None:
        start = bracket.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
            found.append(Found(value, start, at))
        except (ValueError, RecursionError):
            end = _closing(text, start)
            if end is None and _STARTS_LIKE_JSON.match(text, start):
                return found, True
            found += () if end is None else _loose(text, start, end)
            unclosed += end is None
            broken += 1
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


def _loose(text: str, start: int, end: int) -> Iterator[Found]:
    """The value of what is no JSON but for its commas, quotes and constants."""
    try:
        value = _DECODER.decode(_LOOSE.sub(_strictly, text[start:end]))
    except (ValueError, RecursionError):
        return
    yield Found(value, start, end)


def _strictly(token: re.Match[str]) -> str:
    if token["comma"]:
        return ""
    if token["single"]:
        inner = token["single"][1:-1]
        return f'"{_IN_SINGLE_QUOTES.sub(_requoted, inner)}"'
    return _WORDS.get(token[0], token[0])


def _requoted(escape: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(escape[0], escape[0])


def with_any(keys: Sequence[str]) -> Callable[[Any], bool]:
    """Whether a value is an object with any of these keys."""
    return lambda value: isinstance(value, dict) and any(key in value for key in keys)


def answers(reply: str, is_answer: Callable[[Any], bool], words: Iterable[str], material: Iterable[str]) -> Answers:
    """The values of `reply` that have the form of an answer and are not quoted from `material`.

    An answer may stand in an envelope (`{"result": ...}`, the arguments of a call). Left out are values inside
    thinking, and values that the material holds too, spaces aside: a model that repeats a passage has not judged
    it. `words` are the keys of an answer; material without any of them cannot hold one. Several values may remain;
    which one counts is for the caller, who must not simply take one.
    """
    reply = _written_out(reply)
    found, cut = _outside_thinking(reply)
    try:
        candidates = _candidates(found, is_answer)
        if not 0 < len(candidates) <= _MAX_ANSWERS:
            return Answers((), cut)
        held = _held(material, tuple(words), is_answer)
    except RecursionError:  # nested as deep as the parser goes, which is no answer's form
        return Answers((), cut)
    own = [one.value for key, one in candidates.items() if not held(key, _compact(reply[one.start : one.end]))]
    return Answers(tuple(own), cut, len(own) < len(candidates))


def _candidates(found: Iterable[Found], is_answer: Callable[[Any], bool]) -> dict[str, Found]:
    """The different answers by their spelling, where they stand first."""
    candidates: dict[str, Found] = {}
    for one in found:
        value = _opened(one.value, is_answer)
        if value is not None:
            candidates.setdefault(_canonical(value), Found(value, one.start, one.end))
    return candidates


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


def _outside_thinking(text: str) -> tuple[list[Found], bool]:
    """As `find_json`, of what is no thinking. Marks of thinking inside a value are text of that value."""
    found, cut = find_json(text)
    thought = thinking(text, (range(one.start, one.end) for one in found))
    if not thought:
        return found, cut
    found, cut = [], False
    for part in spoken(text, thought):
        here, ends_inside = find_json(text[part.start : part.stop])
        found += [Found(one.value, part.start + one.start, part.start + one.end) for one in here]
        cut = cut or ends_inside
    return found, cut


def _opened(value: Any, is_answer: Callable[[Any], bool]) -> Any:
    """The answer that a value is, or that lies in it as in an envelope; None where there is none."""
    for _ in range(_MAX_ENVELOPES):
        if is_answer(value):
            return value
        if isinstance(value, str):
            inner = _whole(value)
        elif isinstance(value, dict):
            inner = [one for key, one in value.items() if key.casefold() in _ENVELOPES]
        else:
            inner = value if isinstance(value, list) else []
        if len(inner) != 1:
            return None
        [value] = inner
    return None


def _whole(text: str) -> list[Any]:
    """The JSON that a text is from its beginning to its end, or nothing."""
    try:
        return [_DECODER.decode(text.strip())]
    except (ValueError, RecursionError):
        return []


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _compact(text: str) -> str:
    return "".join(text.split())


def _held(
    material: Iterable[str], words: tuple[str, ...], is_answer: Callable[[Any], bool]
) -> Callable[[str, str], bool]:
    """Whether the material holds a value: the same characters, or the same value in another spelling."""
    suspects = [text for text in material if any(word in text for word in words)]
    unescaped = [*suspects, *(text.replace('\\"', '"') for text in suspects if '\\"' in text)]
    compact = [_compact(text) for text in unescaped]
    values = {
        _canonical(value)
        for text in unescaped
        for found in find_json(text)[0]
        for value in _within(found.value)
        if is_answer(value)
    }
    return lambda key, raw: key in values or any(raw in text for text in compact)


def _within(value: Any) -> Iterator[Any]:
    """A value and all that is nested in it."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
