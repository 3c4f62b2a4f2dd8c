"""The parameters of a request as a question: what is wrong with them is said, and nothing is guessed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from otel_ctxscore.config.values import seconds
from otel_ctxscore.core.history import MAX_LIMIT, RunQuery
from otel_ctxscore.core.outcomes import Reason, TraceOutcome

MOST_PAGES = 10_000
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
    now = time.time() if now is None else now
    sort = asked.get("sort", "worst")
    if sort not in ("worst", "newest"):
        raise BadQuestion(f"sort is {sort!r}", "sort is worst or newest")
    if ("segment" in asked) != ("value" in asked):
        raise BadQuestion("segment and value go together", "give both, or neither")
    since, until = moment(asked, "since", now), moment(asked, "until", now)
    if since is not None and until is not None and until <= since:
        raise BadQuestion(f"until is {asked['until']!r}, which is not after since", "since is the earlier of the two")
    return RunQuery(
        service=asked.get("service"),
        segment=asked.get("segment"),
        value=asked.get("value"),
        scorer=asked.get("scorer"),
        below=_number(asked, "below"),
        outcome=_one_of(asked, "outcome", TraceOutcome),
        reason=_one_of(asked, "reason", Reason),
        since=since,
        until=until,
        sort="newest" if sort == "newest" else "worst",
        limit=whole(asked, "limit", 50, MAX_LIMIT),
        cursor=asked.get("cursor"),
    )


def known(given: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """The parameters that are not empty. Raises BadQuestion for a name that is none, since a filter that is not
    applied shows what was not asked for."""
    asked = single(given)
    for name in asked:
        if name not in names:
            hint = f"there are {', '.join(names)}" if names else "there are none here"
            raise BadQuestion(f"there is no parameter {name[:100]!r}", hint)
    return {name: value.strip() for name, value in asked.items() if value.strip()}


def single(given: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a request by name. Raises BadQuestion for a name that stands there more than once, since only
    one of its values would be applied."""
    found: dict[str, str] = {}
    for name, value in given.items():
        if name in found:
            raise BadQuestion(f"{name[:100]} stands there more than once", "give it once")
        found[name] = value
    return found


def whole(given: Mapping[str, str], name: str, default: int, most: int, least: int = 1) -> int:
    """A whole number within bounds. Raises BadQuestion."""
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise BadQuestion(f"{name} is {text!r}", f"{name} is a whole number from {least} to {most}")
    return int(text)


def paged(given: Mapping[str, str], default: int, most: int) -> tuple[int, int]:
    """How many rows `limit` asks for, and how many stand before those of its `page`. Raises BadQuestion."""
    limit = whole(given, "limit", default, most)
    return limit, limit * (whole(given, "page", 1, MOST_PAGES) - 1)


def moment(given: Mapping[str, str], name: str, now: float | None = None) -> float | None:
    """Unix seconds of an RFC 3339 time, of a date, or of a duration before now; `since` is before now. Raises
    BadQuestion."""
    text = given.get(name)
    if text is None:
        return None
    now = time.time() if now is None else now
    found = _moment(text, now)
    if found is None:
        raise BadQuestion(
            f"{name} is {text[:100]!r}", f"{name} is 1h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z, from 1970 on"
        )
    if name == "since" and found >= now:
        raise BadQuestion(f"since is {text!r}, which is not before now", "since is 1h, 7d or a time in the past")
    return found


def _moment(text: str, now: float) -> float | None:
    try:
        found = now - seconds(text)
    except ValueError:
        try:
            # A plus sign that was not escaped in the URL arrives as a space.
            told = datetime.fromisoformat(text.replace(" ", "+"))
            found = (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    return found if found >= 0 else None


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
        found = -1.0
    if not 0 <= found <= 1:  # nor is NaN
        raise BadQuestion(f"{name} is {given[name]!r}", f"{name} is a score from 0 to 1, before any scale")
    return found


def _one_of(given: Mapping[str, str], name: str, kind: type[E]) -> E | None:
    if name not in given:
        return None
    try:
        return kind(given[name])
    except ValueError:
        raise BadQuestion(f"{name} is {given[name]!r}", f"{name} is one of {', '.join(kind)}") from None
