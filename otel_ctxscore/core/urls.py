"""What a URL has to have to be reached."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_SPACE = re.compile(r"\s")


def is_url(text: str) -> bool:
    """Whether a text is a URL of http or https with a host and, where it names one, a port that can be."""
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and not _SPACE.search(text)
        )
    except ValueError:
        return False
