"""Errors of the admin address: `{"error": ..., "hint": ...}`, and a page for who reads pages."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from aiohttp import web

from otel_ctxscore.core.errors import StateError
from otel_ctxscore.web.questions import BadQuestion
from otel_ctxscore.web.rendering import page, root_of

log = logging.getLogger(__name__)
Answerer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def error(status: int, what: str, hint: str, **headers: str) -> web.Response:
    """An answer that says what is wrong and what to do about it."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.json_response({"error": what, "hint": hint}, status=status, headers=names)


class Refused(Exception):  # noqa: N818 -- a state of the service, not a fault
    """What was asked cannot be done now, and nothing has changed. `hint` says what to do; `status` is that of HTTP."""

    def __init__(self, status: int, what: str, hint: str) -> None:
        super().__init__(what)
        self.status = status
        self.hint = hint


@web.middleware
async def told(request: web.Request, handler: Answerer) -> web.StreamResponse:
    """Whatever goes wrong is told in that form; a fault of our own is logged with its trace back."""
    try:
        return await handler(request)
    except BadQuestion as refusal:
        # Of a view, for only those and the API read parameters.
        return _answer(request, 400, str(refusal), refusal.hint, as_page=not request.path.startswith("/api/"))
    except Refused as refusal:
        return _answer(request, refusal.status, str(refusal), refusal.hint)
    except StateError as fault:
        return _answer(request, 503, str(fault), "see state.path and state.max_size, and the log of the service")
    except web.HTTPMethodNotAllowed as refusal:
        allowed = ", ".join(sorted(refusal.allowed_methods))
        return error(405, f"{request.method} is not allowed here", f"allowed: {allowed}", Allow=allowed)
    except web.HTTPNotFound:
        return _answer(request, 404, f"there is no {request.path}", "the page is at /, metrics at /metrics")
    except web.HTTPException as refusal:
        return _answer(request, refusal.status, refusal.reason, "see docs/http.md")
    except web.RequestPayloadError:
        return _answer(request, 400, "the body cannot be read", "send it whole, and as its headers say")
    except Exception as fault:
        if isinstance(fault, ConnectionResetError) and request.transport is None:
            return error(400, "the request broke off", "send it whole")  # which nobody reads any more
        log.exception("the admin address failed at %s", request.path)
        return _answer(request, 500, "internal error", "the log of the service has the trace back")


def _answer(request: web.Request, status: int, what: str, hint: str, *, as_page: bool = False) -> web.Response:
    reads_pages = "text/html" in request.headers.get("Accept", "") and not request.path.startswith("/api/")
    if not reads_pages and not as_page:
        return error(status, what, hint)
    return page("error.html", "", root=root_of(request.path), status=status, what=what, hint=hint)
