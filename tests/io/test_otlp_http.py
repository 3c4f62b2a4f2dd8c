"""OTLP/HTTP: the answers that senders act on, from a real server on a port of its own."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import json
import time
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest
import zstandard
from google.rpc import status_pb2
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_ctxscore.io import otlp_http
from otel_ctxscore.io.otlp_http import OtlpHttp
from otel_ctxscore.ports import ConfigError, Full, Source
from tests.io.lines import FakeCounts, FakeLine
from tests.io.requests import SPAN_ID, TRACE_ID, logs, traces

LIMIT = 4 << 20
PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}


class Bench:
    """A receiver, what stands behind it and a client in front of it."""

    def __init__(self) -> None:
        self.line, self.counts = FakeLine(), FakeCounts()
        self.receiver = OtlpHttp("127.0.0.1:0", max_request_size=LIMIT, counts=self.counts)

    async def post(
        self, body: object, headers: dict[str, str] = PROTOBUF, path: str = "/v1/traces"
    ) -> tuple[int, dict[str, str], bytes]:
        url = f"http://127.0.0.1:{self.receiver.port}{path}"
        sent = io.BytesIO(body) if isinstance(body, bytes) else body
        async with aiohttp.ClientSession() as session, session.post(url, data=sent, headers=headers) as answer:
            return answer.status, dict(answer.headers), await answer.read()


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    await made.receiver.start(made.line)
    yield made
    await made.receiver.stop()


@pytest.mark.trouble("C60")
async def test_a_full_success_leaves_partial_success_unset(bench: Bench) -> None:
    status, headers, body = await bench.post(traces())
    assert (status, headers["Content-Type"]) == (200, "application/x-protobuf")
    assert not ExportTraceServiceResponse.FromString(body).HasField("partial_success")
    assert [s.attributes for s in bench.line.spans] == [{"input.value": "Which port?"}]
    assert not bench.line.deliveries[0].receipt.open
    assert bench.line.deliveries[0].source == bench.receiver.name
    assert (dict(bench.counts.spans), dict(bench.counts.requests)) == ({}, {"ok": 1})


async def test_json_is_answered_in_json(bench: Bench) -> None:
    span = {"traceId": TRACE_ID.hex().upper(), "spanId": SPAN_ID.hex()}
    broken = {"traceId": "", "spanId": SPAN_ID.hex()}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span, broken]}]}]})
    status, headers, answer = await bench.post(body, {"Content-Type": "application/json; charset=utf-8"})
    assert (status, headers["Content-Type"].split(";")[0]) == (200, "application/json")
    assert json.loads(answer)["partialSuccess"]["rejectedSpans"] == "1"
    assert [s.trace_id for s in bench.line.spans] == [TRACE_ID]
    assert (await bench.post(b"{}", JSON))[2] == b"{}"


async def test_single_bad_spans_are_rejected_and_the_rest_kept(bench: Bench) -> None:
    zero = bytes(16)
    bad = [(zero, SPAN_ID), (b"", SPAN_ID), (b"1234", SPAN_ID), (TRACE_ID, bytes(8))]
    status, _, body = await bench.post(traces(*bad, (TRACE_ID, SPAN_ID)))
    partial = ExportTraceServiceResponse.FromString(body).partial_success
    assert (status, partial.rejected_spans, len(bench.line.spans)) == (200, 4, 1)
    assert "trace id is all zero" in partial.error_message
    assert dict(bench.counts.spans) == {"invalid": 4}
    assert dict(bench.counts.requests) == {"partial": 1}


async def test_what_sampling_and_our_own_scope_drop_is_no_rejection(bench: Bench) -> None:
    bench.line.left_out = {TRACE_ID}
    assert (await bench.post(traces()))[2] == b""
    bench.line.left_out = set()
    assert (await bench.post(traces(scope="otel-ctxscore")))[2] == b""
    assert dict(bench.counts.spans) == {"sampled_out": 1, "own": 1}
    assert bench.line.deliveries == []


@pytest.mark.trouble("C60")
async def test_a_full_line_asks_to_come_again(bench: Bench) -> None:
    bench.line.full = Full(2.2)
    status, headers, body = await bench.post(traces())
    assert (status, headers["Retry-After"]) == (503, "3")
    assert "full" in status_pb2.Status.FromString(body).message
    assert (dict(bench.counts.spans), dict(bench.counts.requests)) == ({}, {"full": 1})
    bench.line.full = None
    assert (await bench.post(traces()))[0] == 200


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("zstd", zstandard.compress),
        ("deflate", zlib.compress),
        ("identity", bytes),
    ],
)
@pytest.mark.parametrize("size", [10, 400_000, 3_000_000])
async def test_encodings(bench: Bench, encoding: str, compress: Callable[[bytes], bytes], size: int) -> None:
    body = compress(traces(text="x" * size))
    status, _, _ = await bench.post(body, {**PROTOBUF, "Content-Encoding": encoding})
    assert status == 200
    assert [len(str(s.attributes["input.value"])) for s in bench.line.spans] == [size]


async def chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 50_000):
        yield body[start : start + 50_000]


BOMB = gzip.compress(bytes(20 * LIMIT))
GZIP = {**PROTOBUF, "Content-Encoding": "gzip"}
REFUSED: list[tuple[object, dict[str, str], int, str]] = [
    (BOMB, GZIP, 413, "too_large"),
    (bytes(LIMIT + 1), PROTOBUF, 413, "too_large"),
    (zstandard.compress(bytes(20 * LIMIT)), {**PROTOBUF, "Content-Encoding": "zstd"}, 413, "too_large"),
    (gzip.compress(gzip.compress(b"twice")), GZIP, 400, "malformed"),
    (b"no gzip", GZIP, 400, "malformed"),
    (b"\x0a\xff", PROTOBUF, 400, "malformed"),
    (b"hello", JSON, 400, "malformed"),
    (b'{"metrics": []}', JSON, 400, "malformed"),
    (b"[" * 100_000, JSON, 400, "malformed"),
    (b"", {**PROTOBUF, "Content-Encoding": "br"}, 415, "unsupported"),
    (b"", {"Content-Type": "text/plain"}, 415, "unsupported"),
]


@pytest.mark.parametrize(("body", "headers", "status", "result"), REFUSED)
@pytest.mark.trouble("C29")
async def test_refusals(bench: Bench, body: object, headers: dict[str, str], status: int, result: str) -> None:
    seen, _, _ = await bench.post(body, headers)
    assert seen == status
    assert dict(bench.counts.requests) == {result: 1}
    assert bench.line.deliveries == []


async def test_a_chunked_body_is_cut_off_at_the_limit(bench: Bench) -> None:
    assert (await bench.post(chunks(bytes(3 * LIMIT)), PROTOBUF))[0] == 413
    assert (await bench.post(chunks(traces(text="x" * 200_000)), PROTOBUF))[0] == 200
    assert (await bench.post(chunks(BOMB), GZIP))[0] == 413


@pytest.mark.trouble("C29")
async def test_a_bomb_beside_other_requests(bench: Bench) -> None:
    answers = await asyncio.gather(*[bench.post(BOMB, GZIP), bench.post(traces()), bench.post(BOMB, GZIP)])
    assert [status for status, _, _ in answers] == [413, 200, 413]


async def test_logs(bench: Bench) -> None:
    status, _, body = await bench.post(logs(), path="/v1/logs")
    assert (status, body) == (200, b"")
    assert [log.trace_id for log in bench.line.deliveries[0].logs] == [TRACE_ID]
    _, _, body = await bench.post(traces(), path="/v1/logs")
    assert ExportLogsServiceResponse.FromString(body).partial_success.rejected_log_records == 1
    status, _, body = await bench.post(logs())
    assert ExportTraceServiceResponse.FromString(body).partial_success.rejected_spans == 1
    assert dict(bench.counts.spans) == {"invalid": 1}


async def test_other_paths_and_methods_are_told_where_to_go(bench: Bench) -> None:
    status, _, body = await bench.post(b"", JSON, "/v1/metrics")
    assert (status, "/v1/traces" in json.loads(body)["message"]) == (404, True)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{bench.receiver.port}/v1/traces") as got,
    ):
        assert (got.status, got.headers["Allow"]) == (405, "POST")


async def test_a_taken_port_is_one_clear_line(bench: Bench) -> None:
    second = OtlpHttp(f"127.0.0.1:{bench.receiver.port}", max_request_size=LIMIT, counts=bench.counts)
    with pytest.raises(ConfigError, match=rf"cannot listen on 127.0.0.1:{bench.receiver.port}: .*in use") as caught:
        await second.start(bench.line)
    assert "\n" not in str(caught.value)
    await second.stop()
    await second.close()


async def test_the_token_is_asked_for_and_read_again(tmp_path: Path) -> None:
    bench, token = Bench(), tmp_path / "token"
    with pytest.raises(ConfigError, match="no token"):
        await OtlpHttp("127.0.0.1:0", max_request_size=LIMIT, counts=bench.counts, token_file=token).start(bench.line)
    token.write_text("first\n")
    bench.receiver = OtlpHttp("127.0.0.1:0", max_request_size=LIMIT, counts=bench.counts, token_file=token)
    await bench.receiver.start(bench.line)

    async def status(given: str | None) -> int:
        headers = PROTOBUF if given is None else {**PROTOBUF, "Authorization": given}
        return (await bench.post(traces(), headers))[0]

    assert [await status(g) for g in (None, "Bearer wrong", "first", "Bearer first", "bearer first")] == [401] * 3 + [
        200
    ] * 2
    token.write_text("a second one")
    assert [await status(g) for g in ("Bearer first", "Bearer a second one")] == [401, 200]
    token.unlink()
    assert await status("Bearer a second one") == 200
    assert bench.counts.requests["unauthenticated"] == 4
    await bench.receiver.stop()


def test_it_is_a_source(bench: Bench) -> None:
    assert isinstance(bench.receiver, Source)
    assert bench.receiver.unhealthy() is None


async def dripping(port: int, head: bytes, pause: float = 0.02) -> tuple[bytes, float]:
    """Send a byte now and then, for ever; what is answered until the connection ends, and after how many seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    began, answer = time.monotonic(), b""

    async def drip() -> None:
        writer.write(head)
        while True:
            writer.write(b"x")
            await asyncio.sleep(pause)

    dripper = asyncio.create_task(drip())
    try:
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionResetError):  # so it ends where a byte came that nobody read
                while piece := await reader.read(1000):
                    answer += piece
    finally:
        dripper.cancel()
        writer.close()
    return answer, time.monotonic() - began


async def test_who_sends_a_body_byte_by_byte_is_answered_counted_and_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_http, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(otlp_http, "_LINGER_SECONDS", 0.1)
    bench = Bench()
    await bench.receiver.start(bench.line)
    head = b"POST /v1/traces HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 999999\r\n\r\n"
    answer, took = await dripping(bench.receiver.port, head)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"the body took longer than 0.3 s"' in answer
    assert 0.3 <= took < 5
    assert dict(bench.counts.requests) == {"too_slow": 1}
    assert (await bench.post(traces()))[0] == 200, "others are taken"
    await bench.receiver.stop()


@pytest.mark.parametrize("head", [b"", b"POST /v1/traces HTTP/1.1\r\nHost: h\r\nX-Slow: "])
async def test_who_never_comes_to_the_end_of_a_head_is_cut_off(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_http, "_IDLE_SECONDS", 0.3)
    made = Bench()
    await made.receiver.start(made.line)
    _, took = await dripping(made.receiver.port, head)
    assert took < 5
    await made.receiver.stop()
