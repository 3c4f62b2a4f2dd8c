"""Label values from outside, made safe: clean, short, few."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

OTHER = "other"
"""What a value beyond the cap is counted as."""
MAX_LENGTH = 100
"""Longest label value. A longer one ends in `~` and eight hex digits of its hash, so that two stay two."""
MAX_EXEMPLAR = 128
"""Characters (not bytes) that names and values of one exemplar may have together: OpenMetrics 1.0."""

_UNCLEAN = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def clean(value: str) -> str:
    """The value without control characters and lone surrogates (each becomes U+FFFD), cut to MAX_LENGTH."""
    text = _UNCLEAN.sub("\ufffd", value)
    if len(text) <= MAX_LENGTH:
        return text
    digest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return f"{text[: MAX_LENGTH - 9]}~{digest}"


class Cap:
    """The first `limit` values of a label; whatever comes later is `other`. A restart begins anew."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: dict[str, str] = {}

    def admit(self, value: str) -> str:
        """The value to count under: `value` cleaned, or `other`."""
        known = self._known.get(value)
        if known is not None:
            return known
        cleaned = clean(value)
        if cleaned not in self._known and len(self._known) >= self._limit:
            return OTHER
        self._known[cleaned] = cleaned
        return cleaned


def exemplar(labels: Mapping[str, str]) -> dict[str, str] | None:
    """As many of the labels, in their order, as an exemplar may hold; None where not even the first fits.

    The client library checks the length after it has counted the sample, so a caller that tries again would count
    twice: hence the check beforehand.
    """
    fitting: dict[str, str] = {}
    room = MAX_EXEMPLAR
    for name, value in labels.items():
        room -= len(name) + len(value)
        if room < 0:
            break
        fitting[name] = _UNCLEAN.sub("\ufffd", value)
    return fitting or None
