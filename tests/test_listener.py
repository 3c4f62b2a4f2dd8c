"""What is no HTTP: an answer in the address's own form, and one line of the log."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator

import pytest

from otel_ctxscore.config.outlets import Admin
from otel_ctxscore.io.otlp_http import OtlpHttp
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web import AdminServer
from tests.io.lines import FakeCounts, FakeLine
from tests.web.fakes import FakeService, NoReview

HOST = b"Host: 127.0.0.1\r\n"
POST = b"POST /api/v1/reload HTTP/1.1\r\n" + HOST + b"Content-Type: application/x-www-form-urlencoded\r\n"
LONG = b"a" * 9000
NO_HTTP = {
    "a long address": (431, b"GET /?service=" + LONG + b" HTTP/1.1\r\n" + HOST + b"\r\n"),
    "a long header": (431, b"GET / HTTP/1.1\r\n" + HOST + b"Cookie: " + LONG + b"\r\n\r\n"),
    "many headers": (400, b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 400 + b"\r\n"),
    "the begin of TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    "another version": (400, b"GET / HTTP/9\r\n\r\n"),
    "no header": (400, b"GET / HTTP/1.1\r\n" + HOST + b"a b: c\r\n\r\n"),
    "no address": (400, b"GET http://[::: HTTP/1.1\r\n" + HOST + b"\r\n"),
    "two lengths": (400, POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"),
    "no chunk": (400, POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"),
}
BODIES = {
    "no gzip": POST + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    "a late chunk that is none": POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" + b"~" + b"zz\r\n",
}


@pytest.fixture
async def admin() -> AsyncIterator[AdminServer]:
    server = AdminServer(Admin(listen="127.0.0.1:0"), FakeService(), Metrics(), NoReview())
    await server.start()
    yield server
    await server.stop()


async def sent(port: int, request: bytes) -> tuple[int, str, bytes]:
    """Status, head and body of the answer to bytes, in two pieces where they hold a `~`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in request.split(b"~"):
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    head, _, body = (await asyncio.wait_for(reader.read(), 10)).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), head.decode(), body


@pytest.mark.parametrize("what", NO_HTTP)
async def test_what_is_no_http_is_told_in_the_form_of_the_page(
    admin: AdminServer, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    status, request = NO_HTTP[what]
    found, head, body = await sent(int(admin.url.rpartition(":")[2]), request)
    assert (found, sorted(json.loads(body))) == (status, ["error", "hint"])
    assert "Content-Security-Policy: default-src 'none'" in head
    assert "X-Ctxscore-Replica: host/1a2b" in head
    [line] = caplog.records
    assert (line.levelname, line.exc_info, line.name) == ("INFO", None, "otel_ctxscore.listener")
    assert line.getMessage().startswith("127.0.0.1: ")
    assert "\n" not in line.getMessage()


@pytest.mark.parametrize("what", BODIES)
async def test_a_body_that_cannot_be_read_is_the_senders_fault(
    admin: AdminServer, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    status, _, body = await sent(int(admin.url.rpartition(":")[2]), BODIES[what])
    assert (status, sorted(json.loads(body))) == (400, ["error", "hint"])
    assert not [line for line in caplog.records if line.levelno >= logging.WARNING]


async def test_who_leaves_in_the_middle_of_a_request_is_no_fault_of_ours(
    admin: AdminServer, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", int(admin.url.rpartition(":")[2]))
    writer.write(POST + b"Content-Length: 20\r\n\r\nabc")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    await admin.stop()  # once what is in work has ended
    assert not [line for line in caplog.records if line.levelno >= logging.WARNING]


@pytest.mark.parametrize("what", ["a long address", "the begin of TLS"])
async def test_a_receiver_tells_it_as_otlp_does(what: str, caplog: pytest.LogCaptureFixture) -> None:
    receiver = OtlpHttp("127.0.0.1:0", max_request_size=1 << 20, counts=FakeCounts())
    await receiver.start(FakeLine())
    status, request = NO_HTTP[what]
    found, _, body = await sent(receiver.port, request)
    await receiver.stop()
    assert (found, sorted(json.loads(body))) == (status, ["code", "message"])
    assert not [line for line in caplog.records if line.levelno >= logging.WARNING]
