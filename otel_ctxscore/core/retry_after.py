"""The HTTP header Retry-After (RFC 9110, 10.2.3)."""

from __future__ import annotations

from email.utils import mktime_tz, parsedate_tz


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds from `now` (Unix time) that the header asks for, or None where it is absent, broken or negative.

    Both forms are read: a number of seconds, and an HTTP date. A date in the past is 0.
    """
    if value is None:
        return None
    text = value.strip()
    if text.replace(".", "", 1).isdecimal() and text.isascii():
        return float(text)
    date = parsedate_tz(text)
    if date is None:
        return None
    try:
        return max(0.0, mktime_tz((*date[:9], date[9] or 0)) - now)  # a date without a zone is GMT, as all in HTTP
    except (ValueError, OverflowError):
        return None
