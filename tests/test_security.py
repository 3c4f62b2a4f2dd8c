"""Certificates and bearer tokens, wherever they are asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from otel_ctxscore.config.section import Tls
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.security import BearerToken, bearer_token, server_context, token_in
from tests.services.certificates import Certificates
from tests.services.tools import found, run


@pytest.mark.parametrize(
    ("authorization", "token"),
    [
        ("Bearer t0ken", b"t0ken"),
        ("bEARER  t0ken ", b"t0ken"),
        ("Bearer two words", b"two words"),
        ("Bearer", b""),
        ("Bearer \udcff", b"\xff"),
        ("Basic t0ken", None),
        ("t0ken", None),
        ("", None),
        (None, None),
    ],
)
def test_the_token_of_a_header(authorization: str | None, token: bytes | None) -> None:
    assert bearer_token(authorization) == token


@pytest.mark.parametrize(("text", "token"), [("t0ken", b"t0ken"), ("\n  t0ken \r\n# who has it\n", b"t0ken")])
def test_a_token_is_the_first_line_that_is_not_empty(tmp_path: Path, text: str, token: bytes) -> None:
    (tmp_path / "token").write_text(text)
    assert token_in(tmp_path / "token") == token


def test_a_file_without_a_token_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n\n")
    with pytest.raises(ValueError, match="is empty"):
        token_in(tmp_path / "token")
    for path in (tmp_path / "token", tmp_path / "none"):
        with pytest.raises(ConfigError, match="no token can be read"):
            BearerToken(path)


def test_the_last_token_holds_while_the_file_is_being_replaced(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first")
    token = BearerToken(path)
    for state in (lambda: path.write_text(""), path.unlink):
        state()
        assert token.admits("Bearer first")
        assert not token.admits("Bearer ")
        assert not token.admits(None)
    path.write_text("second")
    os.utime(path, ns=(1, 1))
    assert [token.admits(f"Bearer {one}") for one in ("first", "second", "\udcff\udcfe")] == [False, True, False]


def test_certificates_that_cannot_be_used_are_one_line(certificates: Certificates, tmp_path: Path) -> None:
    locked = tmp_path / "locked.key"
    run([found("openssl"), "pkcs8", "-topk8", "-passout", "pass:secret", "-in", certificates.key, "-out", locked])
    server_context(Tls(cert=certificates.cert, key=certificates.key, client_ca=certificates.ca), "admin.tls")
    for tls in (
        Tls(cert=certificates.cert, key=tmp_path / "none.key"),
        Tls(cert=certificates.cert, key=certificates.client_key),
        Tls(cert=certificates.cert, key=locked),
        Tls(cert=certificates.cert, key=certificates.key, client_ca=tmp_path / "none.pem"),
    ):
        with pytest.raises(ConfigError, match=r"^admin\.tls: cannot use certificate, key or client_ca: ") as refused:
            server_context(tls, "admin.tls")
        assert "\n" not in str(refused.value)
