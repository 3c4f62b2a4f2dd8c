"""Certificates for tests of TLS, made by openssl: an authority, a server on loopback and a client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.services.process import HOST
from tests.services.tools import found, run


@dataclass(frozen=True)
class Certificates:
    """PEM files. The keys have no password; the server is known as `localhost` and by its address."""

    ca: Path
    cert: Path
    key: Path
    client_cert: Path
    client_key: Path


def make(folder: Path) -> Certificates:
    """New ones in `folder`, valid for two days."""
    folder.mkdir(parents=True, exist_ok=True)
    ca = _issue(folder, "ca")
    names = f"subjectAltName=DNS:localhost,IP:{HOST}"
    server = _issue(folder, "server", "-CA", ca[0], "-CAkey", ca[1], "-addext", names)
    client = _issue(folder, "client", "-CA", ca[0], "-CAkey", ca[1])
    return Certificates(ca[0], *server, *client)


def _issue(folder: Path, name: str, *options: str | Path) -> tuple[Path, Path]:
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    issuer = [*options, "-addext", "basicConstraints=critical,CA:FALSE"] if options else []
    run([found("openssl"), "req", "-x509", *kind, "-subj", f"/CN={name}", "-keyout", key, "-out", cert, *issuer])
    return cert, key
