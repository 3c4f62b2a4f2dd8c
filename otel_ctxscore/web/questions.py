"""The parameters of a request as a question: what is wrong with them is said, and nothing is guessed."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from otel_ctxscore.config.values import seconds
from otel_ctxscore.core.history import MAX_LIMIT, RunQuery
from otel_ctxscore.core.outcomes import Reason, TraceOutcome

E = TypeVar("E", bound=StrEnum)
RUN_PARAMETERS = (
    "service", "segment", "value", "scorer", "below", "outcome", "reason", "since", "until", "sort", "limit", "cursor",
)  # fmt: skip


class BadQuestion(Exception):  # noqa: N818 -- the asker's fault, not ours
    """A parameter that cannot be read. `hint` says how to write it."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def run_query(given: Mapping[str, str], *, now: float | None = None) -> RunQuery:
    """The question of `GET runs`. Empty parameters count as absent. Raises BadQuestion."""
    asked = known(given, RUN_PARAMETERS)
    sort = asked.get("sort", "worst")
    if sort not in ("worst", "newest"):
        raise BadQuestion(f"sort is {sort!r}", "sort is worst or newest")
    if ("segment" in asked) != ("value" in asked):
        raise BadQuestion("segment and value go together", "give both, or neither")
    return RunQuery(
        service=asked.get("service"),
        segment=asked.get("segment"),
        value=asked.get("value"),
        scorer=asked.get("scorer"),
        below=_number(asked, "below"),
        outcome=_one_of(asked, "outcome", TraceOutcome),
        reason=_one_of(asked, "reason", Reason),
        since=moment(asked, "since", now),
        until=moment(asked, "until", now),
        sort="newest" if sort == "newest" else "worst",
        limit=whole(asked, "limit", 50, MAX_LIMIT),
        cursor=asked.get("cursor"),
    )


def known(given: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """The parameters that are not empty. Raises BadQuestion for a name that is none, since a filter that is not
    applied shows what was not asked for."""
    for name in given:
        if name not in names:
            raise BadQuestion(f"there is no parameter {name!r}", f"there are {', '.join(names)}")
    return {name: value.strip() for name, value in given.items() if value.strip()}


def whole(given: Mapping[str, str], name: str, default: int, most: int, least: int = 1) -> int:
    """A whole number within bounds. Raises BadQuestion."""
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise BadQuestion(f"{name} is {text!r}", f"{name} is a whole number from {least} to {most}")
    return int(text)


def moment(given: Mapping[str, str], name: str, now: float | None = None) -> float | None:
    """Unix seconds of an RFC 3339 time, of a date, or of a duration before now. Raises BadQuestion."""
    text = given.get(name)
    if text is None:
        return None
    try:
        return (time.time() if now is None else now) - seconds(text)
    except ValueError:
        pass
    try:
        # A plus sign that was not escaped in the URL arrives as a space.
        found = datetime.fromisoformat(text.replace(" ", "+"))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise BadQuestion(f"{name} is {text!r}", f"{name} is 1h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z") from None


def trace_id(text: str) -> bytes:
    """The bytes of a trace id: 32 hex digits, also in the form of a UUID or with spaces around. Raises BadQuestion."""
    digits = text.strip().replace("-", "").lower()
    try:
        found = bytes.fromhex(digits)
    except ValueError:
        found = b""
    if len(found) != 16 or len(digits) != 32:
        raise BadQuestion(f"{text[:100]!r} is no trace id", "a trace id has 32 hex digits")
    return found


def _number(given: Mapping[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        found = float(given[name])
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise BadQuestion(f"{name} is {given[name]!r}", f"{name} is a score from 0 to 1, before any scale")
    return found


def _one_of(given: Mapping[str, str], name: str, kind: type[E]) -> E | None:
    if name not in given:
        return None
    try:
        return kind(given[name])
    except ValueError:
        raise BadQuestion(f"{name} is {given[name]!r}", f"{name} is one of {', '.join(kind)}") from None
