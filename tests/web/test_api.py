"""What programs ask, and what a change needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus, Series
from otel_ctxscore.web.access import CSRF_HEADER
from otel_ctxscore.web.status import Reloaded
from tests.web.fakes import FakeService, client

RECORD = AlarmRecord("a1", "shop", "p", "v1", rose=3600.0, began=0.0, reference=0.8, mean=0.5)
ACK = "/api/v1/alarms/a1/ack"


def service(**changed: Any) -> FakeService:
    return FakeService(kept={"a1": RECORD}, **changed)


async def test_alarms_are_listed_with_the_state_of_each_series() -> None:
    series = [
        (Series("shop", "p", "v1"), AlarmStatus("alarm", 1.5, 0.8, record=RECORD)),
        (Series("docs", "p", "v1"), AlarmStatus("no reference", traces=20, days=1)),
    ]
    async with client(service(series=series)) as http:
        found = await (await http.get("/api/v1/alarms")).json()
        one = await (await http.get("/api/v1/alarms/a1")).json()
    [listed] = found["alarms"]
    assert {name: one[name] for name in listed} == listed
    assert (one["rose"], one["began"], one["ended"]) == ("1970-01-01T01:00:00+00:00", "1970-01-01T00:00:00+00:00", None)
    assert (one["service"], one["reference"], one["mean"]) == ("shop", 0.8, 0.5)
    shop, docs = found["series"]
    assert (shop["service"], shop["state"], shop["ratio"], shop["alarm"]) == ("shop", "alarm", 1.5, "a1")
    assert (docs["state"], docs["ratio"], docs["traces"], docs["alarm"]) == ("no reference", None, 20, None)


@pytest.mark.parametrize("path", ["/api/v1/alarms/x", "/api/v1/alarms/x/ack"])
async def test_an_unknown_alarm_is_an_error(path: str) -> None:
    async with client(service()) as http:
        token = (await http.get("/api/v1/alarms")).headers[CSRF_HEADER]
        method = "POST" if path.endswith("ack") else "GET"
        answer = await http.request(method, path, headers={CSRF_HEADER: token})
        assert answer.status == 404
        assert set(await answer.json()) == {"error", "hint"}


@pytest.mark.parametrize("path", [ACK, "/api/v1/reload"])
@pytest.mark.parametrize("headers", [{}, {CSRF_HEADER: "guess"}, {"Authorization": "Bearer anything"}])
async def test_without_a_token_nothing_changes(path: str, headers: dict[str, str]) -> None:
    fake = service()
    async with client(fake) as http:
        answer = await http.post(path, headers=headers)
        assert answer.status == 403
        assert "token" in (await answer.json())["error"]
    assert fake.kept["a1"].acknowledged is None


async def test_with_the_token_of_the_page_it_is_acknowledged() -> None:
    fake = service()
    async with client(fake) as http:
        token = (await http.get("/api/v1/alarms")).headers[CSRF_HEADER]
        answer = await http.post(ACK, json={"by": "me"}, headers={CSRF_HEADER: token})
        assert (answer.status, (await answer.json())["acknowledged_by"]) == (200, "me")
    assert fake.kept["a1"].acknowledged_by == "me"


async def test_a_form_of_the_page_brings_the_token_in_a_field() -> None:
    fake = service()
    async with client(fake) as http:
        token = (await http.get("/api/v1/alarms")).headers[CSRF_HEADER]
        assert (await http.post(ACK, data={"csrf": "guess"})).status == 403
        assert (await http.post(ACK, data={"csrf": token})).status == 200


async def test_a_bearer_token_is_enough_a_browsers_login_is_not(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret")
    fake = service()
    async with client(fake, auth={"token_file": str(file)}) as http:
        assert (await http.post(ACK, headers={"Authorization": "Bearer wrong"})).status == 401
        basic = {"Authorization": "Basic OnNlY3JldA=="}
        assert (await http.post(ACK, headers=basic)).status == 403, "a browser sends this by itself"
        assert (await http.post(ACK, headers={"Authorization": "Bearer secret"})).status == 200
    assert fake.kept["a1"].acknowledged_by == ""


async def test_who_is_logged_in_acknowledges(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("ana:secret")
    fake = service()
    async with client(fake, auth={"basic_file": str(file)}) as http:
        login = {"Authorization": "Basic YW5hOnNlY3JldA=="}
        token = (await http.get("/api/v1/alarms", headers=login)).headers[CSRF_HEADER]
        assert (await http.post(ACK, headers={**login, CSRF_HEADER: token})).status == 200
    assert fake.kept["a1"].acknowledged_by == "ana"


@pytest.mark.parametrize("charset", ["utf-8", "no-such"])
@pytest.mark.parametrize("body", ["{", "[]", '{"by": 1}', '{"by": "' + "x" * 201 + '"}', b"\xff", "[" * 100_000])
async def test_a_body_that_is_no_name_is_refused(body: str | bytes, charset: str) -> None:
    fake = service()
    async with client(fake) as http:
        token = (await http.get("/api/v1/alarms")).headers[CSRF_HEADER]
        headers = {CSRF_HEADER: token, "Content-Type": f"application/json; charset={charset}"}
        assert (await http.post(ACK, data=body, headers=headers)).status == 400
    assert fake.kept["a1"].acknowledged is None


async def test_reload_says_what_holds_now_and_what_does_not() -> None:
    fake = service(reloaded=Reloaded(["targets"], ["judge"]))
    async with client(fake) as http:
        headers = {CSRF_HEADER: (await http.get("/api/v1/alarms")).headers[CSRF_HEADER]}
        assert await (await http.post("/api/v1/reload", headers=headers)).json() == {
            "applied": ["targets"], "needs_restart": ["judge"]
        }  # fmt: skip
        fake.reloaded = ConfigError("sampling.rate: too much", "targets: what")
        answer = await http.post("/api/v1/reload", headers=headers)
        assert answer.status == 400
        said = await answer.json()
    assert "nothing has changed" in said["error"]
    assert said["hint"] == "sampling.rate: too much; targets: what"


async def test_the_token_is_in_no_answer_that_another_origin_could_read() -> None:
    async with client(service()) as http:
        for path in ("/", "/metrics", "/api/v1/alarms"):
            answer = await http.get(path, headers={"Origin": "https://elsewhere.example"})
            assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
