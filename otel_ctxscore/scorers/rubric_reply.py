"""Reading a rubric's reply: a word that was offered or a number in 0..1, and nothing else.

A word is compared whole: `irrelevant` holds `relevant`, and an explanation may speak of every label there is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from otel_ctxscore.core.json_in_text import answers, with_any
from otel_ctxscore.core.outcomes import Reason
from otel_ctxscore.ports import JudgeError

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII)
_FIRST_CLAUSE = re.compile(r"\s*(?:label\s*[:=])?\s*([^.;\n]*)(?:[.;\n]|\Z)", re.IGNORECASE)
_NEGATIONS = ("ir", "un", "in", "im", "non", "non-", "non ", "not-")
_MARKS = "\"'`* "


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reply says: a ratio in 0..1, by which label where labels were offered."""

    ratio: float
    label: str | None = None
    note: str = ""


def read_reply(reply: str, labels: Mapping[str, float], material: Iterable[str] = ()) -> Answer:
    """The answer in a reply: a JSON object with `label` or `score`, fenced or with prose around it, or the bare word
    or number. Where labels are offered a score in place of a label is an answer too. What stands in `material`, the
    quoted texts, is no answer. Raises JudgeError, whose detail says what was wrong and quotes nothing of the reply."""
    answer = _object(reply, ("label", "score") if labels else ("score",), material)
    note = answer.get("note")
    note = note if isinstance(note, str) else ""
    if "label" not in answer or not labels:
        return Answer(_score(answer["score"]), note=note)
    word = _label(answer["label"], list(labels))
    if word is None:
        raise _unreadable(f"label must be one of {', '.join(labels)}")
    return Answer(float(labels[word]), word, note)


def _object(reply: str, keys: tuple[str, ...], material: Iterable[str]) -> dict[str, object]:
    """The one answer, as an object with any of the keys. A bare answer is that of the first one."""
    found = answers(reply, with_any(keys), keys, material)
    if found.cut:
        raise JudgeError(Reason.JUDGE_TRUNCATED, "the reply ended inside the JSON")
    first = found.values[0] if found.values else None
    if any(value.get(key) != first.get(key) for value in found.values for key in keys if first):
        raise _unreadable(f"the reply held more than one {keys[0]} and they differ")
    if first is not None:
        return dict(first)
    if found.quoted or "{" in reply:
        raise _unreadable(f"the reply held no JSON object with {keys[0]} of its own")
    return {keys[0]: reply.removeprefix("\ufeff").strip().strip(_MARKS)}


def _label(given: object, offered: Sequence[str]) -> str | None:
    """The offered word that the first clause is, or that it negates (`not relevant` for `irrelevant`)."""
    clause = _FIRST_CLAUSE.match(given) if isinstance(given, str) else None
    if clause is None:
        return None
    words = {plain(word): word for word in offered}
    said = plain(clause[1].strip(_MARKS))
    positive = said.removeprefix("not ")
    if said in words or positive == said or positive not in words:
        return words.get(said)
    opposite = [words[prefix + positive] for prefix in _NEGATIONS if prefix + positive in words]
    return opposite[0] if len(opposite) == 1 else None


def plain(word: str) -> str:
    """The word as labels are compared: without case and outer or doubled space."""
    return " ".join(word.casefold().split())


def _score(given: object) -> float:
    """A number in 0..1, quoted or not. True, `8/10` and `0,8` are none."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    quoted = isinstance(given, str) and _NUMBER.fullmatch(given.strip())
    number = float(str(given)) if is_number or quoted else math.nan
    if not 0 <= number <= 1:
        raise _unreadable("score must be a number from 0 to 1")
    return number


def _unreadable(why: str) -> JudgeError:
    return JudgeError(Reason.JUDGE_UNREADABLE, why)
