"""Who is let in, under which name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aiohttp import encode_basic_auth

from otel_ctxscore.config.outlets import Admin, AdminAuth
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.web import access
from tests.web.fakes import client

LOCAL, EVERYWHERE = "127.0.0.1:9464", "0.0.0.0:9464"


@pytest.mark.parametrize(
    ("listen", "hosts", "host", "status"),
    [
        (LOCAL, [], "127.0.0.1:9464", 200),
        (LOCAL, [], "localhost:8080", 200),
        (LOCAL, [], "[::1]:9464", 200),
        (LOCAL, [], "LOCALHOST", 200),
        (LOCAL, [], "evil.example", 403),
        (LOCAL, [], "evil.example:9464", 403),
        (LOCAL, [], "127.0.0.1.evil.example", 403),
        (LOCAL, [], "127.0.0.1:9464.evil.example", 403),
        (LOCAL, [], "127.0.0.1:9464@evil.example", 403),
        (LOCAL, [], "evil@127.0.0.1:9464", 403),
        (LOCAL, [], "127.0.0.1/evil.example", 403),
        (LOCAL, [], "10.1.2.3:9464", 403),
        (LOCAL, [], "[:::", 403),
        (LOCAL, ["scores.example"], "scores.example", 200),
        (LOCAL, ["Scores.example:443"], "scores.EXAMPLE:9464", 200),
        (LOCAL, ["scores.example"], "other.example", 403),
        (EVERYWHERE, [], "10.1.2.3:9464", 200),
        (EVERYWHERE, [], "[fd00::1]:9464", 200),
        (EVERYWHERE, [], "localhost:9464", 200),
        (EVERYWHERE, [], "evil.example", 403),
        ("[::]:9464", ["ctxscore"], "ctxscore:9464", 200),
    ],
)
@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz"])
async def test_only_names_of_ours_are_answered(
    listen: str, hosts: list[str], host: str, status: int, path: str
) -> None:
    async with client(listen=listen, hosts=hosts, insecure=True) as http:
        answer = await http.get(path, headers={"Host": host})
        assert answer.status == status
        if status == 403:
            assert (await answer.json())["hint"] == "add the name to admin.hosts"


@pytest.fixture
def token(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "token").write_text("t0ken\n")
    return {"token_file": tmp_path / "token"}


@pytest.fixture
def basic(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "users").write_text("ann:p:w\n\nbob:pass\n")
    return {"basic_file": tmp_path / "users"}


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        ("Bearer t0ken", 200),
        ("bearer t0ken", 200),
        (encode_basic_auth("anyone", "t0ken"), 200),
        ("Bearer t0ke", 401),
        ("Bearer ", 401),
        ("t0ken", 401),
        ("", 401),
        ("Basic %%%", 401),
        (encode_basic_auth("t0ken", ""), 401),
    ],
)
async def test_a_token_lets_in(token: dict[str, Any], authorization: str, status: int) -> None:
    async with client(auth=token) as http:
        answer = await http.get("/", headers={"Authorization": authorization})
        assert answer.status == status
        assert ("WWW-Authenticate" in answer.headers) == (status == 401)


@pytest.mark.parametrize(
    ("user", "password", "status"),
    [("ann", "p:w", 200), ("bob", "pass", 200), ("ann", "pass", 401), ("ann", "", 401), ("eve", "p:w", 401)],
)
async def test_a_user_of_the_file_is_let_in(basic: dict[str, Any], user: str, password: str, status: int) -> None:
    async with client(auth=basic) as http:
        answer = await http.get("/", headers={"Authorization": encode_basic_auth(user, password)})
        assert answer.status == status


@pytest.mark.parametrize("protect", [False, True])
@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz"])
async def test_probes_ask_for_a_login_only_where_wanted(token: dict[str, Any], protect: bool, path: str) -> None:
    async with client(auth={**token, "protect_metrics": protect}) as http:
        answer = await http.get(path)
        assert answer.status == (401 if protect else 200)


async def test_a_changed_token_counts_at_once_and_a_lost_one_lets_nobody_in(token: dict[str, Any]) -> None:
    async with client(auth=token) as http:
        token["token_file"].write_text("new")
        assert (await http.get("/", headers={"Authorization": "Bearer new"})).status == 200
        assert (await http.get("/", headers={"Authorization": "Bearer t0ken"})).status == 401
        token["token_file"].unlink()
        assert (await http.get("/", headers={"Authorization": "Bearer new"})).status == 401


# ---- at start ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "[::1]:0", "localhost:0", "127.1.2.3:0"])
def test_loopback_needs_no_login(listen: str) -> None:
    access.check(Admin(listen=listen))


@pytest.mark.parametrize("listen", ["0.0.0.0:9464", "[::]:9464", "10.0.0.1:9464", "scores.example:9464"])
def test_other_addresses_need_a_login_or_a_word(listen: str, token: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"admin\.listen: .* admin\.auth") as refused:
        access.check(Admin(listen=listen))
    assert "\n" not in str(refused.value)
    access.check(Admin(listen=listen, insecure=True))
    access.check(Admin.model_validate({"listen": listen, "auth": token}))


@pytest.mark.parametrize(("text", "why"), [(None, "No such file"), ("", "is empty"), ("user\n", "user:password")])
def test_a_login_that_cannot_work_is_one_line(text: str | None, why: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "users").write_text(text)
    with pytest.raises(ConfigError, match=rf"admin\.auth: .*{why}"):
        access.check(Admin.model_validate({"auth": {"basic_file": tmp_path / "users"}}))


@pytest.mark.parametrize("scheme", ["Bearer", "Basic"])
async def test_bytes_that_are_no_text_are_no_login(tmp_path: Path, scheme: str) -> None:
    """The server gives such bytes as half surrogates."""
    (tmp_path / "token").write_text("t0ken")
    auth = AdminAuth(token_file=tmp_path / "token")
    assert not access._known(auth, f"{scheme} \udcff\udcfe")


@pytest.mark.parametrize(("body", "charset"), [(b"\xff", "utf-8"), (b"csrf=%ff\xfe", "utf-16"), (b"csrf=a", "no-such")])
async def test_a_form_that_cannot_be_read_is_refused(body: bytes, charset: str) -> None:
    async with client() as http:
        kind = {"Content-Type": f"application/x-www-form-urlencoded; charset={charset}"}
        answer = await http.post("/api/v1/reload", data=body, headers=kind)
        assert answer.status in (400, 403)
        assert "error" in await answer.json()
