"""The HTTP header Retry-After (RFC 9110, 10.2.3)."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds from `now` (Unix time) that the header asks for, or None where it is absent, broken or negative.

    Both forms are read: a number of seconds, and an HTTP date. A date in the past is 0.
    """
    if value is None:
        return None
    text = value.strip()
    if text.replace(".", "", 1).isdecimal() and text.isascii():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    if date.tzinfo is None:  # "-0000" says that the zone is not known; HTTP dates are always GMT
        date = date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - now)
