"""What the admin address answers."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from otel_ctxscore.config.outlets import Admin
from otel_ctxscore.config.section import Tls
from otel_ctxscore.core.errors import ConfigError
from otel_ctxscore.core.outcomes import TraceOutcome
from otel_ctxscore.telemetry import Metrics
from otel_ctxscore.web import AdminServer
from tests.services.certificates import Certificates
from tests.web.fakes import FakeService, NoReview, client


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("application/openmetrics-text;version=1.0.0,text/plain;q=0.5", "application/openmetrics-text; version=1.0.0"),
        ("text/plain;version=0.0.4", "text/plain; version=0.0.4"),
        ("*/*", "text/plain; version=0.0.4"),
        ("text/html,application/openmetrics-text;q=0", "text/plain; version=0.0.4"),
        ("application/openmetrics-text;version=1.0.0; Q=0.000 ,*/*;q=0.1", "text/plain; version=0.0.4"),
        ("application/openmetrics-text;q=0.05;version=1.0.0", "application/openmetrics-text; version=1.0.0"),
    ],
)
async def test_metrics_in_the_form_that_is_asked_for(accept: str, content_type: str) -> None:
    metrics = Metrics()
    metrics.trace_done("shop", TraceOutcome.SCORED)
    async with client(metrics=metrics) as http:
        answer = await http.get("/metrics", headers={"Accept": accept})
        body = await answer.text()
    assert answer.headers["Content-Type"].startswith(content_type)
    assert 'ctxscore_traces_total{outcome="scored",service="shop"} 1.0' in body
    if "openmetrics" in content_type:
        assert list(text_string_to_metric_families(body))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("service", "path", "status", "body"),
    [
        (FakeService(), "/healthz", 200, {"status": "ok"}),
        (FakeService(), "/readyz", 200, {"status": "ok"}),
        (
            FakeService(dead="kafka stands still"),
            "/healthz",
            503,
            {"status": "unavailable", "cause": "kafka stands still"},
        ),
        (FakeService(unready="draining"), "/readyz", 503, {"status": "unavailable", "cause": "draining"}),
        (FakeService(unready="draining"), "/healthz", 200, {"status": "ok"}),
    ],
)
async def test_health(service: FakeService, path: str, status: int, body: dict[str, str]) -> None:
    async with client(service) as http:
        answer = await http.get(path)
        assert (answer.status, await answer.json()) == (status, body)


class Broken(FakeService):
    def snapshot(self) -> object:  # type: ignore[override]
        raise RuntimeError("secret detail")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("POST", "/metrics", 405), ("GET", "/static/../app.py", 404), ("GET", "/", 500)],
)
async def test_errors_say_what_and_what_to_do(
    method: str, path: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with client(Broken()) as http:
        answer = await http.request(method, path)
        body = await answer.json()
    assert (answer.status, sorted(body)) == (status, ["error", "hint"])
    assert "secret detail" not in str(body)
    assert ("secret detail" in caplog.text) == (status == 500)


@pytest.mark.parametrize("path", ["/", "/metrics", "/static/style.css", "/nowhere"])
async def test_every_answer_is_locked_down(path: str) -> None:
    async with client() as http:
        answer = await http.get(path)
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_the_server_listens_and_ends() -> None:
    server = AdminServer(Admin(listen="127.0.0.1:0"), FakeService(), Metrics(), NoReview())
    await server.start()
    async with aiohttp.ClientSession() as http, http.get(f"{server.url}/healthz") as answer:
        assert answer.status == 200
    await server.stop()


async def test_a_taken_port_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError, match=f"admin.listen: cannot listen on {address}: "):
            await AdminServer(Admin(listen=address), FakeService(), Metrics(), NoReview()).start()


async def test_tls_with_a_client_certificate(certificates: Certificates) -> None:
    tls = Tls(cert=certificates.cert, key=certificates.key, client_ca=certificates.ca)
    server = AdminServer(Admin(listen="127.0.0.1:0", tls=tls), FakeService(), Metrics(), NoReview())
    await server.start()
    context = ssl.create_default_context(cafile=certificates.ca)
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientError):
            await http.get(f"{server.url}/healthz", ssl=context)
        context.load_cert_chain(certificates.client_cert, certificates.client_key)
        async with http.get(f"{server.url}/healthz", ssl=context) as answer:
            assert answer.status == 200
    await server.stop()


async def test_tls_files_that_cannot_be_read_are_one_clear_line(tmp_path: Path) -> None:
    tls = Tls(cert=tmp_path / "no.pem", key=tmp_path / "no.key")
    with pytest.raises(ConfigError, match=r"admin\.tls: "):
        await AdminServer(Admin(listen="127.0.0.1:0", tls=tls), FakeService(), Metrics(), NoReview()).start()


def test_an_open_address_is_refused_before_anything_listens() -> None:
    with pytest.raises(ConfigError):
        AdminServer(Admin(listen="0.0.0.0:0"), FakeService(), Metrics(), NoReview())


@pytest.mark.parametrize(
    ("path", "accept", "status", "found"),
    [
        ("/zzz/a", "text/html,*/*;q=0.8", 404, '<a href="../runs"'),
        ("/zzz/<b>", "text/html", 404, "there is no /zzz/&lt;b&gt;"),
        ("/segments?bogus=1", "text/html", 400, "<h1>"),
        ("/zzz", "*/*", 404, '{"error": '),
        ("/api/v1/zzz", "text/html", 404, '{"error": '),
        ("/favicon.ico", "image/*", 204, ""),
    ],
)
async def test_an_error_is_a_page_for_who_reads_pages(path: str, accept: str, status: int, found: str) -> None:
    async with client() as http:
        answer = await http.get(path, headers={"Accept": accept})
        body = await answer.text()
    assert answer.status == status
    assert found in body
