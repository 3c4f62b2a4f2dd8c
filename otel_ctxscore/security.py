"""What guards an address: its certificate, and the bearer token in a file."""

from __future__ import annotations

import hmac
import ssl
from pathlib import Path

from otel_ctxscore.config.section import Tls
from otel_ctxscore.core.errors import ConfigError, with_its_file


def server_context(tls: Tls, key: str) -> ssl.SSLContext:
    """TLS of a server. Raises ConfigError, under the configuration's `key`, for a file that cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        readable(tls.cert, tls.key, tls.client_ca)
        # With a password given, an encrypted key is an error and no question on the terminal.
        context.load_cert_chain(tls.cert, tls.key, password="")
        if tls.client_ca is not None:
            context.load_verify_locations(tls.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(f"{key}: cannot use certificate, key or client_ca: {with_its_file(error)}") from None
    return context


def client_context(ca: Path | None, cert: Path | None, own: Path | None, key: str) -> ssl.SSLContext:
    """TLS of a client: the authority of the server's certificate (the system's where None), and a certificate of its
    own with its key (`own`). Raises ConfigError, under the configuration's `key`, for a file that cannot be used."""
    try:
        readable(ca, cert, own)
        context = ssl.create_default_context(cafile=ca)
        if cert is not None:
            context.load_cert_chain(cert, own, password="")  # never asks on the terminal
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(f"{key}: a certificate cannot be used: {with_its_file(error)}") from None
    return context


def readable(*paths: Path | None) -> None:
    """Raises OSError, which names the file, where one cannot be read: ssl does not say which it was."""
    for path in paths:
        if path is not None:
            path.open("rb").close()


def token_in(path: Path) -> bytes:
    """The token that a file holds: its first line that is not empty. Raises OSError, or ValueError where none is."""
    for line in path.read_bytes().splitlines():
        if token := line.strip():
            return token
    raise ValueError(f"{path} is empty")


def bearer_token(authorization: str | None) -> bytes | None:
    """The token of an Authorization header, or None where it carries none."""
    scheme, _, given = (authorization or "").partition(" ")
    return given.strip().encode(errors="surrogateescape") if scheme.lower() == "bearer" else None


class BearerToken:
    """The token that requests must carry, read again when its file changes. While the file is gone or empty the last
    token holds: a secret that is being replaced shuts nobody out."""

    def __init__(self, path: Path) -> None:
        """Raises ConfigError where the file holds no token."""
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._token = b""
        self._read()
        if not self._token:
            raise ConfigError(f"auth.token_file: no token can be read from {path}")

    def admits(self, authorization: str | None) -> bool:
        """Whether an Authorization header carries the token."""
        self._read()
        return hmac.compare_digest(bearer_token(authorization) or b"", self._token)

    def _read(self) -> None:
        try:
            stat = self._path.stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if seen != self._seen:
                self._token = token_in(self._path)
                self._seen = seen
        except (OSError, ValueError):
            return
