"""What litellm's exceptions mean for the judges.

Their messages can hold the request (prompt text, a key in a URL or a header) and go nowhere. What is told is the
class, the status and the provider's error code, where it has the form of one; or, where nothing was answered, what
stood in the way. litellm calls that a status of 500 as well, which nobody sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
    409: Fault.DOWN,
    425: Fault.DOWN,
    429: Fault.BUSY,
    501: Fault.REJECTED,
    505: Fault.REJECTED,
}
_NO_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
"""Error codes under which providers answer 429 or 400 and mean 402."""
_IN_THE_WAY = {
    "gaierror": "the name of its server is not known",
    "SSLCertVerificationError": "the certificate of its server is not trusted",
    "SSLError": "its server speaks no TLS that is understood here",
    "ProxyError": "the proxy does not let it through",
    "ConnectionRefusedError": "nobody listens there",
    "ConnectError": "no connection",
    "JSONDecodeError": "what came is no JSON",
    "UnicodeDecodeError": "what came is no JSON",
    "RecursionError": "what came is no JSON",
    "DecodingError": "what came cannot be inflated",
    "ClientPayloadError": "the connection broke off",
    "HttpProcessingError": "what came is no HTTP",
    "TransportError": "the connection broke off",
    "APIConnectionError": "no connection",
}
"""By the class of what litellm's error came of, the most telling first."""
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
_MALFORMED = re.compile(r"Invalid response object|'choices' that is not a list|Empty or invalid response")
"""litellm's words for JSON that is no completion."""
_UNACCEPTED = {
    "structure": re.compile(
        r"response_format|json_schema|tool_choice|\btools?\b|guided|structured output", re.IGNORECASE
    ),
    "temperature": re.compile(r"temperature", re.IGNORECASE),
    "max_tokens": re.compile(r"max_completion_tokens"),
}


def completion_error(error: Exception, now: float) -> CompletionError:
    """The error of the port. `now` is Unix time, for a Retry-After that is a date."""
    return CompletionError(_fault(error), _detail(error), _retry_after(error, now))


def malformed(error: Exception) -> bool:
    """Whether a server answered, with JSON that is no completion: it will not do better when it is asked again."""
    return not _was_answered(error) and _in_the_way(error) is None and bool(_MALFORMED.search(str(error)))


def unaccepted(error: Exception) -> set[str]:
    """Which of our optional parameters a rejected call names: `structure`, `temperature`, `max_tokens`."""
    if _fault(error) is not Fault.REJECTED:
        return set()
    text = str(error)
    return {name for name, pattern in _UNACCEPTED.items() if pattern.search(text)}


def _classes(error: Exception) -> list[str]:
    return [kind.__name__ for kind in type(error).__mro__]


def _origins(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came of, one by one."""
    found: BaseException | None = error
    for _ in range(20):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__


def _was_answered(error: Exception) -> bool:
    """Whether its status is one that a server sent."""
    return any(type(origin).__name__ == "HTTPStatusError" for origin in _origins(error))


def _in_the_way(error: Exception) -> str | None:
    """Why there was no answer to speak of; None where there was one, or that is not known."""
    if _was_answered(error):
        return None
    names = {kind.__name__ for origin in _origins(error) for kind in type(origin).__mro__}
    return next((why for name, why in _IN_THE_WAY.items() if name in names), None)


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _fault(error: Exception) -> Fault:
    """By the class first, then by the status: litellm makes some permanent errors a connection error."""
    status, code = _status(error), _code(error) or ""
    if status == 400 and _FILTERED.search(code):
        return Fault.REFUSED
    if code in _NO_CREDIT:
        return Fault.UNAUTHORISED
    found = next((_BY_CLASS[name] for name in _classes(error) if name in _BY_CLASS), None)
    if found is not None and found is not Fault.DOWN:
        return found
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if found is None and status is not None and 300 <= status < 500:
        return Fault.REJECTED
    return Fault.DOWN


def _detail(error: Exception) -> str:
    why = _in_the_way(error)
    if why is not None:
        return why
    name = type(error).__name__
    no_credit = _HINTS["PaymentRequiredError"] if _code(error) in _NO_CREDIT else None
    hint = no_credit or next((_HINTS[kind] for kind in _classes(error) if kind in _HINTS), "")
    parts = [name, str(_status(error) or ""), _code(error) or ""]
    line = " ".join(part for part in parts if part)
    return f"{line} ({hint})" if hint else line


def _code(error: Exception) -> str | None:
    """The provider's error code or type, such as `model_not_found`."""
    body = getattr(error, "body", None)
    inner: Any = body.get("error", body) if isinstance(body, Mapping) else {}
    given = [getattr(error, "code", None), *(inner.get(key) for key in ("code", "type") if isinstance(inner, Mapping))]
    return next((code for code in given if isinstance(code, str) and _CODE.fullmatch(code)), None)


def _retry_after(error: Exception, now: float) -> float | None:
    """The stated pause in seconds; some providers state it in milliseconds as well, which is more exact."""
    exact = retry_after(_header(error, "retry-after-ms"), now)
    return retry_after(_header(error, "retry-after"), now) if exact is None else exact / 1000


def _header(error: Exception, name: str) -> str | None:
    """A header of the answer, wherever litellm kept it."""
    response = getattr(error, "response", None)
    for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
        if isinstance(headers, Mapping) and headers.get(name) is not None:
            return str(headers[name])
    return None
