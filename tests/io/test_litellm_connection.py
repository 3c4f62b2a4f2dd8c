"""What may stand between the judge and its provider, over real sockets: each is told by its name."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from otel_ctxscore.completion import CompletionError, Fault, Question
from otel_ctxscore.io.litellm import LiteLLMCompletion
from tests.services import certificates

pytestmark = pytest.mark.slow  # importing litellm takes seconds

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@asynccontextmanager
async def speaking(answer: bytes, *, aborts: bool = False, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that answers any request with these bytes and hangs up."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        await writer.drain()
        if aborts:
            writer.transport.abort()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def fault(url: str) -> CompletionError:
    with pytest.raises(CompletionError) as error:
        await LiteLLMCompletion("openai/any", api_base=url, api_key="sk-CANARY").complete(
            Question([{"role": "user", "content": "CANARY"}], {"type": "object"}, 100), 10
        )
    assert "CANARY" not in str(error.value)
    return error.value


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (HEAD + b'Content-Length: 1000\r\n\r\n{"id":', "the connection broke off"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "what came is no HTTP"),
        (HEAD + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nabcde", "what came cannot be inflated"),
        (HEAD + b"X: " + b"a" * 100_000 + b"\r\n\r\n", "what came is no HTTP"),
        (b"SSH-2.0-OpenSSH_9\r\n", "what came is no HTTP"),
        (b"", "the connection broke off"),
        (HEAD + b"Content-Length: 13\r\n\r\n<html></html>", "what came is no JSON"),
        (HEAD + b'Content-Length: 5\r\n\r\n{"\xe9"}', "what came is no JSON"),
        (HEAD + b"Content-Length: 9000\r\n\r\n" + b"[" * 9000, "what came is no JSON"),
    ],
)
async def test_what_breaks_off_or_is_no_json_may_pass(answer: bytes, detail: str) -> None:
    for aborts in (False, True):
        async with speaking(answer, aborts=aborts) as address:
            error = await fault(f"http://{address}/v1")
        assert error.fault is Fault.DOWN
        assert error.detail == detail or aborts


async def test_who_cannot_be_reached_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (await fault("http://127.0.0.1:1/v1")).detail == "nobody listens there"
    assert (await fault("http://no-such-host.invalid/v1")).detail == "the name of its server is not known"
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made = certificates.make(tmp_path)
    tls.load_cert_chain(made.cert, made.key)
    async with speaking(b"", tls=tls) as address:
        assert (await fault(f"https://{address}/v1")).detail == "the certificate of its server is not trusted"
    async with speaking(b"HTTP/1.1 400 no\r\n\r\n") as address:
        assert (await fault(f"https://{address}/v1")).detail == "its server speaks no TLS that is understood here"
    monkeypatch.setenv("HTTP_PROXY", "http://me:CANARY@127.0.0.1:1")
    assert (await fault("http://other.invalid/v1")).detail == "the proxy does not let it through"
