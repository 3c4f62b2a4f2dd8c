"""Who may ask the admin address: the Host check, the login, and what a change needs beyond it."""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import logging
import secrets
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import BasicAuth, web
from aiohttp.typedefs import Middleware

from otel_ctxscore.config.outlets import Admin, AdminAuth
from otel_ctxscore.config.values import split_address
from otel_ctxscore.core.errors import ConfigError, with_its_file
from otel_ctxscore.security import bearer_token, token_in
from otel_ctxscore.web.errors import Answerer, error
from otel_ctxscore.web.questions import BadQuestion, known
from otel_ctxscore.web.rendering import page, root_of

log = logging.getLogger(__name__)

PROBES = frozenset({"/metrics", "/healthz", "/readyz"})
"""Paths that need no login unless `protect_metrics`."""
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def check(admin: Admin) -> None:
    """Raises ConfigError where the address would be open to others than this machine without a login, and where the
    login's file cannot be read."""
    host, _ = split_address(admin.listen)
    if not _is_loopback(host) and admin.auth is None and not admin.insecure:
        raise ConfigError(
            f"admin.listen: {admin.listen} is reached by others; set admin.auth, or admin.insecure: true to allow it"
        )
    if admin.auth is not None:
        try:
            _passwords(admin.auth)
        except (OSError, ValueError) as fault:
            raise ConfigError(f"admin.auth: {with_its_file(fault)}") from None


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_address(host) is not None and ipaddress.ip_address(host).is_loopback)


def _address(host: str) -> str | None:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return None


# ---- Host -------------------------------------------------------------------------------------------------------


def host_check(listen: str, hosts: Iterable[str]) -> Middleware:
    """Refuses requests for names that are not ours, so that no web page can reach the address through a name of its
    own (DNS rebinding). A name is ours if it is that of the listening address or one of `hosts`; on a wildcard
    address every literal IP address is, for no name stands behind it. The port is not compared: it may be forwarded.
    """
    listening, _ = split_address(listen)
    names = {listening.lower(), *(_name(host) for host in hosts)}
    if _is_loopback(listening):
        names |= _LOOPBACK_NAMES
    wildcard = _address(listening) is not None and ipaddress.ip_address(listening).is_unspecified

    @web.middleware
    async def checked(request: web.Request, handler: Answerer) -> web.StreamResponse:
        name = _name(request.headers.get("Host", ""))
        if name in names or (wildcard and (_address(name) is not None or name == "localhost")):
            return await handler(request)
        return error(403, "the Host header names no address of this service", "add the name to admin.hosts")

    return checked


def _name(host: str) -> str:
    """The name in `host` or `host:port`; '' for anything else."""
    try:
        parts = urlsplit(f"//{host}")
        return "" if parts.port == 0 or parts.netloc != host or "@" in host else parts.hostname or ""
    except ValueError:  # a port that is none
        return ""


# ---- login ------------------------------------------------------------------------------------------------------


def login(auth: AdminAuth | None) -> Middleware:
    """Asks for the token (`Authorization: Bearer`, or as the password of a browser's login) or for a user and
    password of the file. The file is read at each login, so that it can be changed while the service runs."""

    @web.middleware
    async def checked(request: web.Request, handler: Answerer) -> web.StreamResponse:
        open_path = auth is None or (request.path in PROBES and not auth.protect_metrics)
        if auth is None or open_path or _known(auth, request.headers.get("Authorization", "")):
            return await handler(request)
        hint = "send the token of admin.auth" if auth.token_file else "log in with a user of admin.auth"
        return error(401, "login needed", hint, WWW_Authenticate='Basic realm="otel-ctxscore", charset="UTF-8"')

    return checked


def _known(auth: AdminAuth, authorization: str) -> bool:
    try:
        known = _passwords(auth)
    except (OSError, ValueError) as fault:
        log.error("admin.auth cannot be read, nobody is let in: %s", with_its_file(fault))
        return False
    given = _given(authorization, by_token=auth.token_file is not None)
    # All are compared, so that the time taken tells nothing.
    return sum(hmac.compare_digest(given, one) for one in known) > 0


def _given(authorization: str, *, by_token: bool) -> bytes:
    if by_token and (token := bearer_token(authorization)) is not None:
        return token
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() != "basic":
        return b""
    try:
        user_and_password = base64.b64decode(rest.encode(errors="surrogateescape"), validate=True)
    except binascii.Error:
        return b""
    return user_and_password.partition(b":")[2] if by_token else user_and_password


def _passwords(auth: AdminAuth) -> list[bytes]:
    """The token, or the lines `user:password`. Raises OSError, or ValueError where there is none."""
    if auth.token_file is not None:
        return [token_in(auth.token_file)]
    path = auth.basic_file or Path()
    lines = [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]
    if any(":" not in line for line in lines):
        raise ValueError(f"{path}: each line must be user:password")
    if not lines:
        raise ValueError(f"{path} is empty")
    return [line.encode() for line in lines]


def user(request: web.Request) -> str:
    """The name that the sender logged in with; empty without one."""
    try:
        return str(BasicAuth.decode(request.headers.get("Authorization", "")).login)
    except ValueError:
        return ""


# ---- writes -----------------------------------------------------------------------------------------------------


CSRF_HEADER = "X-CSRF-Token"
CSRF = web.AppKey("csrf", str)
"""The token of this process, which no page of another origin can read. Forms send it as the field `csrf`."""

HAS_TOKEN = web.AppKey("has_token", bool)
"""Whether the login compares bearer tokens."""


def csrf_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(24)


@web.middleware
async def writes(request: web.Request, handler: Answerer) -> web.StreamResponse:
    """Lets a request that changes something pass if its sender meant it: with a bearer token, which no browser sends
    by itself, or with the token of this process. Answers under `/api/` bear that token in a header."""
    token = request.app[CSRF]
    changes = request.method not in ("GET", "HEAD", "OPTIONS") and request.match_info.http_exception is None
    if changes:
        known(request.query, ())  # what is asked for stands in the body
    if changes and not await _meant(request, token):
        if not request.path.startswith("/api/"):
            what = "a change needs the token of this page"
            return page("refused.html", "", root=root_of(request.path), status=403, what=what)
        hint = (
            f"send the token of admin.auth as a bearer token, or the {CSRF_HEADER} that GET /api/v1/alarms answers with"
        )
        return error(403, "a change needs a token", hint)
    answer = await handler(request)
    if request.path.startswith("/api/"):
        answer.headers[CSRF_HEADER] = token
    return answer


async def _meant(request: web.Request, token: str) -> bool:
    bearer = bearer_token(request.headers.get("Authorization"))
    if bearer is not None and request.app[HAS_TOKEN]:
        return True  # the login has compared it
    given = request.headers.get(CSRF_HEADER, "")
    if not given and request.content_type == "application/x-www-form-urlencoded":
        try:
            given = str((await request.post()).get("csrf", ""))
        except (ValueError, LookupError):  # bytes that are no text, in a character set that nobody knows
            raise BadQuestion("the form cannot be read", "send it in UTF-8") from None
    return hmac.compare_digest(given.encode(), token.encode())
