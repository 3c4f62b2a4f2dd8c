"""Commands that ask a running service: over TLS, with a client certificate and a token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from otel_ctxscore.config.outlets import Admin
from otel_ctxscore.monitoring import AlarmRecord, AlarmStatus, Series
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web.app import AdminServer
from tests.cli.run import Ended, run
from tests.services.certificates import Certificates
from tests.web.fakes import FakeService, NoReview

Arguments = list[str | Path]

RECORD = AlarmRecord("a1", "shop", "p", "v1", rose=3600.0, began=0.0, reference=0.8, mean=0.5)
TRACE = "0" * 31 + "1"


@pytest.fixture
def token(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("t0ken\n")
    return tmp_path / "token"


@pytest.fixture
async def server(certificates: Certificates, token: Path) -> AsyncIterator[AdminServer]:
    """An admin address that asks for a client certificate and a token."""
    tls = {"cert": certificates.cert, "key": certificates.key, "client_ca": certificates.ca}
    admin = Admin.model_validate({"listen": "127.0.0.1:0", "tls": tls, "auth": {"token_file": token}})
    found = AdminServer(admin, FakeService(kept={"a1": RECORD}), Metrics(), NoReview())
    await found.start()
    yield found
    await found.stop()


async def asked(server: AdminServer, *arguments: str | Path) -> Ended:
    return await asyncio.to_thread(run, *map(str, arguments), "--url", server.url)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runs"], "0 runs of host/1a2b"),
        (["alarms"], "a1"),
        (["export"], ""),
        (["explain", "--trace-id", TRACE], ""),
    ],
)
async def test_each_command_reaches_an_address_with_tls_and_a_login(
    server: AdminServer, certificates: Certificates, token: Path, arguments: list[str], said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates.client_cert))  # what is given counts more
    files: Arguments = ["--ca", certificates.ca, "--cert", certificates.client_cert, "--key", certificates.client_key]
    ended = await asked(server, *arguments, *files, "--token-file", token)
    if arguments[0] == "explain":
        assert (ended.code, "TLS" in ended.err) == (1, False)
        assert "trace" in ended.err, "the service answered that it does not know this trace"
    else:
        assert ended.code == 0, ended.err
    assert said in ended.out + ended.err


async def test_an_alarm_is_acknowledged_over_tls(
    server: AdminServer, certificates: Certificates, token: Path, tmp_path: Path
) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(certificates.client_cert.read_bytes() + certificates.client_key.read_bytes())
    reach: Arguments = ["--url", server.url, "--ca", certificates.ca, "--cert", both, "--token-file", token]
    ended = await asyncio.to_thread(run, *map(str, ["alarms", *reach, "ack", "a1", "--by", "ann"]))
    assert (ended.code, ended.out) == (0, "a1: acknowledged by ann at 1970-01-01T00:01:00+00:00\n")


async def test_taking_note_asks_for_no_inquiry(monkeypatch: pytest.MonkeyPatch) -> None:
    async def inquiry(*_: object) -> None:
        raise AssertionError("it takes seconds")

    monkeypatch.setattr("otel_ctxscore.web.alarm_api.inquiry_of", inquiry)
    found = AdminServer(Admin(listen="127.0.0.1:0"), FakeService(kept={"a1": RECORD}), Metrics(), NoReview())
    await found.start()
    ended = [await asked(found, "alarms", "ack", known, "--by", by) for known, by in (("a1", "ann"), ("a1", "bob"))]
    unknown = await asked(found, "alarms", "ack", "a/2")
    await found.stop()
    moment = "1970-01-01T00:01:00+00:00"
    assert [one.out for one in ended] == [
        f"a1: acknowledged by ann at {moment}\n",
        f"a1: was acknowledged by ann at {moment}\n",
    ]
    assert (unknown.code, "there is no alarm a/2" in unknown.err) == (1, True)


async def test_names_from_outside_are_shown_and_not_obeyed() -> None:
    name = "[/x] \x1b[31mred"
    record = AlarmRecord("a1", name, name, "v1", rose=3600.0, began=0.0, reference=0.8, mean=0.5)
    series = [(Series(name, name, "v1"), AlarmStatus("alarm", 1.5, 0.8, record=record))]
    service = FakeService(kept={"a1": record}, series=series)
    found = AdminServer(Admin(listen="127.0.0.1:0"), service, Metrics(), NoReview())
    await found.start()
    ended = await asked(found, "alarms")
    await found.stop()
    assert (ended.code, ended.out.count("[/x]"), "\x1b" in ended.out) == (0, 4, False), ended.err


async def test_what_is_missing_is_one_line_that_names_it(
    server: AdminServer, certificates: Certificates, token: Path, tmp_path: Path
) -> None:
    ca: Arguments = ["--ca", certificates.ca]
    client: Arguments = ["--cert", certificates.client_cert, "--key", certificates.client_key]
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("no certificate\n")
    empty = tmp_path / "empty"
    empty.write_text("")
    cases: list[tuple[Arguments, int, str]] = [
        ([*client, "--token-file", token], 1, "certificate verify failed"),
        ([*ca, "--token-file", token], 1, "--cert?"),
        ([*ca, *client], 1, "login needed"),
        (["--ca", garbage], 1, "no certificate"),
        ([*ca, "--cert", garbage], 1, "PEM lib"),
        ([*ca, *client, "--token-file", empty], 2, "empty is empty"),
        ([*ca, "--key", certificates.client_key], 2, "--key needs --cert"),
        (["--ca", tmp_path / "none.pem"], 2, "none.pem"),
    ]
    for given, code, said in cases:
        ended = await asked(server, "runs", *given)
        assert (ended.code, ended.out) == (code, ""), ended.err
        assert said in ended.err
        assert "Traceback" not in ended.err
