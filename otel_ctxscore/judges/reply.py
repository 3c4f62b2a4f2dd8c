"""Reads what a language model answered into verdicts, or says what is wrong with it.

The form is `{"verdicts": [{"index", "useful", "relevance", "used", "note"}], "missing": [...]}`. Nothing is
guessed: a word that was not offered is no verdict, an index that was not asked is no context, and two different
answers in one reply are no answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from otel_ctxscore.core.json_in_text import answers, with_any
from otel_ctxscore.core.model import LEVELS, Level, Verdict
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.core.thinking import said

_KEYS = ("verdicts", "verdict", "useful", "relevance", "used", "missing")
_has_key = with_any(_KEYS)
_YES = {"yes": True, "true": True, "no": False, "false": False}
_NOTHING = {"none", "nothing", "nothingismissing", "n/a", "null", "-"}
"""What models write in place of an empty list. It would else count as a missing piece."""
_NUMBER = re.compile(r"\d{1,3}(\.\d{1,18})?|\.\d{1,18}", re.ASCII)
_LABEL = re.compile(r"(?:context[ _]?)?\[?(\d{1,6})\]?", re.ASCII | re.IGNORECASE)
_NO_JSON = "the reply held no JSON object of the form that was asked for"
_LONGEST = 2_000_000
"""Characters of a reply that are read. The largest limit that is asked for gives some half of it."""
_NOTE_LENGTH = 500
_MISSING_ITEMS = 50
_REFUSAL = re.compile(
    r"\s*(?:(?:i['’]?m|i am) (?:sorry|unable|not able)|sorry\b|i apologi[sz]e|"
    r"(?:unfortunately, )?i (?:can['’]?t|cannot)|i won['’]t|i will not|i must decline|as an ai)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A whole answer: a verdict for each context, in order, and what is missing (None: not said)."""

    verdicts: tuple[Verdict, ...]
    missing: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Wrong:
    """No answer: the reason if it stays so, and what to tell the model. `what` quotes nothing of the reply."""

    reason: Reason
    what: str


_TOO_LONG = Wrong(Reason.JUDGE_UNREADABLE, "the reply was many times longer than what was asked for")


class _UnfitError(Exception):
    """A part of the answer is not what was asked for."""


def read(text: str, contexts: int, material: Iterable[str] = (), *, with_response: bool = True) -> Reading | Wrong:
    """The answer in `text` about `contexts` contexts, or what is wrong.

    `material` is every text that was quoted to the model. Of several answers that differ in any verdict none is
    taken. Without a response `used` is not kept: nothing could have been used.
    """
    if len(text) > _LONGEST:
        return _TOO_LONG
    found = answers(text, _is_answer, _KEYS, material)
    if not found.values:
        return _no_answer(text, cut=found.cut, quoted=found.quoted)
    if found.cut:
        return Wrong(Reason.JUDGE_TRUNCATED, "the reply ended inside the JSON")
    try:
        readings = [_reading(value, contexts, with_response) for value in found.values]
    except _UnfitError as error:
        return Wrong(Reason.JUDGE_INCOMPLETE, str(error))
    if any(_meaning(reading) != _meaning(readings[0]) for reading in readings):
        return Wrong(Reason.JUDGE_UNREADABLE, "the reply held more than one answer and they differ")
    return readings[-1]


def one_object(text: str, schema: Mapping[str, object], material: Iterable[str] = ()) -> str | Wrong:
    """For a rubric: the JSON of the one object with a key of the schema, or the text, its thinking aside, where it
    holds no such thing."""
    if len(text) > _LONGEST:
        return _TOO_LONG
    properties = schema.get("properties")
    keys = tuple(properties) if isinstance(properties, Mapping) else ()
    found = answers(text, with_any(keys), keys, material)
    if len(found.values) == 1 and not found.cut:
        return json.dumps(found.values[0], ensure_ascii=False)
    if found.values and not found.cut:
        return Wrong(Reason.JUDGE_UNREADABLE, "the reply held more than one answer and they differ")
    wrong = _no_answer(text, cut=found.cut, quoted=found.quoted)
    return said(text) if wrong.what == _NO_JSON else wrong


def is_refusal(text: str) -> bool:
    """Whether a reply without an answer says that the model will not judge."""
    return bool(_REFUSAL.match(text))


def _no_answer(text: str, *, cut: bool, quoted: bool) -> Wrong:
    if cut:
        return Wrong(Reason.JUDGE_TRUNCATED, "the reply ended inside the JSON")
    if quoted:
        return Wrong(Reason.JUDGE_UNREADABLE, "the only answer in the reply was quoted from the material")
    spoken = said(text)
    if not spoken:
        return Wrong(Reason.JUDGE_UNREADABLE, "the reply was empty")
    if is_refusal(spoken):
        return Wrong(Reason.JUDGE_REFUSED, "the reply held no JSON")
    return Wrong(Reason.JUDGE_UNREADABLE, _NO_JSON)


def _is_answer(value: Any) -> bool:
    """An object with a key of an answer, a list of verdicts, or verdicts by index."""
    if isinstance(value, dict):
        return _has_key(value) or (all(map(_labelled, value)) and _is_answer([*value.values()]))
    return isinstance(value, list) and bool(value) and all(map(_has_key, value))


def _labelled(key: str) -> bool:
    return _index(key) >= 0


def _meaning(reading: Reading) -> object:
    return [(v.useful, v.relevance, v.used) for v in reading.verdicts], reading.missing


def _reading(value: Any, contexts: int, with_response: bool) -> Reading:
    if isinstance(value, list) and len(value) == 1 and "verdicts" in value[0]:
        [value] = value
    answer = value if _has_key(value) else {"verdicts": value}
    entries = _in_order(_listed(answer.get("verdicts")), contexts)
    verdicts = tuple(_verdict(entry, with_response) for entry in entries)
    _same_fields(verdicts)
    return Reading(verdicts, _missing(answer.get("missing")))


def _listed(entries: Any) -> Any:
    """Verdicts by index as a list; anything else as it is."""
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        return entries
    if any(_index(entry.get("index", key)) != _index(key) for key, entry in entries.items()):
        raise _UnfitError('the keys of "verdicts" and the indexes in it contradict each other')
    return [{**entry, "index": key} for key, entry in entries.items()]


def _in_order(entries: Any, contexts: int) -> list[dict[str, Any]]:
    """The entries by index. The set must be exactly 0..k-1, or 1..k, which is what some models count."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _UnfitError('"verdicts" was not a list of objects')
    indexes = [_index(entry.get("index")) for entry in entries]
    for first in (0, 1):
        if sorted(indexes) == list(range(first, first + contexts)):
            return [entry for _, entry in sorted(zip(indexes, entries, strict=True), key=lambda pair: pair[0])]
    shown = ", ".join("none" if index < 0 else str(index) for index in indexes[:50]) or "none at all"
    raise _UnfitError(f"the indexes must be 0 to {contexts - 1}, each exactly once; they were {shown}")


def _index(value: Any) -> int:
    """A whole number, or the label `[3]` as it stands in the prompt. -1 for anything else."""
    if isinstance(value, str):
        match = _LABEL.fullmatch(value.strip())
        return int(match[1]) if match else -1
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1_000_000:
        return -1
    return int(value) if value == int(value) else -1


def _verdict(entry: dict[str, Any], with_response: bool) -> Verdict:
    useful, alias = _yes(entry.get("useful"), "useful"), _yes(entry.get("verdict"), "verdict")
    if useful is not None and alias is not None and useful != alias:
        raise _UnfitError('"useful" and "verdict" contradict each other')
    note = entry.get("note")
    return Verdict(
        useful=alias if useful is None else useful,
        relevance=_level(entry.get("relevance")),
        used=_yes(entry.get("used"), "used") if with_response else None,
        note=" ".join(note.split())[:_NOTE_LENGTH] if isinstance(note, str) else "",
    )


def _word(text: str) -> str:
    return "".join(text.split()).casefold()


def _yes(value: Any, field: str) -> bool | float | None:
    """true/false, "yes"/"no", 1/0 or a probability, also in quotes. None where it is absent."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = _word(value)
        if word in _YES:
            return _YES[word]
        value = float(word) if _NUMBER.fullmatch(word) else math.nan
    if isinstance(value, int | float) and 0 <= value <= 1:
        return bool(value) if value in (0, 1) else float(value)
    raise _UnfitError(f'"{field}" must be true, false or a probability from 0 to 1')


def _level(value: Any) -> Level | None:
    if value is None:
        return None
    word = _word(value) if isinstance(value, str) else ""
    if word not in LEVELS:
        raise _UnfitError('"relevance" must be one of high, medium, low, none')
    return word


def _same_fields(verdicts: Sequence[Verdict]) -> None:
    """A field stands in all verdicts or in none; and something must stand there."""
    given = {field: [getattr(v, field) is not None for v in verdicts] for field in ("useful", "relevance", "used")}
    for field, present in given.items():
        if any(present) and not all(present):
            raise _UnfitError(f'"{field}" was absent from some verdicts')
    if not any(any(present) for present in given.values()):
        raise _UnfitError("the verdicts held none of useful, relevance, used")


def _missing(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(piece, str) for piece in value):
        raise _UnfitError('"missing" must be a list of strings')
    pieces = (" ".join(piece.split())[:_NOTE_LENGTH] for piece in value)
    return tuple(piece for piece in pieces if piece and _word(piece) not in _NOTHING)[:_MISSING_ITEMS]
