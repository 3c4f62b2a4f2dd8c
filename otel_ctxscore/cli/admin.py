"""The admin address of a running service, as commands ask it."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import requests

from otel_ctxscore.core.errors import in_words, with_its_file
from otel_ctxscore.security import token_in
from otel_ctxscore.web.access import CSRF_HEADER

SECONDS = 10
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OPTIONS = (
    click.option(
        "--url", default="http://127.0.0.1:9464", show_default=True, help="Admin address of the running service."
    ),
    click.option("--token-file", type=_FILE, help="File with the token of admin.auth, where it asks for one."),
    click.option("--ca", type=_FILE, help="Authority of its certificate, PEM; those of the system, where not given."),
    click.option("--cert", type=_FILE, help="Client certificate, PEM, where admin.tls.client_ca asks for one."),
    click.option("--key", type=_FILE, help="Its private key, PEM, where --cert does not hold it too."),
)


def asks_admin(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a running service is reached to a command, which takes `admin: Admin`."""

    @functools.wraps(command)
    def asking(
        *arguments: Any,
        url: str,
        token_file: Path | None,
        ca: Path | None,
        cert: Path | None,
        key: Path | None,
        **others: Any,
    ) -> Any:
        admin = Admin(url, token_file, ca=ca, cert=cert, key=key)
        return command(*arguments, admin=admin, **others)

    for option in reversed(_OPTIONS):
        asking = option(asking)
    return asking


class Admin:
    """The admin address of a running service, `url`."""

    def __init__(
        self,
        url: str,
        token_file: Path | None = None,
        *,
        ca: Path | None = None,
        cert: Path | None = None,
        key: Path | None = None,
    ) -> None:
        if key is not None and cert is None:
            raise click.UsageError("--key needs --cert")
        if (ca is not None or cert is not None) and not url.startswith("https:"):
            raise click.UsageError("--ca, --cert and --key need a --url that begins with https://")
        self.url = url.rstrip("/")
        self._session = requests.Session()
        # Given with each request: a bundle that the environment names would count more than the session's.
        self._tls: dict[str, Any] = {
            "verify": True if ca is None else str(ca),
            "cert": None if cert is None else (str(cert), str(key or cert)),
        }
        if token_file is not None:
            self._session.headers["Authorization"] = b"Bearer " + _token(token_file)

    def ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, query: Mapping[str, object] | None = None
    ) -> Any:
        """The answer. Raises ClickException for an error, with what to do about it."""
        answer = self._answer(method, path, json=body, params=query)
        if CSRF_HEADER in answer.headers:
            self._session.headers[CSRF_HEADER] = answer.headers[CSRF_HEADER]
        return self._said(answer)

    def stream(self, path: str, query: Mapping[str, object]) -> Iterator[str]:
        """An answer that may be long, piece by piece. Raises ClickException where it is an error, or breaks off."""
        answer = self._answer("GET", path, params=query, stream=True)
        if not answer.ok:
            self._said(answer)
        try:
            yield from answer.iter_content(1 << 16, decode_unicode=True)
        except requests.RequestException as error:
            raise click.ClickException(f"{self.url} broke off: {type(error).__name__}") from None

    def _answer(self, method: str, path: str, **options: Any) -> Any:
        try:
            return self._session.request(method, f"{self.url}/api/v1/{path}", timeout=SECONDS, **self._tls, **options)
        except requests.exceptions.SSLError as error:
            raise click.ClickException(
                f"{self.url}: {_tls_fault(error)}; --ca, --cert and --key name the files"
            ) from None
        except requests.ConnectionError:
            asks = ", or does it ask for --cert?" if self.url.startswith("https:") and not self._tls["cert"] else "?"
            raise click.ClickException(f"{self.url} does not answer: is it --url{asks}") from None
        except requests.Timeout:
            raise click.ClickException(f"{self.url} did not answer within {SECONDS} s") from None
        except (OSError, ValueError) as error:  # a RequestException is an OSError
            raise click.ClickException(f"--url {self.url}: {with_its_file(error)}") from None

    def _said(self, answer: Any) -> Any:
        try:
            said = answer.json()
        except ValueError:
            raise click.ClickException(f"{self.url} is no admin address of otel-ctxscore") from None
        if not answer.ok:
            raise click.ClickException(f"{said.get('error', answer.reason)} ({said.get('hint', '')})")
        return said


def _token(file: Path) -> bytes:
    try:
        token = token_in(file)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--token-file: {with_its_file(error)}") from None
    if not all(33 <= byte < 127 for byte in token):
        raise click.UsageError(f"--token-file: {file} holds no token: it has characters that no header may have")
    return token


def _tls_fault(error: BaseException) -> str:
    """What TLS itself says, without the layers that hand it on."""
    inner: object = error
    while isinstance(inner, BaseException) and not isinstance(inner, ssl.SSLError):
        inner = getattr(inner, "reason", None) or next(iter(inner.args), None)
    return in_words(inner) if isinstance(inner, ssl.SSLError) else in_words(error)
