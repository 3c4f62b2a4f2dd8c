"""The stock OpenTelemetry exporters against the receivers: what survives when the line is full, and TLS both ways.

The exporters block, so they run in a thread; the certificates are made by openssl for each run.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from otel_ctxscore.config.section import Tls
from otel_ctxscore.io.otlp_grpc import OtlpGrpc
from otel_ctxscore.io.otlp_http import OtlpHttp
from otel_ctxscore.ports import ConfigError, Full
from tests.io.lines import FakeCounts, FakeLine

LIMIT = 1 << 20
Receiver = OtlpGrpc | OtlpHttp


def one_span() -> ReadableSpan:
    span = TracerProvider().get_tracer("lib").start_span("retrieve", attributes={"input.value": "Which port?"})
    span.end()
    assert isinstance(span, ReadableSpan)
    return span


def exporter(receiver: Receiver, timeout: float = 10, **options: Any) -> SpanExporter:
    if isinstance(receiver, OtlpGrpc):
        insecure = "credentials" not in options
        return GrpcExporter(
            f"localhost:{receiver.port}",
            insecure=insecure,
            compression=grpc.Compression.Gzip,
            timeout=timeout,
            **options,
        )
    scheme = "https" if "certificate_file" in options else "http"
    url = f"{scheme}://localhost:{receiver.port}/v1/traces"
    return HttpExporter(url, compression=Compression.Gzip, timeout=timeout, **options)


async def export(sender: SpanExporter) -> SpanExportResult:
    result = await asyncio.to_thread(sender.export, [one_span()])
    await asyncio.to_thread(sender.shutdown)
    return result


@pytest.fixture(autouse=True)
def no_certificates_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """requests prefers these to the authority that the exporter is given."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=[OtlpGrpc, OtlpHttp])
async def served(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Receiver, FakeLine, FakeCounts]]:
    line, counts = FakeLine(), FakeCounts()
    receiver: Receiver = request.param("localhost:0", max_request_size=LIMIT, counts=counts)
    await receiver.start(line)
    yield receiver, line, counts
    await receiver.stop()
    await receiver.close()


async def test_a_span_arrives(served: tuple[Receiver, FakeLine, FakeCounts]) -> None:
    receiver, line, _ = served
    assert await export(exporter(receiver)) is SpanExportResult.SUCCESS
    (span,) = line.spans
    assert (span.name, span.scope.name, span.attributes) == ("retrieve", "lib", {"input.value": "Which port?"})


async def test_what_a_full_line_refused_is_sent_again(served: tuple[Receiver, FakeLine, FakeCounts]) -> None:
    receiver, line, counts = served
    line.full = Full(1.0)
    sending = asyncio.create_task(export(exporter(receiver)))
    await counts.refused_once.wait()
    line.full = None
    assert await sending is SpanExportResult.SUCCESS
    assert len(line.spans) == 1
    assert counts.requests["ok"] == 1


class Certificates:
    """An authority with a server's and a client's certificate."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt"
        )
        (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        for name in ("server", "client"):
            self._openssl(
                f"req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr"
            )
            self._openssl(
                f"x509 -req -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out {name}.crt"
            )

    def _openssl(self, arguments: str) -> None:
        subprocess.run(["openssl", *arguments.split()], cwd=self.folder, check=True, capture_output=True)

    def path(self, name: str) -> Path:
        return self.folder / name

    def server(self, *, mutual: bool) -> Tls:
        client_ca = self.path("ca.crt") if mutual else None
        return Tls(cert=self.path("server.crt"), key=self.path("server.key"), client_ca=client_ca)

    def sender(self, receiver: Receiver, *, mutual: bool, timeout: float = 10) -> SpanExporter:
        names = ("client.key", "client.crt")
        if isinstance(receiver, OtlpGrpc):
            key, chain = [self.path(n).read_bytes() for n in names] if mutual else (None, None)
            return exporter(
                receiver,
                timeout,
                credentials=grpc.ssl_channel_credentials(self.path("ca.crt").read_bytes(), key, chain),
            )
        own = {"client_key_file": str(self.path(names[0])), "client_certificate_file": str(self.path(names[1]))}
        return exporter(receiver, timeout, certificate_file=str(self.path("ca.crt")), **(own if mutual else {}))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.mark.parametrize("kind", [OtlpGrpc, OtlpHttp])
@pytest.mark.parametrize("mutual", [False, True])
async def test_tls(kind: Callable[..., Receiver], mutual: bool, certificates: Certificates) -> None:
    line = FakeLine()
    tls = certificates.server(mutual=mutual)
    receiver = kind("localhost:0", max_request_size=LIMIT, counts=FakeCounts(), tls=tls)
    await receiver.start(line)
    assert await export(certificates.sender(receiver, mutual=mutual)) is SpanExportResult.SUCCESS
    assert len(line.spans) == 1
    await receiver.stop()


@pytest.mark.parametrize("kind", [OtlpGrpc, OtlpHttp])
async def test_a_client_without_a_certificate_is_refused_where_one_is_asked_for(
    kind: Callable[..., Receiver], certificates: Certificates
) -> None:
    line = FakeLine()
    receiver = kind("localhost:0", max_request_size=LIMIT, counts=FakeCounts(), tls=certificates.server(mutual=True))
    await receiver.start(line)
    sender = certificates.sender(receiver, mutual=False, timeout=1)
    assert await asyncio.to_thread(sender.export, [one_span()]) is SpanExportResult.FAILURE
    assert line.deliveries == []
    await asyncio.to_thread(sender.shutdown)
    await receiver.stop()


@pytest.mark.parametrize("kind", [OtlpGrpc, OtlpHttp])
async def test_certificates_that_cannot_be_read_are_one_line(kind: Callable[..., Receiver], tmp_path: Path) -> None:
    tls = Tls(cert=tmp_path / "none.crt", key=tmp_path / "none.key")
    receiver = kind("localhost:0", max_request_size=LIMIT, counts=FakeCounts(), tls=tls)
    with pytest.raises(ConfigError, match=r"sources\.otlp\.tls: .*No such file") as caught:
        await receiver.start(FakeLine())
    assert "\n" not in str(caught.value)
