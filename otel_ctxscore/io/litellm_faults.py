"""What litellm's exceptions mean for the judges.

Their messages can hold the request (prompt text, a key in a URL or a header) and go nowhere. What is told is the
class, the status and the provider's error code, where it has the form of one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from otel_ctxscore.completion import CompletionError, Fault
from otel_ctxscore.core.retry_after import retry_after

_BY_CLASS = {
    "ContentPolicyViolationError": Fault.REFUSED,
    "RejectedRequestError": Fault.REFUSED,
    "AuthenticationError": Fault.UNAUTHORISED,
    "PermissionDeniedError": Fault.UNAUTHORISED,
    "PaymentRequiredError": Fault.UNAUTHORISED,
    "RateLimitError": Fault.BUSY,
    "NotFoundError": Fault.REJECTED,
    "BadRequestError": Fault.REJECTED,
    "UnprocessableEntityError": Fault.REJECTED,
    "Timeout": Fault.DOWN,
    "APIConnectionError": Fault.DOWN,
    "InternalServerError": Fault.DOWN,
}
_BY_STATUS = {
    401: Fault.UNAUTHORISED,
    402: Fault.UNAUTHORISED,
    403: Fault.UNAUTHORISED,
    408: Fault.DOWN,
    429: Fault.BUSY,
}
_HINTS = {
    "ContextWindowExceededError": "the prompt is too long for the model",
    "NotFoundError": "unknown model, or wrong api_base",
    "AuthenticationError": "the key is missing or wrong",
    "PermissionDeniedError": "the key has no permission for this model",
    "PaymentRequiredError": "the account has no credit",
    "RateLimitError": "rate limit",
    "ContentPolicyViolationError": "content filter",
}
_CODE = re.compile(r"[a-z][a-z_]{2,40}", re.ASCII)
_FILTERED = re.compile(r"content[_ ]?filter|content management policy|responsibleaipolicy|safety", re.IGNORECASE)
_UNACCEPTED = {
    "structure": re.compile(
        r"response_format|json_schema|tool_choice|\btools?\b|guided|structured output", re.IGNORECASE
    ),
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "max_tokens": re.compile(r"max_completion_tokens"),
}


def completion_error(error: Exception, now: float) -> CompletionError:
    """The error of the port. `now` is Unix time, for a Retry-After that is a date."""
    fault = _fault(error)
    return CompletionError(fault, _detail(error), retry_after(_header(error, "retry-after"), now))


def unaccepted(error: Exception) -> set[str]:
    """Which of our optional parameters a rejected call names: `structure`, `temperature`, `max_tokens`."""
    if _fault(error) is not Fault.REJECTED:
        return set()
    text = str(error)
    return {name for name, pattern in _UNACCEPTED.items() if pattern.search(text)}


def _classes(error: Exception) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__]


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _fault(error: Exception) -> Fault:
    """By the class first, then by the status: litellm makes some permanent errors a connection error."""
    status = _status(error)
    if status == 400 and _FILTERED.search(_code(error) or ""):
        return Fault.REFUSED
    found = next((_BY_CLASS[name] for name in _classes(error) if name in _BY_CLASS), None)
    if found is not None and found is not Fault.DOWN:
        return found
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if found is None and status is not None and 400 <= status < 500:
        return Fault.REJECTED
    return Fault.DOWN


def _detail(error: Exception) -> str:
    name = type(error).__name__
    hint = next((_HINTS[kind] for kind in _classes(error) if kind in _HINTS), "")
    parts = [name, str(_status(error) or ""), _code(error) or ""]
    line = " ".join(part for part in parts if part)
    return f"{line} ({hint})" if hint else line


def _code(error: Exception) -> str | None:
    """The provider's error code or type, such as `model_not_found`."""
    body = getattr(error, "body", None)
    inner: Any = body.get("error", body) if isinstance(body, Mapping) else {}
    given = [getattr(error, "code", None), *(inner.get(key) for key in ("code", "type") if isinstance(inner, Mapping))]
    return next((code for code in given if isinstance(code, str) and _CODE.fullmatch(code)), None)


def _header(error: Exception, name: str) -> str | None:
    """A header of the answer, wherever litellm kept it."""
    response = getattr(error, "response", None)
    for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
        if isinstance(headers, Mapping) and headers.get(name) is not None:
            return str(headers[name])
    return None
