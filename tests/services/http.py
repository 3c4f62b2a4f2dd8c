"""HTTP to servers on loopback, without a dependency and past any proxy of the environment."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get_text(url: str, params: Mapping[str, str] | None = None, timeout: float = 10) -> str:
    """The body of a successful GET. OSError (HTTPError included) otherwise."""
    query = f"?{urllib.parse.urlencode(params)}" if params else ""
    with _opener.open(url + query, timeout=timeout) as response:
        return str(response.read().decode())


def get_json(url: str, params: Mapping[str, str] | None = None, timeout: float = 10) -> Any:
    """The same, parsed."""
    return json.loads(get_text(url, params, timeout))


def post(url: str, body: bytes = b"", content_type: str = "application/json", timeout: float = 10) -> str:
    """The body of the answer to a POST. OSError otherwise."""
    request = urllib.request.Request(url, data=body, headers={"Content-Type": content_type}, method="POST")
    with _opener.open(request, timeout=timeout) as response:
        return str(response.read().decode())


def answers(url: str) -> bool:
    """Whether a GET is answered with success; for readiness, where an OSError means no as well."""
    get_text(url, timeout=5)
    return True
