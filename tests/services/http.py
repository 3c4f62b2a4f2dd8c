"""HTTP to servers on loopback, without a dependency and past any proxy of the environment."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class HttpError(OSError):
    """An answer that is no success: its status and the start of its body."""

    def __init__(self, url: str, status: int, body: str) -> None:
        super().__init__(f"{url} answered {status}: {body[:500]}")
        self.status = status
        self.body = body


def send(request: urllib.request.Request, timeout: float = 10) -> str:
    """The body of a successful answer; HttpError for another, OSError if there is none."""
    try:
        with _opener.open(request, timeout=timeout) as response:
            return str(response.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            body = error.read().decode(errors="replace")
        raise HttpError(request.full_url, error.code, body) from None


def get_text(url: str, params: Mapping[str, str] | None = None, timeout: float = 10) -> str:
    """The body of the answer to a GET."""
    query = f"?{urllib.parse.urlencode(params)}" if params else ""
    return send(urllib.request.Request(url + query), timeout)


def get_json(url: str, params: Mapping[str, str] | None = None, timeout: float = 10) -> Any:
    """The same, parsed."""
    return json.loads(get_text(url, params, timeout))


def post(url: str, body: bytes = b"", content_type: str = "application/json", timeout: float = 10) -> str:
    """The body of the answer to a POST."""
    headers = {"Content-Type": content_type}
    return send(urllib.request.Request(url, data=body, headers=headers, method="POST"), timeout)


def answers(url: str) -> bool:
    """Whether a GET is answered with success; for readiness, where an OSError means no as well."""
    get_text(url, timeout=5)
    return True
