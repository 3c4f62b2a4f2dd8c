"""OTLP/gRPC: the codes that senders act on, from a real server on a port of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc import aio
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_ctxscore.io import otlp_grpc
from otel_ctxscore.io.otlp_grpc import OtlpGrpc
from otel_ctxscore.ports import ConfigError, Full, Source
from tests.io.lines import FakeCounts, FakeLine
from tests.io.requests import SPAN_ID, TRACE_ID, logs, traces

LIMIT = 4 << 20
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


class Bench:
    """A receiver, what stands behind it and a client in front of it."""

    def __init__(self, limit: int = LIMIT, token_file: Path | None = None) -> None:
        self.line, self.counts = FakeLine(), FakeCounts()
        self.receiver = OtlpGrpc("127.0.0.1:0", max_request_size=limit, counts=self.counts, token_file=token_file)

    async def export(self, body: bytes, method: str = TRACES, **options: Any) -> bytes:
        async with aio.insecure_channel(f"127.0.0.1:{self.receiver.port}") as channel:
            answer = await channel.unary_unary(method)(body, **options)
            return bytes(answer)

    async def refusal(self, body: bytes, **options: Any) -> aio.AioRpcError:
        with pytest.raises(aio.AioRpcError) as caught:
            await self.export(body, **options)
        return caught.value


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    await made.receiver.start(made.line)
    yield made
    await made.receiver.stop()


def partial_success(answer: bytes) -> tuple[int, str]:
    response = ExportTraceServiceResponse.FromString(answer)
    return response.partial_success.rejected_spans, response.partial_success.error_message


@pytest.mark.parametrize("compression", list(grpc.Compression))
@pytest.mark.parametrize("size", [10, 400_000, 3_000_000])
@pytest.mark.trouble("C60")
async def test_a_full_success_leaves_partial_success_unset(bench: Bench, compression: Any, size: int) -> None:
    assert await bench.export(traces(text="x" * size), compression=compression) == b""
    assert [len(str(s.attributes["input.value"])) for s in bench.line.spans] == [size]
    assert not bench.line.deliveries[0].receipt.open
    assert bench.line.deliveries[0].source == bench.receiver.name
    assert (dict(bench.counts.spans), dict(bench.counts.requests)) == ({}, {"ok": 1})


async def test_single_bad_spans_are_rejected_and_the_rest_kept(bench: Bench) -> None:
    bad = [(bytes(16), SPAN_ID), (b"", SPAN_ID), (b"1234", SPAN_ID), (TRACE_ID, bytes(8))]
    rejected, why = partial_success(await bench.export(traces(*bad, (TRACE_ID, SPAN_ID))))
    assert (rejected, len(bench.line.spans)) == (4, 1)
    assert "span id is all zero" in why
    assert dict(bench.counts.requests) == {"partial": 1}


@pytest.mark.trouble("C60")
async def test_a_full_line_asks_to_come_again(bench: Bench) -> None:
    bench.line.full = Full(2.5)
    error = await bench.refusal(traces())
    assert error.code() == grpc.StatusCode.UNAVAILABLE
    status, pause = status_pb2.Status(), error_details_pb2.RetryInfo()
    status.ParseFromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    assert status.details[0].Unpack(pause)
    assert pause.retry_delay.ToMilliseconds() == 2500
    assert (dict(bench.counts.spans), dict(bench.counts.requests)) == ({}, {"full": 1})


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
@pytest.mark.trouble("C67")
async def test_too_large_is_final(bench: Bench, compression: Any) -> None:
    error = await bench.refusal(bytes(20 * LIMIT), compression=compression)
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than" in str(error.details())
    assert "grpc-status-details-bin" not in dict(error.trailing_metadata())
    assert dict(bench.counts.requests) == {"too_large": 1}
    assert await bench.export(traces()) == b""


@pytest.mark.trouble("C67")
async def test_the_limit_is_the_configured_one() -> None:
    six_mib = traces(text="x" * (6 << 20))
    for limit, taken in ((4 << 20, False), (16 << 20, True)):
        bench = Bench(limit)
        await bench.receiver.start(bench.line)
        if taken:
            assert await bench.export(six_mib) == b""
        else:
            assert (await bench.refusal(six_mib)).code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        await bench.receiver.stop()


@pytest.mark.parametrize("body", [b"\x0a\xff", b"hello", b"\x1f\x8bno gzip", b"\x78no zlib"])
async def test_malformed(bench: Bench, body: bytes) -> None:
    assert (await bench.refusal(body)).code() == grpc.StatusCode.INVALID_ARGUMENT
    assert dict(bench.counts.requests) == {"malformed": 1}


@pytest.mark.trouble("C29")
async def test_a_bomb_beside_other_requests(bench: Bench) -> None:
    bomb = bench.refusal(bytes(20 * LIMIT), compression=grpc.Compression.Gzip)
    error, answer = await asyncio.gather(bomb, bench.export(traces()))
    assert (error.code(), answer) == (grpc.StatusCode.RESOURCE_EXHAUSTED, b"")


async def test_logs(bench: Bench) -> None:
    assert await bench.export(logs(), LOGS) == b""
    assert [log.trace_id for log in bench.line.deliveries[0].logs] == [TRACE_ID]
    answer = ExportLogsServiceResponse.FromString(await bench.export(traces(), LOGS))
    assert answer.partial_success.rejected_log_records == 1


async def test_a_taken_port_is_one_clear_line(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    second = OtlpGrpc(f"127.0.0.1:{bench.receiver.port}", max_request_size=LIMIT, counts=bench.counts)
    with pytest.raises(ConfigError, match=rf"cannot listen on 127.0.0.1:{bench.receiver.port}: .*in use") as caught:
        await second.start(bench.line)
    assert "\n" not in str(caught.value)
    await second.stop()
    await second.close()
    assert capfd.readouterr().err == ""


async def test_the_token_is_asked_for(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    bench = Bench(token_file=token)
    await bench.receiver.start(bench.line)
    for given in ((), (("authorization", "Bearer wrong"),)):
        assert (await bench.refusal(traces(), metadata=given)).code() == grpc.StatusCode.UNAUTHENTICATED
    assert await bench.export(traces(), metadata=(("authorization", "Bearer secret"),)) == b""
    assert dict(bench.counts.requests) == {"unauthenticated": 2, "ok": 1}
    await bench.receiver.stop()


def test_it_is_a_source(bench: Bench) -> None:
    assert isinstance(bench.receiver, Source)
    assert bench.receiver.unhealthy() is None


async def test_who_never_sends_the_request_is_answered_and_counted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otlp_grpc, "BODY_SECONDS", 0.2)

    async def nothing() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    async with aio.insecure_channel(f"127.0.0.1:{bench.receiver.port}") as channel:
        with pytest.raises(aio.AioRpcError) as caught:
            await channel.stream_unary(TRACES)(nothing())
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert caught.value.details() == "the request took longer than 0.2 s"
        assert await channel.unary_unary(TRACES)(traces()) == b"", "others are taken"
    assert dict(bench.counts.requests) == {"too_slow": 1, "ok": 1}
