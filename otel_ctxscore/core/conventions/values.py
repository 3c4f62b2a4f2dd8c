"""Attribute values as text and as numbers, and texts that stand in place of a text."""

from __future__ import annotations

import json
import math
import re

from otel_ctxscore.core.spans import Value

_ORNAMENTED = re.compile(
    r"[\[<({_*#\s]+(?:content[ _-]?)?(?:redacted|masked|hidden|filtered|scrubbed|removed|omitted|elided)"
    r"[^\n]{0,60}[\]>)}_*#\s]+",
    re.IGNORECASE,
)
_BLACKED_OUT = re.compile(r"redacted|[*█•]{3,}", re.IGNORECASE)
_OBJECT_REPR = re.compile(
    r"<[^<>\n]{0,200}(?: object\b| at 0x)[^\n]*>|<[A-Z]\w{2,60}\(.*\)>|"
    r"\[?'?[A-Z]\w{2,60}\(\s*(?:_?[a-z]\w{0,40}=|<).*\)'?\]?",
    re.DOTALL,
)
_CUT = re.compile(r"(?:\.{3}|…)?\s*[\[(<]\s*(?:\.{3}\s*)?truncated\b[^\])>]{0,40}[\])>]\s*\Z", re.IGNORECASE)
_NOTHING_FOUND = re.compile(
    r"(?:sorry,? )?(?:there (?:are|were) )?(?:no|0|zero) (?:relevant |matching |similar |search |such )*"
    r"(?:results?|documents?|docs|matches|match|information|content|passages?|chunks?|entries|records|hits|articles)"
    r"(?: (?:was|were|have been))?(?: (?:found|available|returned|retrieved))?"
    r"(?: (?:for|matching|in|with|on) [^\n]{1,80})?[.!]*",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"(?:successfully )?(?:found|retrieved|returned|fetched)?:? ?\d{1,6} (?:relevant |matching |similar |search )*"
    r"(?:results?|documents?|docs|matches|passages?|chunks?|entries|records|hits|articles|nodes|items)"
    r"(?: (?:were )?(?:found|retrieved|returned))?[.!]*",
    re.IGNORECASE,
)
_BLANK_WORDS = frozenset({"", "null", "none", "undefined", "nan"})
_LONGEST_PLACEHOLDER = 120
_LONGEST_REPR = 100_000


def text_of(value: Value) -> str:
    """Any attribute value as text: bytes as UTF-8, lists and maps as JSON, nothing as ''."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else _json(value)


def _json(value: Value) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=text_of)
    except (RecursionError, TypeError, ValueError):
        return ""


def clean(text: str) -> str:
    """`text` without lone surrogates, which no encoder takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def number_of(value: Value) -> float | None:
    """A finite number, also where it is quoted; None for all else (booleans, NaN, infinities)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def whole(text: str) -> str:
    """`text` with white space in a row as one blank: what makes two texts the same."""
    return " ".join(text.split())


def is_blank(text: str) -> bool:
    return text.strip().lower() in _BLANK_WORDS


def says_nothing_found(text: str) -> bool:
    """A tool's own words for an empty result, such as `No results found.`."""
    bare = text.strip()
    return len(bare) <= _LONGEST_PLACEHOLDER and bool(_NOTHING_FOUND.fullmatch(bare))


def stands_for_documents(text: str) -> bool:
    """What is written in place of documents: their number, or what Python prints for an object."""
    bare = text.strip()
    return is_object_repr(bare) or (len(bare) <= _LONGEST_PLACEHOLDER and bool(_COUNT.fullmatch(bare)))


def is_redacted(text: str) -> bool:
    """A placeholder that stands in place of the whole text, such as `__REDACTED__`."""
    bare = text.strip()
    if not bare or len(bare) > _LONGEST_PLACEHOLDER:
        return False
    return bool(_ORNAMENTED.fullmatch(bare) or _BLACKED_OUT.fullmatch(bare))


def is_object_repr(text: str) -> bool:
    """What Python prints for an object (a generator, a message class): no text that anybody wrote."""
    bare = text.strip()
    return bare[:1] in "<['" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" and bool(_OBJECT_REPR.fullmatch(bare[:_LONGEST_REPR]))


def is_cut(text: str) -> bool:
    """The text ends in a mark that says it was cut."""
    return bool(_CUT.search(text[-120:]))


def is_said(text: str | None) -> bool:
    """A text that somebody wrote or a model gave: not blank, no placeholder, no printed object."""
    return text is not None and not is_blank(text) and not is_redacted(text) and not is_object_repr(text)
